"""A folder of tiny pictures with a table that names them, and what Ann and Bob say of each."""

import numpy as np
import pandas as pd
from PIL import Image

FIT = ["--image-column", "file", "--image-size", "8", "--net", "wrn-10-1", "--epochs", "2", "--label", "truth"]
FIT += ["--experts", "ann,bob"]


def write_scans(folder, *, n=130, n_new=40, seed=0):
    """Write scans/ward/*.png, cases.csv to learn from and new.csv of later cases, with labels and answers."""
    rng = np.random.default_rng(seed)
    (folder / "scans" / "ward").mkdir(parents=True)
    labels, rows = rng.integers(3, size=n), []
    for number, label in enumerate(labels):
        pixels = rng.integers(0, 160, size=(10, 12, 3))
        pixels[:, :, label] += 60
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "scans" / "ward" / f"{number}.png")
        said = ["rgb"[label] if rng.random() < skill else "rgb"[rng.integers(3)] for skill in (0.9, 0.6)]
        rows.append([f"ward/{number}.png", "rgb"[label], *said])
    table = pd.DataFrame(rows, columns=["file", "truth", "ann", "bob"])
    table[: n - n_new].to_csv(folder / "cases.csv", index=False)
    table[n - n_new :].to_csv(folder / "new.csv", index=False)
    return table
