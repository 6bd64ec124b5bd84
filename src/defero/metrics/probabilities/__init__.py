"""How good are probabilities? Calibration errors, proper scores, reliability."""
