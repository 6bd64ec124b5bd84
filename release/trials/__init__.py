"""What a newcomer does with the installed wheels: README's Python, the commands, the service, the paper, notebooks."""
