"""The walk over runs: what is planned, what is made again, what is kept, with a trainer that trains nothing."""

import json
import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defero import InputError
from defero.study.engines import engine_by_name
from defero_verma2023 import training_runs
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.methods import METHODS
from defero_verma2023.runs.plan import Plan, plans_of
from defero_verma2023.runs.record import RunKey, RunRecord, append_record, missing, read_records
from defero_verma2023.runs.trained_team import TrainedTeam, kept_path, load_team, save_team
from defero_verma2023.runs.trainer import Task, Trainer, trainer_of

N = 40


class Bench:
    """A trainer whose networks are random numbers; it counts what it is asked for."""

    def __init__(self, *, stop_after: int | None = None) -> None:
        self.asked: list[Task] = []
        self.loads: list[tuple[int, str]] = []
        self.stop_after = stop_after

    def trainer(self) -> Trainer:
        return Trainer({"net": METHODS}, self.load, self.train)

    def load(self, seed: int, protocol: str) -> int:
        self.loads.append((seed, protocol))
        return seed

    def train(self, data: int, task: Task) -> TrainedTeam:
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(task)
        rng = np.random.default_rng(task.seed)

        def outputs() -> TeamOutputs:
            labels = rng.integers(0, 10, N)
            n_experts = 0 if task.pool is None else task.pool.n_experts
            answers = np.empty((N, 0), dtype=np.int64) if task.pool is None else task.pool.draw(labels, rng=rng)
            link = "decoupled" if task.method == "two-stage" else "softmax"
            return TeamOutputs(link, rng.normal(size=(N, 10)), rng.normal(size=(N, n_experts)), answers, labels)

        return TrainedTeam(outputs(), outputs(), 1.5, {"epochs": 2})


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench()
    monkeypatch.setattr(training_runs, "trainer_of", lambda data_set, *, quick: made.trainer())
    return made


def random_trainer(data_set: str, *, quick: bool) -> Trainer:
    """Return a trainer that a worker can make for itself."""
    return Bench().trainer()


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_make_the_same_runs(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_runs, "trainer_of", random_trainer)
    plan = small_plan("ova", "softmax")
    here = training_runs.run_plan(plan, results=tmp_path / "here.jsonl", say=nothing)
    lines: list[str] = []
    shared = {"outputs": tmp_path / "kept", "engine": engine_by_name("local", workers=workers), "say": lines.append}
    elsewhere = training_runs.run_plan(plan, results=tmp_path / "there.jsonl", **shared)
    assert elsewhere == here
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 8
    assert sorted(line.split(" done: ")[0] for line in lines[1:]) == [f"{n} of 8" for n in range(1, 9)]
    training_runs.run_plan(plan, results=tmp_path / "there.jsonl", **shared)
    assert lines[-1] == "sim2: 8 runs, 8 of them done before."


def small_plan(*methods: str) -> Plan:
    return Plan(EXPERIMENTS["sim2"], methods, (0, 1), (0.2, 0.8))


def nothing(line: str) -> None:
    pass


