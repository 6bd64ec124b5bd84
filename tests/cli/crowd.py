"""The clinic's lesions as a crowd has them: answers in a log of their own, or inside an annotation tool's export."""

import json

import pandas as pd
from clinic import DOCTORS, lesions, run


def log_of(cases):
    """Return one row per answer: case, reader, answer."""
    long = cases.melt(id_vars="case", value_vars=DOCTORS, var_name="reader", value_name="answer")
    return long.dropna().sample(frac=1, random_state=0)


def write_log(folder, cases=None):
    """Write items.csv without the doctors and log.csv with them; return the cases."""
    cases = lesions() if cases is None else cases
    cases.drop(columns=DOCTORS).to_csv(folder / "items.csv", index=False)
    log_of(cases).to_csv(folder / "log.csv", index=False)
    return cases


def annotation(who, answer, **more):
    """Return an annotation as Label Studio writes it."""
    result = [{"from_name": "dx", "to_name": "photo", "type": "choices", "value": {"choices": [answer]}}]
    plain = {"completed_by": who, "result": result, "was_cancelled": False, "lead_time": 5.5}
    return plain | {"created_at": "2024-05-01T09:00:00Z", "updated_at": "2024-05-01T09:00:00Z"} | more


def tasks_of(cases, *, truth=True):
    """Return an export: people as numbers and as objects, an answer cancelled, one given twice, the truth marked."""
    other = {"benign": "malign", "malign": "benign"}
    who = {"dr_a": {"id": 1, "email": "dr_a"}, "dr_b": 2, "dr_c": {"id": 3, "username": "dr_c"}}
    tasks = []
    for number, case in enumerate(cases.to_dict("records"), start=11):
        said = [annotation(who[name], case[name]) for name in DOCTORS if isinstance(case[name], str)]
        if number == 11:
            said.append(annotation(2, "malign", was_cancelled=True))
        if isinstance(case["dr_a"], str) and number % 5 == 0:
            said.insert(0, annotation(1, other[case["dr_a"]], updated_at="2024-04-30T09:00:00Z"))
        if truth:
            said.append(annotation(9, case["truth"], ground_truth=True))
        size = None if pd.isna(case["size_mm"]) else case["size_mm"]
        data = {"age": case["age"], "size_mm": size, "site": case["site"], "clinic": {"ward": 3}}
        tasks.append({"id": number, "data": data, "annotations": said, "drafts": [], "predictions": []})
    return tasks


def write_tasks(path, tasks):
    """Write tasks as a list."""
    path.write_text(json.dumps(tasks))


def fit(*options, table="items.csv", out="other"):
    """Run `defero fit` on a table."""
    return run("fit", table, "--out", out, *options)


def told(outcome):
    """Return the JSON of a command that went well."""
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)
