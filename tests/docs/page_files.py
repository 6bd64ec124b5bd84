"""Small files for the commands of each page: the names are those that the page uses."""

import json
import shutil

import numpy as np
import pandas as pd
from tutorial_files import run

FIT = "defero fit cases.csv --label truth --experts dr_a,dr_b --key case --out model"


def cases(n, seed):
    """Return cases with two numbers, a category, a text, the truth and the answers of two doctors with gaps."""
    rng = np.random.default_rng(seed)
    size, age = rng.gamma(2, 4, n).round(1), rng.integers(25, 88, n)
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-0.3 * (size - 8))), "malign", "benign")
    frame = pd.DataFrame({"case": np.arange(n) + 1000 * seed, "age": age, "size": size})
    frame["site"] = rng.choice(["arm", "leg"], n)
    frame["text"] = np.where(size > 8, "large and dark", "small and pale")
    frame["price"] = rng.uniform(1, 3, n).round(2)
    frame["truth"] = truth
    for name, p_right in (("dr_a", 0.9), ("dr_b", 0.8)):
        wrong = np.where(truth == "benign", "malign", "benign")
        frame[name] = pd.Series(np.where(rng.random(n) < p_right, truth, wrong)).mask(rng.random(n) < 0.3)
    return frame


def new_cases(n=120, seed=2):
    """Return cases without truth and answers."""
    return cases(n, seed).drop(columns=["truth", "dr_a", "dr_b"])


def log_of(frame):
    """Return the answers of a table, one per row."""
    log = frame.melt(id_vars="case", value_vars=["dr_a", "dr_b"], var_name="expert", value_name="answer")
    return log.dropna().sort_values("case")


def fitted(folder):
    """Write the past cases and the model that is fitted on them; `folder` is the working directory."""
    cases(160, 0).to_csv(folder / "cases.csv", index=False)
    run(FIT)


def answering(folder, shared):
    cases(160, 0).to_csv(folder / "cases.csv", index=False)


def deciding(folder, shared):
    shutil.copytree(shared / "model", folder / "model")
    cases(120, 1).to_csv(folder / "past.csv", index=False)
    new_cases().to_csv(folder / "new.csv", index=False)
    log_of(cases(120, 2).head(9)).to_csv(folder / "log.csv", index=False)


def money(folder, shared):
    shutil.copytree(shared / "model", folder / "model")
    shutil.copy(shared / "cases.csv", folder / "cases.csv")
    new_cases().to_csv(folder / "new_cases.csv", index=False)
    (folder / "fees.csv").write_text("expert,fee\ndr_a,6\ndr_b,2.5\n")
    (folder / "costs.csv").write_text("truth,benign,malign\nbenign,0,10\nmalign,100,0\n")


def new_experts(folder, shared):
    shutil.copytree(shared / "model", folder / "model")
    theirs = cases(60, 3).rename(columns={"dr_b": "dr_d"}).drop(columns="dr_a")
    theirs.to_csv(folder / "new_cases.csv", index=False)
    theirs.drop(columns="dr_d").to_csv(folder / "items.csv", index=False)
    log = theirs[["case", "dr_d"]].dropna().rename(columns={"dr_d": "answer"}).assign(expert="dr_d")
    log.to_csv(folder / "log.csv", index=False)


def report(folder, shared):
    shutil.copytree(shared / "model", folder / "model")
    cases(120, 1).to_csv(folder / "new_cases.csv", index=False)


def tables(folder, shared):
    past = cases(160, 0)
    past.drop(columns=["dr_a", "dr_b", "price"]).rename(columns={"truth": "gold"}).to_csv(
        folder / "items.csv", index=False
    )
    log_of(past).to_csv(folder / "log.csv", index=False)
    spelled = past.assign(dr_a=past.dr_a.where(past.index > 20, past.dr_a.str.title()), dr_b=past.dr_b.fillna("n/a"))
    spelled.to_csv(folder / "cases.csv", index=False)
    (folder / "cases.rename.csv").write_text("from,to\nBenign,benign\nMalign,malign\nn/a,\n")
    new = new_cases().astype({"age": object})
    new.loc[4, "age"] = "old"
    new.to_csv(folder / "new_cases.csv", index=False)


def large_data(folder, shared):
    shutil.copytree(shared / "model", folder / "model")
    for name, frame in (("new", new_cases()), ("past", cases(120, 1))):
        (folder / name).mkdir()
        for place in range(2):
            frame.iloc[place::2].to_parquet(folder / name / f"{place}.parquet", index=False)


def pools(folder, shared):
    rng = np.random.default_rng(0)
    for name, n in (("prompts", 200), ("new", 100)):
        task = rng.choice(["maths", "poems"], n)
        frame = pd.DataFrame({"task": task, "length": rng.integers(5, 500, n), "price": rng.uniform(1, 3, n)})
        frame["small"] = (rng.random(n) < np.where(task == "maths", 0.3, 0.9)).astype(int)
        frame["large"] = (rng.random(n) < 0.9).astype(int)
        frame.to_csv(folder / f"{name}.csv", index=False)


def service(folder, shared):
    (folder / "defero-demo").mkdir()
    exported = cases(160, 0).rename(columns={"dr_a": "ann", "dr_b": "bob", "truth": "outcome"})
    exported[["case", "age", "size", "site", "ann", "bob", "outcome"]].to_csv(folder / "export.csv", index=False)


def annotation_exports(folder, shared):
    def annotation(who, answer, **more):
        result = {"from_name": "dx", "to_name": "photo", "type": "choices", "value": {"choices": [answer]}}
        return {"completed_by": who, "result": [result], "was_cancelled": False} | more

    def task(row, *, open_task=False):
        given = [annotation(name, row[name]) for name in ("dr_a", "dr_b") if isinstance(row[name], str)]
        truth = annotation("boss", row["truth"], ground_truth=True)
        data = {"age": row["age"], "size": row["size"]}
        return {"data": data} if open_task else {"id": row["case"], "data": data, "annotations": [*given, truth]}

    past, newer = cases(160, 0).to_dict("records"), cases(80, 1).to_dict("records")
    (folder / "export.json").write_text(json.dumps([task(row) for row in past]))
    (folder / "newer_export.json").write_text(json.dumps([task(row) for row in newer]))
    (folder / "new_tasks.json").write_text(json.dumps([task(row, open_task=True) for row in newer]))
    lines = [
        {"_input_hash": row["case"], "_annotator_id": name, "answer": "accept", "accept": [row[name]]}
        | {"age": row["age"], "size": row["size"], "meta": {"truth": row["truth"]}}
        for row in past
        for name in ("dr_a", "dr_b")
        if isinstance(row[name], str)
    ]
    (folder / "news.jsonl").write_text("\n".join(map(json.dumps, lines)))


def nothing(folder, shared):
    """The commands of the page need no files."""


FILES = {
    "explanation/answering.md": answering,
    "howto/annotation_exports.md": annotation_exports,
    "howto/datasets.md": nothing,
    "howto/deciding.md": deciding,
    "howto/large_data.md": large_data,
    "howto/money.md": money,
    "howto/new_experts.md": new_experts,
    "howto/pools.md": pools,
    "howto/report.md": report,
    "howto/service.md": service,
    "howto/tables.md": tables,
}
