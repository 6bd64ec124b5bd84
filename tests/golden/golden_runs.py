"""Six small inputs, each with the commands that are run on it; what the commands print and write is compared."""

import contextlib
import csv
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from golden_teams import READERS, annotated_tasks, visits
from typer.testing import CliRunner

from defero.cli.main import app

NEW_READER = "dr_e"
TRUTH = ["--label", "truth"]
WIDE = [*TRUTH, "--experts", ",".join(READERS), "--key", "visit"]
LOG = ["--item", "post", *TRUTH, "--key", "post"]
FEES = ["--fee", "dr_a=1", "--fee", "dr_c=0.5", "--fee", "all=2"]
MEMBERS = ["small", "large", "odd"]


@dataclass(frozen=True)
class Input:
    """An input: what writes its files, and its commands by the name of their golden file.

    Attributes
    ----------
    write : callable
        Writes past, judged, new and newcomer files to a folder.
    runs : {name: words of the command line}
        In their order. What a command prints is compared, and the decisions of `route`.
    """

    write: Callable[[Path], None]
    runs: dict[str, list[str]]


def with_newcomer(cases):
    """Return cases with the answers of one more reader, who is good at the face and answers two of three cases."""
    rng = np.random.default_rng(len(cases))
    right = rng.random(len(cases)) < np.where(cases["site"] == "face", 0.98, 0.75)
    answers = pd.Series(np.where((cases["truth"] == "sick") == right, "sick", "well"), dtype=object)
    return cases.assign(**{NEW_READER: answers.mask(rng.random(len(cases)) < 1 / 3)})


def write_wide(folder):
    """Numbers, a category, gaps, and four readers who answered a part of the cases."""
    past, judged, new, more = (visits(n, seed=seed) for seed, n in enumerate((300, 120, 60, 80), start=11))
    left_out = ["patient", "day", "remark"]
    past.drop(columns=left_out).to_csv(folder / "past.csv", index=False)
    judged.drop(columns=left_out).to_csv(folder / "judged.csv", index=False)
    new.drop(columns=["truth", *READERS]).to_csv(folder / "new.csv", index=False)
    with_newcomer(more).drop(columns=left_out).to_csv(folder / "newcomer.csv", index=False)
    log = new.melt(id_vars="visit", value_vars=READERS[:2], var_name="reader", value_name="answer").dropna()
    log.to_csv(folder / "so_far.csv", index=False)


WORDS = {
    "anger": ["shouts", "hates", "blames", "storms"],
    "joy": ["laughs", "sings", "loves", "dances"],
    "neutral": ["walks", "reads", "waits", "counts"],
}


def posts(n, *, seed, people):
    """Return posts with a text and a length, and a log of three answers for each; three classes."""
    rng = np.random.default_rng(seed)
    classes, names = np.array(list(WORDS)), np.array(people)
    truth = rng.choice(classes, n, p=[0.3, 0.3, 0.4])
    moods = [truth[i] if rng.random() < 0.7 else rng.choice(classes) for i in range(n)]
    texts = [
        f"{rng.choice(WORDS[word])} {rng.choice(WORDS[one])} today" for word, one in zip(moods, truth, strict=True)
    ]
    ids = [f"t{seed}-{i:04d}" for i in range(n)]
    skill = dict(zip(names, np.linspace(0.55, 0.95, len(names)), strict=True))
    rows = []
    for post, label in zip(ids, truth, strict=True):
        for name in rng.choice(names, 3, replace=False):
            answer = label if rng.random() < skill[name] else rng.choice(classes[classes != label])
            rows.append({"post": post, "worker": name, "answer": answer})
    items = pd.DataFrame({"post": ids, "length": rng.integers(5, 200, n), "text": texts, "truth": truth})
    return items, pd.DataFrame(rows)


