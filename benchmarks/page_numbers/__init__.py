"""Numbers on pages of docs/, written from the results that are committed."""
