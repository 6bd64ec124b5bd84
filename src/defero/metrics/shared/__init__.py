"""Which experts make the same mistakes?"""
