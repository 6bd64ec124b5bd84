"""`python -m defero` is the command `defero`."""

from defero.cli.main import main

main()
