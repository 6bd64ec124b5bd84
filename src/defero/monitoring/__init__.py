"""Watch a team at work: does everybody keep what the model promises of them?"""
