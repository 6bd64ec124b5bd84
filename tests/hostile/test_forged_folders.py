"""What `save` writes, byte by byte; and thousands of forged folders: refused in one sentence, or harmless.

`make slow` forges 2,000 folders and writes results/forged.json; 200 of them run with the other tests.
"""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from forged import save_kinds
from forged_worker import MORE_BYTES
from safetensors.numpy import load
from test_fuzz import RESULTS, SEED, run_part

from defero import DeferralClassifier, Recipe, Team
from defero.data.model_folder import MANIFEST, WEIGHTS

MANY, FEW, SECONDS = 2_000, 200, 2.0
HAS_ONNX = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript", "onnxruntime"))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    save_kinds(folder)
    return folder


def read_every_byte(folder):
    """Read the files of a model folder to their last byte, each by its own public format, and return their names."""
    manifest = json.loads((folder / MANIFEST).read_bytes().decode("utf-8"), parse_constant=pytest.fail)
    assert isinstance(manifest, dict)
    content = (folder / WEIGHTS).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length].decode("utf-8"))
    spans = sorted(entry["data_offsets"] for name, entry in header.items() if name != "__metadata__")
    assert set(header.get("__metadata__", {})) == set()
    end = 0
    for start, stop in spans:  # one array after the other, without a byte between them
        assert start == end
        end = stop
    assert 8 + length + end == len(content)
    assert {array.dtype.kind for array in load(content).values()} <= set("biuf")
    names = sorted(path.name for path in folder.iterdir())
    if "net.onnx" in names:
        import onnx

        net = onnx.load_from_string((folder / "net.onnx").read_bytes())
        onnx.checker.check_model(net)
        assert net.ByteSize() == (folder / "net.onnx").stat().st_size
        assert not [one for one in net.graph.initializer if one.external_data]
    assert set(names) <= {MANIFEST, WEIGHTS, "net.onnx"}
    return names


def test_a_folder_is_json_and_arrays_to_the_last_byte(models):
    folders = sorted(models.iterdir())
    assert [path.name for path in folders] == ["forests", "linear", "net", "shared", "table"]
    for folder in folders:
        assert read_every_byte(folder) == [MANIFEST, WEIGHTS]


@pytest.mark.skipif(not HAS_ONNX, reason="the extra `onnx` is not installed")
def test_nets_add_nothing_but_onnx(tmp_path):
    rng = np.random.default_rng(0)
    pictures, labels = rng.integers(0, 256, (40, 8, 8, 3), dtype=np.uint8), np.arange(40) % 3
    said = np.where(rng.random((40, 2)) < 0.8, labels[:, None], 0)
    fitted = DeferralClassifier("wrn-10-1", recipe=Recipe(max_epochs=1), random_state=0)
    fitted.fit(pictures, labels, experts=said)
    fitted.save(tmp_path / "named")
    assert read_every_byte(tmp_path / "named") == [MANIFEST, WEIGHTS]
    fitted.export_onnx(tmp_path / "exported")
    assert read_every_byte(tmp_path / "exported") == [MANIFEST, "net.onnx", WEIGHTS]


def test_what_is_forged_holds_every_part(models):
    """The law with copies and a decoy, forests of experts, a recipe with words, panels with fees and costs, ..."""
    team = Team.load(models / "table")
    assert len(np.unique(team.law.copies)) < len(team.law.copies)
    assert team.scorer.skill.trees is not None
    assert team.panel.fees == (0.02, 0.0, 0.0, 0.0, 0.05)
    assert team.panel.cost_matrix is not None
    assert team.calibrator is not None
    assert team.selection is not None
    assert team.recipe.text
    assert {"fit", "calibrate", "add_expert", "partial_fit", "conformalize"} <= set(team.seen)
    arrays = load((models / "table" / WEIGHTS).read_bytes())
    assert len(arrays) > 40


def forge_many(models, folder, count):
    lines = run_part(models, folder / "lines.jsonl", 0, count, worker="forged_worker.py")
    assert len(lines) == count
    odd = [line for line in lines if line["outcome"] not in ("fine", "error") or line["seconds"] > SECONDS]
    assert not odd
    return lines


def test_a_few_forged_folders(models, tmp_path):
    outcomes = Counter(line["outcome"] for line in forge_many(models, tmp_path, FEW))
    assert min(outcomes["fine"], outcomes["error"]) > FEW / 10


@pytest.mark.slow
def test_many_forged_folders(models, tmp_path):
    lines = forge_many(models, tmp_path, MANY)
    outcomes = Counter(line["outcome"] for line in lines)
    kinds = {}
    for line in lines:
        kinds.setdefault(line["kind"].split(", ")[1], Counter())[line["outcome"]] += 1
    facts = {
        "command": "make slow (tests/hostile/test_forged_folders.py)",
        "seed": SEED,
        "folders": len(lines),
        "refused": outcomes["error"],
        "harmless": outcomes["fine"],
        "most CPU seconds": round(max(line["seconds"] for line in lines), 1),
        "limits": {"CPU seconds a folder": SECONDS, "bytes reserved beyond the start": MORE_BYTES},
        "kinds": {kind: dict(sorted(counts.items())) for kind, counts in sorted(kinds.items())},
        "versions": {"python": sys.version.split()[0], "numpy": np.__version__},
    }
    (Path(RESULTS).parent / "forged.json").write_text(json.dumps(facts, indent=1) + "\n")
    assert outcomes["error"] + outcomes["fine"] == MANY
    assert min(outcomes.values()) > MANY / 10
