"""From a task file to a graph: everything that runs in the sandbox of the tracer."""
