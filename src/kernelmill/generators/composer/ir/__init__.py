"""The composer's intermediate representation of scalars: what one element is, and where it lies."""
