"""Verma, Barrejón and Nalisnick (AISTATS 2023), reproduced with the public names of defero."""
