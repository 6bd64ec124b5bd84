"""How a data set comes to disk: download, unpack, lock, cache."""