def test_runs_are_made_once_and_read_back(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "sim2.jsonl"
    records = training_runs.run_plan(small_plan("ova", "softmax"), results=results, say=nothing)
    assert [(record.method, record.setting, record.seed) for record in records] == [
        (method, setting, seed) for seed in (0, 1) for method in ("ova", "softmax") for setting in (0.2, 0.8)
    ]
    assert len(bench.asked) == 8
    assert bench.loads == [(0, "as_published"), (1, "as_published")]
    again = training_runs.run_plan(small_plan("ova", "softmax"), results=results, say=nothing)
    assert len(bench.asked) == 8
    assert again == records
    assert all("system_accuracy" in record.measures and record.versions for record in records)


def test_a_walk_that_is_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, kept = tmp_path / "sim2.jsonl", tmp_path / "kept"
    first = Bench(stop_after=3)
    monkeypatch.setattr(training_runs, "trainer_of", lambda data_set, *, quick: first.trainer())
    with pytest.raises(KeyboardInterrupt):
        training_runs.run_plan(small_plan("softmax"), results=results, outputs=kept, say=nothing)
    assert len(list(kept.glob("*.npz"))) == 3
    second = Bench()
    monkeypatch.setattr(training_runs, "trainer_of", lambda data_set, *, quick: second.trainer())
    records = training_runs.run_plan(small_plan("softmax"), results=results, outputs=kept, say=nothing)
    assert len(second.asked) == 1  # the other three were kept
    assert len(records) == 4


def test_a_team_that_was_made_elsewhere_says_so(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"machine": {"gpu": "big"}, "versions": {"torch": "2"}, "command": "defero y"}
    trained = bench.train
    monkeypatch.setattr(bench, "train", lambda data, task: replace(trained(data, task), made=made))
    (record, *_) = training_runs.run_plan(small_plan("one classifier"), results=tmp_path / "sim2.jsonl", say=nothing)
    assert (record.machine, record.versions, record.command) == tuple(made.values())


def test_kept_outputs_come_back_as_they_were(tmp_path: Path) -> None:
    task = Task(EXPERIMENTS["sim2"].pool(0.4, 0, "as_published"), "ova", "net", 0)
    team = replace(Bench().train(0, task), made={"command": "defero x"})
    save_team(tmp_path / "a.npz", team)
    back = load_team(tmp_path / "a.npz")
    assert back.made == team.made
    assert back.recipe == team.recipe
    assert np.array_equal(back.test.answers, team.test.answers)
    assert np.array_equal(back.test.expert_logits, team.test.expert_logits.astype(np.float32))
    (tmp_path / "b.npz").write_bytes(b"no such thing")
    with pytest.raises(InputError, match=r"b\.npz holds no outputs of a run .* remove it to train the run again"):
        load_team(tmp_path / "b.npz")


def record(**changes: Any) -> RunRecord:
    plain = RunRecord("sim1", "ova", 4.0, 0, "as_published", "net", {"ece": 0.01, "list": [0.5, math.nan]}, 1.0)
    return replace(plain, **changes)


def test_a_record_without_a_number_is_strict_json(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    append_record(path, record())
    assert json.loads(path.read_text(), parse_constant=pytest.fail)["measures"] == {"ece": 0.01, "list": [0.5, None]}
    (back,) = read_records(path)
    assert back.measures["ece"] == 0.01
    assert math.isnan(back.measures["list"][1])


def test_a_line_cut_off_is_made_again_and_a_later_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    append_record(path, record())
    append_record(path, record(seconds=2.0))
    with path.open("a") as file:
        file.write('{"experiment": "sim1", "met')
    (found,) = read_records(path)
    assert found.seconds == 2.0
    append_record(path, record(seed=1))
    with pytest.raises(InputError, match=r"runs\.jsonl, line 3 is no run"):
        read_records(path)


def test_what_is_missing_keeps_its_order() -> None:
    keys = [record(seed=seed).key for seed in (2, 0, 1)]
    assert list(missing(keys, [record(seed=0)])) == [keys[0], keys[2]]


def test_no_file_holds_no_runs(tmp_path: Path) -> None:
    assert read_records(tmp_path / "absent.jsonl") == ()


def test_the_paper_s_losses_are_run_everywhere_and_the_others_where_it_is_said() -> None:
    first, rest = plans_of(EXPERIMENTS["oracles"])
    assert first.methods == ("ova", "softmax")
    assert first.settings == EXPERIMENTS["oracles"].settings
    assert rest.settings == (0.0, 4.0)
    assert set(rest.methods) == set(METHODS) - set(first.methods)
    (only,) = plans_of(EXPERIMENTS["oracles"], methods=("moe",), seeds=(7,))
    assert (only.methods, only.seeds, only.settings) == (("moe",), (7,), EXPERIMENTS["oracles"].settings)


def test_settings_can_be_chosen_among_those_of_the_experiment():
    (ends,) = plans_of(EXPERIMENTS["sim2"], methods=("ova",), settings=(0.95, 0.2))
    assert ends.settings == (0.2, 0.95)
    with pytest.raises(InputError, match=r"among 0\.2, 0\.4, 0\.6, 0\.8, 0\.95, got 0\.3"):
        plans_of(EXPERIMENTS["sim2"], settings=(0.3,))


def test_quick_is_three_settings_of_one_seed() -> None:
    (plan,) = plans_of(EXPERIMENTS["sim1"], quick=True)
    assert (plan.methods, plan.seeds, plan.settings) == (("ova", "softmax"), (0,), (1.0, 12.0, 20.0))


def test_all_cifar_figures_are_216_runs_of_the_two_losses() -> None:
    trainer = Bench().trainer()
    cifar = [one for one in EXPERIMENTS.values() if one.data_set == "cifar10"]
    assert sum(len(list(plans_of(one)[0].keys(trainer))) for one in cifar) == 216


def test_a_figure_s_quick_runs_are_kept_apart(bench: Bench, tmp_path: Path) -> None:
    training_runs.run_figure("fig2c", quick=True, out=tmp_path, say=nothing)
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["sim2_quick.jsonl"]


def test_runs_with_other_epochs_are_other_runs(bench: Bench, tmp_path: Path) -> None:
    options: dict[str, Any] = {"methods": ("ova",), "seeds": (0,), "out": tmp_path, "outputs": tmp_path / "kept"}
    training_runs.run_figure("fig2c", epochs=1, say=nothing, **options)
    assert len(bench.asked) == 5
    training_runs.run_figure("fig2c", say=nothing, **options)
    assert len(bench.asked) == 10
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["sim2.jsonl", "sim2_1-epochs.jsonl"]
    assert (
        len(list((tmp_path / "kept" / "1-epochs").glob("*.npz"))) == len(list((tmp_path / "kept").glob("*.npz"))) == 5
    )


def test_the_protocol_reaches_the_data(bench: Bench, tmp_path: Path) -> None:
    plan = replace(small_plan("ova"), protocol="as_written", seeds=(3,))
    training_runs.run_plan(plan, results=tmp_path / "sim2.jsonl", say=nothing)
    assert bench.loads == [(3, "as_written")]


@pytest.mark.parametrize("data_set", ["hatespeech", "galaxyzoo"])
def test_people_as_written_are_one_for_each_expert(data_set: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(f"defero_verma2023.training.{data_set}")
    monkeypatch.setattr(module, "load", lambda seed, *, protocol, **options: (seed, protocol))
    if data_set == "hatespeech":
        module._parts.cache_clear()
    for protocol in ("as_published", "as_written"):
        assert trainer_of(data_set, quick=True).load(0, protocol) == (0, protocol)
    if data_set == "hatespeech":
        module._parts.cache_clear()


def test_a_method_that_a_data_set_does_not_have_is_refused_at_once(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"methods of this data set are ova, .*, got 'forest'"):
        training_runs.run_figure("fig2c", methods=("ova", "forest"), out=tmp_path, say=nothing)
    assert not bench.asked


@pytest.mark.parametrize("data_set", ["cifar10", "hatespeech", "ham10000", "galaxyzoo"])
@pytest.mark.parametrize("quick", [False, True])
def test_every_data_set_has_a_workshop_for_every_method(data_set: str, quick: bool) -> None:
    trainer = trainer_of(data_set, quick=quick)
    assert all(trainer.nets_of(method) for method in METHODS)


def test_names_of_kept_files_are_plain() -> None:
    key = RunKey("ham10000", "two-stage", 10.0, 1, "as_written", "efficientnet-lite0, frozen")
    assert kept_path(Path("kept"), key).name == "ham10000_two-stage_10_1_as_written_efficientnet-lite0,-frozen.npz"


def test_what_was_trained_before_ctrl_c_is_measured_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "sim2.jsonl"
    first = Bench(stop_after=3)
    monkeypatch.setattr(training_runs, "trainer_of", lambda data_set, *, quick: first.trainer())
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        training_runs.run_plan(small_plan("softmax"), results=results, say=lines.append)
    assert len(read_records(results)) == 3
    assert any("stopped; what is trained is measured and kept in" in line for line in lines)
    assert [line for line in lines if line.startswith("3 of 4 done: softmax, p_in 0.2, seed 1")]


def test_a_file_in_place_of_the_folder_is_told_before_any_training(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match=r"taken cannot be the folder of the results .*; name another"):
        training_runs.run_figure("fig2c", quick=True, out=tmp_path / "taken", say=nothing)
    assert not bench.asked
