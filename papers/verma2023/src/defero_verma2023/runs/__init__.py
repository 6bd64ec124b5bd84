"""Which trainings are wanted, and what is kept of each."""
