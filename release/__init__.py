"""`make release-check`: is this commit ready to be released? `python -m release` asks every question of the list."""
