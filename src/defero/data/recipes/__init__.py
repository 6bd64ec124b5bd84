"""Feature recipes: how a table's columns, texts and pictures become numbers."""
