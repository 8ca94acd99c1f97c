"""Skills: what may be tried where a kernel stands, how it is done, and what that has been worth."""