def write_log(folder):
    """Texts of three classes, and a crowd of ten people, each of whom answered three of ten posts."""
    people = [f"w{number:02d}" for number in range(10)]
    for name, n, seed, who in (
        ("past", 300, 1, people),
        ("judged", 120, 2, people),
        ("newcomer", 80, 3, [*people[:2], "w99"]),
    ):
        items, log = posts(n, seed=seed, people=who)
        items.to_csv(folder / f"{name}.csv", index=False)
        log.to_csv(folder / f"{name}_log.csv", index=False)
    items, log = posts(60, seed=4, people=people)
    items.drop(columns="truth").to_csv(folder / "new.csv", index=False)
    log.iloc[::3].to_csv(folder / "so_far.csv", index=False)


def write_export(folder):
    """The same kind of cases as exports of Label Studio; of new ones nobody has annotated any."""
    past, judged, new, more = (visits(n, seed=seed) for seed, n in enumerate((300, 120, 60, 80), start=21))
    for name, cases in (("past", past), ("judged", judged)):
        (folder / f"{name}.json").write_text(json.dumps(annotated_tasks(cases)))
    tasks = [{**task, "annotations": []} for task in annotated_tasks(new)]
    (folder / "new.json").write_text(json.dumps(tasks))
    with_newcomer(more).drop(columns=["visit", "patient", "day", "remark"]).to_csv(folder / "newcomer.csv", index=False)


def write_groups(folder):
    """Patients with several visits, and the time of each visit."""
    past, judged, new, more = (visits(n, seed=seed) for seed, n in enumerate((400, 150, 60, 80), start=31))
    # Later cases and patients of their own: evaluate leaves out patients that fit has used.
    past.drop(columns="remark").to_csv(folder / "past.csv", index=False)
    judged.drop(columns="remark").to_csv(folder / "judged.csv", index=False)
    new.drop(columns=["remark", "truth", *READERS]).to_csv(folder / "new.csv", index=False)
    with_newcomer(more).drop(columns="remark").to_csv(folder / "newcomer.csv", index=False)


def write_costs(folder):
    """A price column, a cost for each kind of error, and limits on the questions."""
    past, judged, new, more = (visits(n, seed=seed) for seed, n in enumerate((300, 120, 60, 80), start=41))
    rng = np.random.default_rng(4)
    for name, cases in (("past", past), ("judged", judged), ("new", new), ("newcomer", with_newcomer(more))):
        paid = cases.drop(columns=["patient", "day", "remark"]).assign(price=rng.uniform(0.2, 3, len(cases)).round(2))
        paid.drop(columns=["truth", *READERS] if name == "new" else []).to_csv(folder / f"{name}.csv", index=False)
    (folder / "matrix.csv").write_text("truth,sick,well\nsick,0,60\nwell,10,0\n")


def prompts(n, *, seed):
    """Return prompts of two kinds with a text, the scores of three members, and what a call of the largest costs."""
    rng = np.random.default_rng(seed)
    task = rng.choice(["maths", "poems"], n)
    words = {"maths": ["prove", "sum", "solve"], "poems": ["rhyme", "verse", "ode"]}
    text = [f"{rng.choice(words[kind])} {rng.choice(['short', 'long', 'odd'])}" for kind in task]
    right = {"small": np.where(task == "maths", 0.8, 0.3), "large": 0.85, "odd": np.where(task == "maths", 0.2, 0.95)}
    length = rng.integers(5, 10_000, n)
    table = pd.DataFrame({"id": [f"q{seed}-{i}" for i in range(n)], "task": task, "length": length, "prompt": text})
    for name in MEMBERS:
        table[name] = (rng.random(n) < right[name]).astype(int)
    table["small"] = table["small"].mask(rng.random(n) < 0.1)
    return table.assign(large_price=(length * 0.01).round(2))


def write_pool(folder):
    """Scores of three members, one of them with a price for each prompt."""
    prompts(300, seed=1).to_csv(folder / "past.csv", index=False)
    prompts(120, seed=2).to_csv(folder / "judged.csv", index=False)
    prompts(60, seed=3).drop(columns=MEMBERS).to_csv(folder / "new.csv", index=False)


