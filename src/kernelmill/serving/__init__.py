"""HTTP servers for one user: who may connect, and how they are run."""
