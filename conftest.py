"""Shapes in signatures are enforced in the rooms that sit behind a checked edge: swapping K and J fails here."""

import os
import tempfile

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook(["defero.losses", "defero.nets", "defero.training"], "beartype.beartype")

settings.register_profile("defero", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("defero")

# The key of row fingerprints is made at first use: not in the home of whoever runs the tests.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="defero-config-")
os.environ.pop("DEFERO_ROWS_KEY", None)