def _route(*words, model="team", new="new.csv"):
    return ["route", model, new, "--out", "decisions.csv", "--json", *words]


def _newcomer(table="newcomer.csv", *words, name=NEW_READER):
    return ["add-expert", "team", table, "--expert", name, "--out", "larger", "--json", *words]


INPUTS = {
    "wide": Input(
        write_wide,
        {
            "fit": ["fit", "past.csv", *WIDE, "--out", "team", "--json"],
            "evaluate": ["evaluate", "team", "judged.csv", "--json"],
            "evaluate_in_turn": ["evaluate", "team", "judged.csv", "--ask", "sequential"],
            "report": ["report", "team", "judged.csv"],
            "route": _route(),
            "route_in_turn": _route("--ask", "sequential", "--answers", "so_far.csv", "--item", "visit"),
            "route_panels": _route("--ask", "panel", "--absent", "dr_b"),
            "add_expert": _newcomer(),
            "route_newcomer": _route(model="larger"),
        },
    ),
    "log": Input(
        write_log,
        {
            "fit": [
                "fit", "past.csv", "--answers", "past_log.csv", *LOG, "--text", "text", "--net", "linear",
                "--out", "team", "--json",
            ],
            "evaluate": ["evaluate", "team", "judged.csv", "--answers", "judged_log.csv", "--json"],
            "report": ["report", "team", "judged.csv", "--answers", "judged_log.csv"],
            "route": _route(),
            "route_so_far": _route("--answers", "so_far.csv", "--item", "post", "--ask", "sequential"),
            "add_expert": _newcomer("newcomer.csv", "--answers", "newcomer_log.csv", name="w99"),
            "route_newcomer": _route(model="larger"),
        },
    ),
    "export": Input(
        write_export,
        {
            "fit": ["fit", "past.json", "--out", "team", "--json"],
            "evaluate": ["evaluate", "team", "judged.json", "--json"],
            "report": ["report", "team", "judged.json"],
            "route": _route(new="new.json"),
            "add_expert": _newcomer("newcomer.csv", "--label", "truth", "--format", "table"),
            "route_newcomer": _route(model="larger", new="new.json"),
        },
    ),
    "groups": Input(
        write_groups,
        {
            "fit": [
                "fit", "past.csv", *WIDE, "--group", "patient", "--answer-weights", "label+features",
                "--features", "age,size,site", "--target", "all-correct", "--alpha", "0.2", "--out", "team", "--json",
            ],
            "evaluate": ["evaluate", "team", "judged.csv", "--by", "site", "--json"],
            "report": ["report", "team", "judged.csv", "--by", "site"],
            "route": _route("--unusual", "ask", "--uncertainty"),
            "add_expert": _newcomer(),
            "route_newcomer": _route(model="larger"),
            "fit_time": [
                "fit", "past.csv", *WIDE, "--time", "day", "--net", "linear", "--loss", "softmax",
                "--features", "age,size,site", "--out", "later", "--json",
            ],
            "route_time": _route(model="later"),
        },
    ),
    "costs": Input(
        write_costs,
        {
            "fit": [
                "fit", "past.csv", *WIDE, "--features", "age,size,site", *FEES, "--cost-matrix", "matrix.csv",
                "--out", "team", "--json",
            ],
            "evaluate": ["evaluate", "team", "judged.csv", "--capacity", "all=20", "--fee", "dr_b=@price", "--json"],
            "evaluate_other_terms": [
                "evaluate", "team", "judged.csv", "--fee", "all=1", "--error-cost", "20", "--budget", "30",
                "--ask", "sequential", "--json",
            ],
            "report": ["report", "team", "judged.csv"],
            "route": _route(),
            "route_capacity": _route(
                "--capacity", "dr_a=5", "--capacity", "all=2:9", "--fee", "dr_b=@price", "--budget", "60",
            ),
            "route_share": _route("--at-most-asked", "0.3", "--error-cost", "12"),
            "add_expert": _newcomer(),
            "route_newcomer": _route("--capacity", "all=8", model="larger"),
        },
    ),
    "pool": Input(
        write_pool,
        {
            "fit": [
                "fit", "past.csv", "--scores", "--experts", ",".join(MEMBERS), "--key", "id", "--text", "prompt",
                "--fee", "large=@large_price", "--fee", "all=1", "--error-cost", "100", "--out", "team", "--json",
            ],
            "evaluate": ["evaluate", "team", "judged.csv", "--json"],
            "report": ["report", "team", "judged.csv"],
            "route": _route(),
            "route_budget": _route("--budget", "1500", "--capacity", "odd=15"),
            "route_floor": _route("--quality-floor", "0.7"),
        },
    ),
}  # fmt: skip


