"""What becomes of a case: the team that decides, the next step of a batch, and one file for each command."""
