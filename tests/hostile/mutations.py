"""Tables and model folders, changed by chance: the same number always gives the same change."""

import copy
import gzip
import hashlib
import io
import json

import numpy as np
import pandas as pd

from defero import DeferralClassifier, Study, TwoStageDeferral, read_cases
from defero.data.model_folder import MANIFEST

LABEL, EXPERTS, KEY = "truth", ["dr_a", "dr_b"], "case"
PIECES = [b"\0", b"\r", b'"', b"\n\n", b"\xff", b"\xed\xa0\x80", b",", b";", b"1e999", b"1e308", b"9" * 400, b"NaN"]
PIECES += [b"\\ud800", b"[" * 40, b"{", b"=1+1", b"\x1b[31m", b"-", b"\xef\xbb\xbf", b"\t", b"'", b"\x00" * 64]
VALUES = [None, [], {}, "", "nan", True, -1, 0, 0.5, 10**10, -(10**30), 1e308, [[[]]], {"a": {"b": []}}, ["x", 1]]
VALUES += ["\ud800", "0" * 99, "\x1b[31m", "../../x", "/etc/passwd", 2**63, -0.0, [1e308] * 3, "os.system"]


def frame(n=240, *, seed=0):
    """Return cases with a key, a number, a category, two experts and the truth."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    truth = np.where(x + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    cases = pd.DataFrame({KEY: [f"p{k}" for k in range(n)], "age": x.round(6), "site": np.resize(["arm", "Zürich"], n)})
    for expert in EXPERTS:
        cases[expert] = np.where(rng.random(n) < 0.8, truth, np.where(truth == "yes", "no", "yes"))
    return cases.assign(**{LABEL: truth})


def tables():
    """Return the content of a small table in every format, by name."""
    cases = frame(12, seed=1)
    cases.loc[3, "age"] = np.nan
    text = {mark: cases.to_csv(index=False, sep=mark).encode() for mark in ",\t;"}
    records = cases.astype(object).where(cases.notna(), None).to_dict("records")
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    stored = io.BytesIO()
    cases.to_parquet(stored)
    return {
        "t.csv": text[","],
        "semicolons.csv": text[";"],
        "t.tsv": text["\t"],
        "t.csv.gz": gzip.compress(text[","], mtime=0),
        "t.jsonl": lines,
        "t.ndjson.gz": gzip.compress(lines, mtime=0),
        "t.parquet": stored.getvalue(),
    }


def save_models(folder):
    """Save one model of each kind that needs no network."""
    cases = frame()
    features, labels, answers = cases[["age", "site"]], cases[LABEL], cases[EXPERTS]
    parts = [slice(0, 120), slice(120, 180), slice(180, 240)]
    team = DeferralClassifier(random_state=0)
    for part, step in zip(parts, (team.fit, team.calibrate, team.conformalize), strict=True):
        step(
            features[part], labels[part], experts=answers[part], **({"alpha": 0.2} if step == team.conformalize else {})
        )
    team.save(folder / "table")
    TwoStageDeferral().fit(features[["age"]].to_numpy(), labels, experts=answers).save(folder / "two-stage")
    scored = cases[[KEY, "age", "site"]].assign(**{one: (cases[one] == labels).astype(float) for one in EXPERTS})
    study = Study(read_cases(scored, expert_names=EXPERTS, scores=True, key=KEY))
    study.fit()
    study.save(folder / "pool")


def bytes_changed(content, rng):
    """Return a content with one to three changes: a bit, a cut, a piece more or less, a part twice."""
    for _ in range(rng.integers(1, 4)):
        place, piece = int(rng.integers(0, max(len(content), 1))), PIECES[rng.integers(len(PIECES))]
        match rng.integers(5):
            case 0 if content:
                content = content[:place] + bytes([content[place] ^ (1 << int(rng.integers(8)))]) + content[place + 1 :]
            case 1:
                content = content[:place]
            case 2:
                content = content[:place] + piece + content[place:]
            case 3:
                content = content[:place] + content[place + len(piece) :]
            case _:
                content = content[:place] + content[max(place - 60, 0) :]
    return content


def table_changed(name, content, rng):
    """Return a table with changes; half of the archives that are whole are changed inside."""
    if name.endswith(".gz") and not name.startswith("cut") and rng.random() < 0.5:
        return gzip.compress(bytes_changed(gzip.decompress(content), rng), mtime=0)
    return bytes_changed(content, rng)


CELLS = ["", " ", "yes", "Yes", " no ", "NA", "1.5", "-0", "1e5", "0x1f", "maybe", "=1+1", "\x1b[31m", "Zürich", "arm"]
CELLS += ["9" * 30, "1,5", "true", "2024-01-31", "é" * 300, "nan", "inf", "p0", "None"]


def cell_changed(name, content, rng):
    """Return a readable table in which one or two cells hold something else: most are still tables."""
    inside = gzip.decompress(content) if name.endswith(".gz") else content
    for _ in range(rng.integers(1, 3)):
        cell = CELLS[rng.integers(len(CELLS))]
        if name.endswith(".parquet"):
            inside = _parquet_cell(inside, cell, rng)
            continue
        lines = inside.decode().splitlines()
        place = int(rng.integers(1, len(lines)))
        if "json" in name:
            record = json.loads(lines[place])
            record[sorted(record)[rng.integers(len(record))]] = cell
            lines[place] = json.dumps(record, ensure_ascii=False)
        else:
            mark = next(one for one in "\t;," if one in lines[0])
            cells = lines[place].split(mark)
            cells[rng.integers(len(cells))] = cell
            lines[place] = mark.join(cells)
        inside = ("\n".join(lines) + "\n").encode()
    return gzip.compress(inside, mtime=0) if name.endswith(".gz") else inside


def _parquet_cell(content, cell, rng):
    cases = pd.read_parquet(io.BytesIO(content))
    column = cases.columns[rng.integers(len(cases.columns))]
    cases[column] = cases[column].astype(str)
    cases.loc[rng.integers(len(cases)), column] = cell
    stored = io.BytesIO()
    cases.to_parquet(stored)
    return stored.getvalue()


def places(value, path=()):
    """Yield the path of every branch and leaf below a nested value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def manifest_changed(manifest, rng):
    """Return a manifest with one or two odd values, or with something missing or twice."""
    changed = copy.deepcopy(manifest)
    for _ in range(rng.integers(1, 3)):
        every = [path for path in places(changed) if path[0] not in ("checksum", "files", "format")]
        *path, key = every[rng.integers(len(every))]
        inner = changed
        for step in path:
            inner = inner[step]
        way = rng.integers(4)
        if way == 0:
            del inner[key]
        elif way == 1 and isinstance(inner, list):
            inner.append(copy.deepcopy(inner[key]))
        else:
            inner[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    return changed


def folder_changed(source, target, rng):
    """Write a changed copy of a model folder; four of five are sealed again, so that no checksum tells."""
    files = {path.name: path.read_bytes() for path in sorted(source.iterdir())}
    manifest = json.loads(files[MANIFEST])
    name = sorted(files)[rng.integers(len(files))]
    sealed = rng.random() < 0.8
    if name != MANIFEST or not sealed:
        files[name] = bytes_changed(files[name], rng)
    else:
        manifest = manifest_changed(manifest, rng)
    if sealed:
        manifest["files"] = {
            one: hashlib.sha256(content).hexdigest() for one, content in files.items() if one != MANIFEST
        }
        plain = {key: value for key, value in manifest.items() if key != "checksum"}
        seal = hashlib.sha256(json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
        files[MANIFEST] = json.dumps({**plain, "checksum": seal}).encode()
    target.mkdir(exist_ok=True)
    for one, content in files.items():
        (target / one).write_bytes(content)
