"""From cases in four parts to a team: checks and parts, choices, training, what is found, what is noted."""
