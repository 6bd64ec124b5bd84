"""Forges model folders and lets each work: python forged_worker.py MODELS LINES SEED FIRST STOP; see fuzz_worker.py."""

import json
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from forged import forge, use
from fuzz_worker import reserved_bytes, resident_bytes

from defero.core.errors import InputError

MORE_BYTES = 1 << 29
"""How much more memory than at the start the process may reserve."""
LONGEST = 1_500
"""Characters of a clear error."""


def attempt(models, folder, seed, number):
    """Return the kind of a forgery and what came of it."""
    rng = np.random.default_rng([seed, number])
    names = sorted(path.name for path in models.iterdir())
    name = names[rng.integers(len(names))]
    kind = f"{name}, {forge(models / name, folder, rng)}"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            odd = use(folder)
    except InputError as error:
        clear = "\n" not in str(error) and len(str(error)) < LONGEST
        return kind, "error" if clear else f"unclear: {error!s:.300}"
    except Exception as error:  # what must not happen: it is written down
        return kind, f"{type(error).__name__}: {error!s:.300}"
    return kind, f"no probabilities: {odd}" if odd else "fine"


def main(models, lines, seed, first, stop):
    with tempfile.TemporaryDirectory() as scratch, Path(lines).open("a") as file:
        for path in sorted(Path(models).iterdir()):
            assert not use(path), path  # modules are loaded before memory is counted
        limit = reserved_bytes() + MORE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in range(int(first), int(stop)):
            file.write(json.dumps({"begins": number}) + "\n")
            file.flush()
            start = time.process_time()
            kind, outcome = attempt(Path(models), Path(scratch) / "model", int(seed), number)
            seconds = time.process_time() - start
            line = {"case": number, "kind": kind, "outcome": outcome, "seconds": seconds, "resident": resident_bytes()}
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