def outputs(name, folder):
    """Run the commands of an input in a folder; return the text of each golden file by its name.

    Of a report these are the sentences that the command prints, of which the page must have the first: its layout may
    change, and its figures are those of `evaluate`.
    """
    INPUTS[name].write(folder)
    files = {}
    with contextlib.chdir(folder):
        for run, words in INPUTS[name].runs.items():
            done = CliRunner().invoke(app, words)
            if done.exit_code:
                raise AssertionError(f"{' '.join(words)}: {done.output} {done.exception}")
            if words[0] == "report" and name != "pool":  # the page of a pool has its figures in tables
                _check_page(Path("report.html").read_text(), done.stdout.splitlines())
            files[f"{run}.json" if "--json" in words else f"{run}.txt"] = done.stdout
            if words[0] == "route":
                files[f"{run}.csv"] = Path("decisions.csv").read_text()
    return files


def _check_page(page, printed):
    """Check that a page has the first finding that the command prints, whatever its layout."""
    headline = next(line for line in printed if line.startswith("On "))
    assert _characters(headline) in _characters(page), headline


def _characters(text):
    """Return a text without markup and blanks."""
    return "".join(html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]*>", "", text, flags=re.DOTALL)).split())


def parsed(name, text):
    """Return the values in a golden file."""
    if name.endswith(".json"):
        return json.loads(text)
    lines = text.splitlines() if name.endswith(".txt") else list(csv.DictReader(io.StringIO(text)))
    return {f"line {place}": line for place, line in enumerate(lines, start=1)}


def differences(golden, now, *, within=1e-9):
    """Return a sentence for each figure or text that is another one; numbers may differ by rounding.

    >>> differences({"rows": {"test": 60}, "note": "a"}, {"rows": {"test": 61}, "note": "a"})
    ['rows.test is 61, golden 60']
    >>> differences([0.1 + 0.2, None], [0.3, None])
    []
    >>> differences({"p": "0.25"}, {"q": 1})
    ["p is missing, golden '0.25'", 'q is 1, golden has none']
    """
    before, after = dict(_leaves(golden)), dict(_leaves(now))
    sentences = []
    for path in dict.fromkeys([*before, *after]):
        if path not in after:
            sentences.append(f"{path} is missing, golden {before[path]!r}")
        elif path not in before:
            sentences.append(f"{path} is {after[path]!r}, golden has none")
        elif not _equal(before[path], after[path], within):
            sentences.append(f"{path} is {after[path]!r}, golden {before[path]!r}")
    return sentences


def _leaves(value, path=""):
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if members is None or (path and not value):
        yield path, value
        return
    for name, one in members:
        yield from _leaves(one, f"{path}.{name}".lstrip("."))


def _equal(first, second, within):
    a, b = _number(first), _number(second)
    if a is None or b is None:
        return type(first) is type(second) and first == second
    return a == b or (np.isnan(a) and np.isnan(b)) or abs(a - b) <= within * max(1.0, abs(a))


def _number(value):
    """Return the number that a value or a cell of a table is; None where it is none."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    try:
        return float(value)
    except ValueError:
        return None
