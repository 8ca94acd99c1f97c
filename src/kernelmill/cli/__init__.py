"""The command line, one module per command: parses arguments and prints results."""
