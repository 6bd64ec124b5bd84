"""A text encoder of another package, from `defero fit` to `defero route`. The example is from docs/howto/extend.md."""

import numpy as np
import pandas as pd
from outside_package import example, install, run


def test_fit_and_route_find_it_by_its_name(tmp_path):
    (tmp_path / "package").mkdir()
    outside = install(
        tmp_path / "package",
        "shapes",
        example("A text encoder"),
        group="defero.text_encoders",
        name="shape",
        attribute="shape",
    ) | {"DEFERO_TEXT_CACHE": str(tmp_path / "cache")}
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    notes = [f"note {k}" + "?" * (2 * y) for k, y in enumerate(truth.tolist())]
    table = pd.DataFrame({"note": notes, "truth": truth, "ann": np.where(rng.random(200) < 0.8, truth, 1 - truth)})
    table.to_csv(tmp_path / "cases.csv", index=False)
    options = ["--label", "truth", "--experts", "ann", "--net", "trees", "--text", "note", "--text-encoder"]
    told = run(outside, "fit", tmp_path / "cases.csv", *options, "shap", "--out", tmp_path / "model", code=2)
    assert "did you mean 'shape'?" in told
    run(outside, "fit", tmp_path / "cases.csv", *options, "shape", "--out", tmp_path / "model")
    run(outside, "route", tmp_path / "model", tmp_path / "cases.csv", "--out", tmp_path / "decisions.csv")
    assert (pd.read_csv(tmp_path / "decisions.csv")["model_says"] == truth).mean() > 0.95
    assert (tmp_path / "cache" / "embeddings.sqlite").is_file()
