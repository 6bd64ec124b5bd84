"""The paper's claims, and a verdict on each, computed from the runs."""
