"""How the teams of each data set are trained."""
