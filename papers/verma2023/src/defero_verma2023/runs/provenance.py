"""On what, with what and by which command a run is made."""

import os
import platform
import shlex
import sys
from typing import Any

from defero_verma2023.runs.record import versions


def made_here() -> dict[str, Any]:
    """Return machine, versions and command of this process, as a record has them."""
    return {"machine": machine_facts(), "versions": versions(), "command": command()}


def machine_facts() -> dict[str, Any]:
    """Return what the numbers were made on."""
    import torch

    facts: dict[str, Any] = {"processor": platform.machine(), "cores": os.cpu_count()}
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
        facts["cuda"] = torch.version.cuda
    return facts


def command() -> str:
    """Return the command that runs now; from source, `python -m defero_verma2023`, the one that does the same."""
    arguments = sys.argv[1:]
    return shlex.join(["defero", *(["reproduce"] if arguments[:1] != ["reproduce"] else []), *arguments])
