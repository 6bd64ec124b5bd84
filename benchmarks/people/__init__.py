"""What deferral to real people is worth: one table of data sets by systems, with nobody simulated."""
