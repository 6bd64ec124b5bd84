"""Models of a pool as they are served: from features to expected scores, in numpy."""
