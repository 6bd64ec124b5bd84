"""Learning a team of a table: the classes, everybody's skill by class, and the law of their answers."""
