"""Shapes in signatures are enforced in the rooms that sit behind a checked edge: swapping K and J fails here."""

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook(["defero.losses", "defero.nets", "defero.training"], "beartype.beartype")

settings.register_profile("defero", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("defero")
