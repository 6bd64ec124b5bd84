"""How long `import defero` and `defero --help` take, beside a bare interpreter, in CPU seconds."""

import resource
import subprocess
import sys

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import numpy'": ["-c", "import numpy"],
    "python -c 'import defero'": ["-c", "import defero"],
    "defero --help": ["-m", "defero", "--help"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """Return the user and system time of one run of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> dict[str, float]:
    """Return the best of five for each command."""
    return {name: round(min(cpu_seconds(command) for _ in range(5)), 3) for name, command in COMMANDS.items()}
