"""`python -m kernelmill`."""

from kernelmill.cli.main import main

main()
