"""README's demo, Python and commands, with the wheel alone and no PyTorch."""

import re
import shlex
from pathlib import Path

from release.checklist import No
from release.environment import Environment

FOLDER = "defero-demo"
"""Where README's demo leaves the tables of its other examples."""
COMMANDS = ("fit", "report", "route")
NO_TORCH = "pip install 'defero[train]'"


def run_demo(there: Environment) -> str:
    """Run README's first command, twice instead of five times: it leaves the tables of the others."""
    if there.has("torch"):
        raise No("PyTorch came with defero alone")
    where = there.python("import defero; print(defero.__file__)").strip()
    if not Path(where).is_relative_to(there.venv):
        raise No(f"defero is loaded from {where}")
    there.defero("demo", "--out", FOLDER, "--seeds", "2")
    return "defero alone brings no PyTorch, and its demo runs"


def run_python(there: Environment, readme: str) -> str:
    """Run every example in Python in the demo's folder; those that need PyTorch must say how to install it."""
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    inside, ran = there.inside(FOLDER), 0
    for code in examples:
        try:
            inside.python(code)
            ran += 1
        except No as error:
            if NO_TORCH not in str(error):
                raise
    if not ran:
        raise No("README has no example in Python that runs without PyTorch")
    return f"{ran} of {len(examples)} examples" + ("" if ran == len(examples) else f"; the others say {NO_TORCH}")


def run_commands(there: Environment, readme: str) -> str:
    """Run README's commands as they stand, and `evaluate`, and look for what they write."""
    blocks = "\n".join(re.findall(r"```(?:\w*)\n(.*?)```", readme, re.DOTALL)).replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in blocks.splitlines()]
    inside, done = there.inside(FOLDER), []
    for name in COMMANDS:
        line = next((line for line in lines if line.startswith(f"defero {name} ")), None)
        if line is None:
            raise No(f"README shows no `defero {name}`")
        words = shlex.split(line, comments=True)
        inside.defero(*words[1:])
        if not (inside.work / words[words.index("--out") + 1]).exists():
            raise No(f"{line}: nothing was written")
        done.append(" ".join(words))
    inside.defero("evaluate", "model", "clinic.csv")
    return "\n".join([*done, "defero evaluate model clinic.csv"])
