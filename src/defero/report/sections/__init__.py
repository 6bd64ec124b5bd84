"""The parts of the report, one question each: a trial and its record in, markup out."""
