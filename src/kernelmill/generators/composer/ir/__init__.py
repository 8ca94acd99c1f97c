"""The composer's intermediate representation: graphs, values, indices and scalars, as data."""
