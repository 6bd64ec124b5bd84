"""The systems of the table, one file each; each has `SYSTEMS`."""
