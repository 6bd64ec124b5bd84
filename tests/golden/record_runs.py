"""Record the golden files of all inputs anew, or of those named: `python tests/golden/record_runs.py [INPUT ...]`.

It prints what has changed. Say in the commit why each figure did.
"""

import sys
import tempfile
from pathlib import Path

from golden_runs import INPUTS, differences, outputs, parsed

HERE = Path(__file__).parent / "runs"


def main(names):
    """Run the commands, show what changed, write."""
    for name in names or INPUTS:
        with tempfile.TemporaryDirectory() as folder:
            files = outputs(name, Path(folder))
        (HERE / name).mkdir(parents=True, exist_ok=True)
        for old in set(HERE.joinpath(name).iterdir()) - {HERE / name / file for file in files}:
            old.unlink()
        for file, text in files.items():
            path = HERE / name / file
            before = parsed(file, path.read_text()) if path.exists() else {}
            for sentence in differences(before, parsed(file, text)):
                sys.stdout.write(f"{name}, {file}: {sentence}\n")
            path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
