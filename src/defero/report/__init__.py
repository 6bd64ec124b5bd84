"""One self-contained HTML page about a team on held-out cases, for people who will not read code."""
