"""What the log says now: cases, people, settings and figures. Pure functions, rebuilt from the log."""
