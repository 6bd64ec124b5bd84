"""The held-out calibration with which the runs of the paper were measured: a temperature, and a map for each expert."""
