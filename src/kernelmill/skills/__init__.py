"""Skills: rules that say which methods may be tried on a kernel, and learned values of methods."""
