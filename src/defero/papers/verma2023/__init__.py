"""Verma, Barrejón and Nalisnick, "Learning to Defer to Multiple Experts" (AISTATS 2023): its claims, run again."""
