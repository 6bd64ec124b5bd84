"""The gallery: each script of examples/gallery with the picture that it draws."""

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "examples" / "gallery"
DRAWN = ROOT / "build" / "gallery"
ORDER = (
    "report",
    "deferral_curve",
    "expert_load",
    "reliability",
    "agreement",
    "set_size",
    "pool_frontier",
)
_HEAD = """# Gallery

Every picture here is drawn from the code below it when the site is built. Each script is complete: copy it and run
it. [Plots](howto/plots.md) says how to read the pictures, and [the report](howto/report.md) shows most of them
together."""

_REPORT = "The first lines of the report: the team beside the model and the doctors"


def gallery_page() -> str:
    """Return the page."""
    return "\n\n".join([_HEAD, *map(_section, ORDER)]) + "\n"


def gallery_pictures() -> dict[str, Path]:
    """Draw what is not drawn yet, and return the files by their address in the site."""
    return {f"gallery/{picture.name}": picture for picture in map(draw, ORDER)}


def draw(name: str, *, anew: bool = False) -> Path:
    """Run a script in a folder of its own, unless the same script has run before; return the file that it wrote.

    With `anew` it is run in any case: the library may have changed.
    """
    script = SCRIPTS / f"{name}.py"
    mark = hashlib.sha256(script.read_bytes()).hexdigest()[:12]
    folder = DRAWN / f"{name}-{mark}"
    drawn = folder / file_of(name)
    if anew or not drawn.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "MPLBACKEND": "Agg"}
        subprocess.run([sys.executable, str(script)], cwd=folder, env=environment, check=True, capture_output=True)
    return drawn


def file_of(name: str) -> str:
    """Return the name of the file that a script writes.

    >>> file_of("agreement"), file_of("report")
    ('agreement.svg', 'report.html')
    """
    return f"{name}.{'html' if name == 'report' else 'svg'}"


def _section(name: str) -> str:
    text = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    module = ast.parse(text)
    question, _, words = str(ast.get_docstring(module)).partition("\n\n")
    code = text.split('"""', 2)[2].strip()
    if name == "report":
        shown = f"![{_REPORT}](pictures/report.png)\n\n[Open the whole report](gallery/report.html)"
    else:
        shown = f"![{question}](gallery/{file_of(name)}){{ .drawn }}"
    return f"## {question}\n\n{words}\n\n{shown}\n\n```python\n{code}\n```"
