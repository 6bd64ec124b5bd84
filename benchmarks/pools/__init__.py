"""Pools of language models: who is asked, how good and how dear that is, beside every plain way of choosing."""
