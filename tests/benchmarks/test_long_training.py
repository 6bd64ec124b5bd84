"""Long trainings: the queue by a clock of its own, and heads that are learned together beside separate runs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.long_training.cifar10 import LongRuns
from benchmarks.long_training.queue import MARGIN, Job, work
from benchmarks.many_experts.heads_together import joined_net, run_heads_together, teams_of
from benchmarks.many_experts.methods import METHODS
from benchmarks.many_experts.records import append_run, read_runs, run_key
from benchmarks.many_experts.training import WIDE, Nets, run

from defero_verma2023.training.cifar10_parts import Cifar10Parts


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def job(self, name, size, seconds):
        def run():
            self.now += seconds

        return Job(name, size, run)


def test_no_job_begins_that_would_not_end_in_time():
    clock, lines = Clock(), []
    jobs = [clock.job("first", 10, 10), clock.job("long", 100, 100), clock.job("short", 20, 20)]
    assert work(jobs, seconds=10 + 100 * MARGIN - 1, pace=1.0, say=lines.append, clock=clock) == ["first", "short"]
    assert clock.now == 30
    assert lines[1] == "no time for long: about 108 s, 107 s are left."


def test_the_slower_of_the_last_two_jobs_is_the_pace_and_the_first_does_not_count():
    clock = Clock()
    jobs = [
        clock.job(name, 10, seconds) for name, seconds in (("compiles", 90), ("slow", 50), ("fast", 10), ("last", 10))
    ]
    # After 150 s the slow one still counts: the last needs 54 s, and not 97 s as the first would.
    assert work(jobs, seconds=150 + 50 * MARGIN - 1, pace=1.0, say=str, clock=clock) == ["compiles", "slow", "fast"]
    clock.now = 0.0
    assert work(jobs, seconds=150 + 50 * MARGIN, pace=1.0, say=str, clock=clock)[-1] == "last"


def test_a_job_that_fails_is_named_and_the_next_one_begins():
    def fails():
        raise ValueError("no picture")

    lines = []
    assert work([Job("a", 1, fails), Job("b", 1, lambda: None)], seconds=9, pace=1.0, say=lines.append) == ["b"]
    assert lines[0] == "failed: a: ValueError: no picture"


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    sizes = {"train": 96, "validation": 40, "test": 50}
    pictures = {
        part: torch.from_numpy(rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)) for part, n in sizes.items()
    }
    return Cifar10Parts(pictures, {part: rng.integers(0, 10, n) for part, n in sizes.items()})


SMALL = Nets("wrn-10-1", replace(WIDE.settings, epochs=2, batch_size=32))


def test_heads_learned_together_are_those_of_separate_runs(parts):
    together = run_heads_together(parts, n_experts=(2, 3), seed=1, nets=SMALL)
    assert [(one["method"], one["n_experts"]) for one in together] == [("classifier", 0), ("heads", 2), ("heads", 3)]
    for one in together:
        alone = run(parts, METHODS[one["method"]], n_experts=one["n_experts"], seed=1, nets=SMALL)
        for name in ("class_accuracy", "system_accuracy", "coverage"):
            assert one[name] == alone[name]
        assert one["ece"] == pytest.approx(alone["ece"], abs=1e-5, nan_ok=True)
        assert run_key(one) == run_key(alone)


def test_a_joined_net_starts_as_the_teams_do():
    pictures = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    for n, team in zip((2, 3), teams_of(joined_net("wrn-10-1", (2, 3), seed=1), (2, 3)), strict=True):
        own = joined_net("wrn-10-1", (n,), seed=1)
        torch.testing.assert_close(team.eval()(pictures).experts, own.eval()(pictures).experts)


def test_runs_that_are_there_are_not_made_again(parts, tmp_path):
    queue = LongRuns(parts, tmp_path, [tmp_path / "earlier.jsonl"], {})
    names = [job.name for job in queue.jobs()]
    assert names[:3] == [
        "features of CIFAR-10's test pictures",
        "ova, 20 experts, 72 epochs, seed 1",
        "softmax, 20 experts, 72 epochs, seed 1",
    ]
    record = {"method": "ova", "n_experts": 20, "seed": 1, "net": "wrn-28-4", "settings": {"epochs": 72}}
    append_run(tmp_path / "many_experts.jsonl", record)
    append_run(tmp_path / "earlier.jsonl", record | {"method": "softmax"})
    (tmp_path / "features.npy").touch()
    left = LongRuns(parts, tmp_path, [tmp_path / "earlier.jsonl"], {}).jobs()
    assert [job.name for job in left] == names[3:]


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"seed": 1}\n{"seed": 2', encoding="utf-8")
    assert read_runs(path) == [{"seed": 1}]
    assert read_runs(tmp_path / "none.jsonl") == []
