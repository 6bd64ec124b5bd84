"""Teams whose decisions were recorded before the workflow moved into `study/`: the files they learn from."""

import json

import numpy as np
import pandas as pd

READERS = ["dr_a", "dr_b", "dr_c", "dr_d"]
WORDS = ["calm", "sore", "red", "dry", "old", "new", "wide", "dark", "pale", "firm", "soft", "odd"]


def visits(n, *, seed):
    """Return cases with numbers, a category, a text, a patient, a day, gaps, and four readers of different skill."""
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, n // 3 + 1, n)
    age, size = rng.normal(55, 15, n).round(1), rng.gamma(2, 4, n).round(2)
    site = rng.choice(["arm", "leg", "trunk", "face"], n)
    odds = 0.06 * (age - 55) + 0.3 * (size - 8) + 0.9 * (site == "trunk")
    sick = rng.random(n) < 1 / (1 + np.exp(-odds))
    first = rng.choice(WORDS[:6], n)
    second = np.where(rng.random(n) < 0.8, np.where(sick, "dark", "pale"), rng.choice(WORDS[6:], n))
    frame = pd.DataFrame(
        {
            "visit": [f"V{seed}{number:05d}" for number in range(n)],
            "patient": [f"p{seed}-{number}" for number in patient],
            "day": pd.date_range("2025-01-01", periods=n, freq="h").strftime("%Y-%m-%d %H:%M"),
            "age": age,
            "size": pd.Series(size).mask(rng.random(n) < 0.05),
            "site": site,
            "remark": [f"{a} {b} {c}" for a, b, c in zip(first, second, rng.choice(WORDS, n), strict=True)],
        }
    )
    for name, strong, gaps in zip(READERS, ["arm", "leg", "trunk", "face"], [0.2, 0.5, 0.3, 0.6], strict=True):
        right = rng.random(n) < np.where(site == strong, 0.97, 0.72)
        answers = pd.Series(np.where(sick == right, "sick", "well"), dtype=object)
        frame[name] = answers.mask(rng.random(n) < gaps)
    return frame.assign(truth=np.where(sick, "sick", "well"))


def annotated_tasks(cases):
    """Return the same cases as an export of Label Studio."""
    tasks = []
    for number, case in enumerate(cases.to_dict("records"), start=1):
        given = [(name, case[name], False) for name in READERS if isinstance(case[name], str)]
        annotations = [
            {
                "completed_by": {"id": 1, "email": who},
                "result": [{"from_name": "dx", "to_name": "x", "type": "choices", "value": {"choices": [answer]}}],
                "was_cancelled": False,
                "ground_truth": truth,
                "updated_at": "2025-05-01T09:00:00Z",
            }
            for who, answer, truth in [*given, ("chief", case["truth"], True)]
        ]
        size = None if pd.isna(case["size"]) else case["size"]
        data = {"age": case["age"], "size": size, "site": case["site"]}
        tasks.append({"id": number, "data": data, "annotations": annotations, "predictions": []})
    return tasks


def write_files(folder):
    """Write every file that the teams learn from or decide on."""
    cases, new = visits(600, seed=1), visits(150, seed=2)
    plain = cases.drop(columns=["patient", "day", "remark"])
    plain.to_csv(folder / "wide.csv", index=False)
    cases.drop(columns=["day", "remark"]).to_csv(folder / "groups.csv", index=False)
    cases.drop(columns=["patient", "remark"]).to_csv(folder / "times.csv", index=False)
    cases[["visit", "age", "remark", "truth"]].to_csv(folder / "items.csv", index=False)
    log = cases.melt(id_vars="visit", value_vars=READERS, var_name="reader", value_name="answer").dropna()
    log.to_csv(folder / "log.csv", index=False)
    (folder / "export.json").write_text(json.dumps(annotated_tasks(plain)))
    new.drop(columns=["truth", *READERS]).to_csv(folder / "new.csv", index=False)
    new.to_csv(folder / "judged.csv", index=False)


WIDE = ["--label", "truth", "--experts", ",".join(READERS), "--key", "visit"]
LOG = ["--label", "truth", "--text", "remark", "--key", "visit"]
TEAMS = {
    "wide": ["wide.csv", *WIDE],
    "linear_softmax": ["wide.csv", *WIDE, "--net", "linear", "--loss", "softmax"],
    "weighted": ["wide.csv", *WIDE, "--answer-weights", "label+features", "--target", "all-correct", "--alpha", "0.2"],
    "groups": ["groups.csv", *WIDE, "--group", "patient"],
    "times": ["times.csv", *WIDE, "--time", "day", "--net", "linear"],
    "log": [
        "items.csv",
        "--answers",
        "log.csv",
        "--item",
        "visit",
        "--label",
        "truth",
        "--text",
        "remark",
        "--key",
        "visit",
    ],
    "export": ["export.json"],
}
"""The options of `defero fit`, for each team."""
