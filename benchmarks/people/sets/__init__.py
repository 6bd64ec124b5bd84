"""The data sets of the table, one file each; each has a `SET`."""
