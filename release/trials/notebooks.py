"""The notebooks in Jupyter's own kernel, in a folder of their own."""

import shutil
from pathlib import Path

from release.environment import Environment

RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
shown = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
as_html = sum("text/html" in one.get("data", {}) for one in shown)
print(sys.argv[1], len(notebook.cells), "cells,", as_html, "shown as HTML")
"""


def run_notebooks(there: Environment, clone: Path) -> str:
    """Execute every notebook with the installed package."""
    there.install("nbclient", "nbformat", "ipykernel")
    (there.work / "run_notebook.py").write_text(RUN)
    lines = []
    for path in sorted((clone / "examples" / "notebooks").glob("*.ipynb")):
        shutil.copy(path, there.work / path.name)
        lines.append(there.script("run_notebook.py", path.name).strip())
    return "\n".join(lines)
