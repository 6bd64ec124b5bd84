"""Every system of the people's table, on a tiny crowd: what it may look at, whom it may ask, and what it gives."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.people.crowd import Crowd
from benchmarks.people.discover import all_sets, all_systems, chosen, in_order
from benchmarks.people.shares import shrunk_shares
from benchmarks.people.system import KINDS, System
from benchmarks.people.trial import run_trial
from tiny_crowd import tiny_crowd, tiny_table

from defero import Answer, ExpertTable, InputError

SYSTEMS = {system.name: system for system in all_systems()}
ONE_AT_MOST = [name for name, system in SYSTEMS.items() if not system.hears_all and "panel" not in name]
QUICK = ("model alone", "random annotator", "best annotator", "plain rule", "majority of all", "two-stage")


@pytest.fixture(scope="module")
def split():
    return tiny_crowd().fold(0)


def answered(name, fold):
    """Run a system as the benchmark does, and keep what it said."""
    kept = []

    def run(fold):
        kept.append(SYSTEMS[name].run(fold))
        return kept[0]

    labels = fold.train.classes[np.zeros(len(fold), dtype=int)]
    return kept[0] if run_trial("tiny", replace(SYSTEMS[name], run=run), fold, labels) else None


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_keeps_the_contract(name, split):
    fold, labels = split
    answer = answered(name, fold)
    assert answer.label.shape == answer.confidence.shape == (len(fold),)
    assert set(answer.label) <= set(fold.train.classes)
    assert ((answer.confidence >= 0) & (answer.confidence <= 1)).all()
    assert answer.heard.shape == fold.observed.shape
    assert not (answer.heard & ~fold.observed).any()
    questions = answer.heard.sum(axis=1)
    if SYSTEMS[name].hears_all:
        assert (answer.heard == fold.observed).all()
    elif name in ONE_AT_MOST:
        assert questions.max() <= 1
        rows, who = np.nonzero(answer.heard)
        assert (answer.label[rows] == fold.train.classes[fold.answer_idx[rows, who]]).all()
    assert (answer.label == labels).mean() > 0.6


def test_what_each_reference_asks(split):
    fold, _ = split
    anybody = fold.observed.any(axis=1)
    assert not answered("model alone", fold).heard.any()
    for name in ("random annotator", "best annotator"):
        assert (answered(name, fold).heard.any(axis=1) == anybody).all()
    best = answered("best annotator", fold).heard.argmax(axis=1)[anybody]
    shares = np.where(fold.observed, (fold.train.correct.sum(0) + 1) / (fold.train.answer_counts + 2), 0)[anybody]
    assert (shares[np.arange(len(best)), best] == shares.max(axis=1)).all()


def test_the_plain_rule_by_hand():
    """Two experts, 8 of 8 and 4 of 8 right: the mean is 3/4, so (8 + 6) / 16 and (4 + 6) / 16."""
    labels = np.array([0, 1] * 4)
    answers = np.column_stack([labels, np.where(np.arange(8) < 4, labels, 1 - labels)])
    assert shrunk_shares(ExpertTable(labels, answers)).tolist() == [14 / 16, 10 / 16]


def test_the_plain_rule_asks_the_best_who_is_better_than_the_model(split):
    fold, _ = split
    answer, shares = answered("plain rule", fold), shrunk_shares(fold.train)
    model = answered("model alone", fold).confidence
    there = np.where(fold.observed, shares, -1.0)
    expected = np.where(there.max(axis=1) >= model, there.argmax(axis=1), -1)
    assert (np.where(answer.heard.any(axis=1), answer.heard.argmax(axis=1), -1) == expected).all()


def test_an_even_vote_goes_to_the_more_reliable():
    labels = np.array([0, 1] * 20)
    answers = np.column_stack([labels, np.where(np.arange(40) % 4 < 2, labels, 1 - labels)])
    fold, truth = Crowd(ExpertTable(labels, answers, np.zeros((40, 1)))).fold(0)
    assert (answered("majority of all", fold).label == truth).all()


def test_groups_stay_on_one_side():
    table = tiny_table()
    groups = np.arange(len(table)) // 4
    crowd = Crowd(ExpertTable(table.labels, table.answers, np.column_stack([groups, table.features])), groups=groups)
    fold, _ = crowd.fold(0)
    part, held = fold.cut()
    seen = [set(features[:, 0]) for features in (part.train.features, held.features, fold.features)]
    assert len(set.union(*seen)) == sum(map(len, seen))
    assert set(part.groups) == seen[0]
    assert len(answered("two-stage, recalibrated", fold)) == len(fold)


def test_a_split_is_70_to_30_and_shows_no_labels_of_the_test_part():
    fold, labels = tiny_crowd().fold(3)
    again, _ = tiny_crowd().fold(3)
    assert len(fold.train) == pytest.approx(112, abs=2)
    assert len(fold) == len(labels) == 160 - len(fold.train)
    assert (again.answer_idx == fold.answer_idx).all()
    part, held = fold.cut()
    assert len(part.train) + len(held) == len(fold.train)
    assert len(held) == pytest.approx(0.2 * len(fold.train), abs=2)


def test_features_are_reduced_by_the_training_part_alone():
    asked = []

    def halve(train, test):
        asked.append((len(train), len(test)))
        return train[:, :1], test[:, :1]

    fold, _ = Crowd(tiny_table(), reduce=halve).fold(0)
    assert asked == [(len(fold.train), len(fold))]
    assert fold.train.features.shape[1] == fold.features.shape[1] == 1


def test_a_system_that_hears_the_unrecorded_is_caught(split):
    fold, labels = split

    def nosy(fold):
        return Answer(labels, np.ones(len(labels)), np.ones(fold.observed.shape, dtype=bool))

    with pytest.raises(InputError, match="nosy: it heard an expert whose answer is not recorded"):
        run_trial("tiny", System("nosy", nosy, kind="ours"), fold, labels)

    def short(fold):
        return Answer(labels, np.ones(len(labels)), np.zeros((len(labels), 1), dtype=bool))

    with pytest.raises(InputError, match="short: heard must have the shape"):
        run_trial("tiny", System("short", short, kind="ours"), fold, labels)


def test_what_a_trial_says(split):
    """Half of the items asked, three quarters promised, all of these kept, and all others wrong."""
    fold, labels = split
    asks = fold.observed.any(axis=1) & (np.cumsum(fold.observed.any(axis=1)) % 2 == 0)

    def run(fold):
        heard = np.zeros(fold.observed.shape, dtype=bool)
        heard[asks, fold.observed[asks].argmax(axis=1)] = True
        return Answer(np.where(asks, labels, 1 - labels), np.where(asks, 0.75, 0.1), heard)

    trial = run_trial("tiny", System("some", run, kind="ours"), fold, labels)
    assert (trial.promised, trial.kept) == (0.75, 1)
    assert trial.accuracy == trial.questions == trial.asked == asks.mean()
    assert trial.smooth_error == pytest.approx(0.25, abs=0.01)
    silent = run_trial("tiny", System("some", run, kind="ours", promises=False), fold, labels)
    assert np.isnan([silent.promised, silent.kept, silent.smooth_error]).all()


def test_a_trial_by_category(split):
    """Everything is called class 1: no class-1 case is missed, and every case of class 0 is a false alarm."""
    fold, labels = split
    side = np.where(np.arange(len(labels)) < 10, "left", "right").astype(object)

    def ones(fold):
        return Answer(np.ones(len(labels), int), np.ones(len(labels)), np.zeros(fold.observed.shape, dtype=bool))

    trial = run_trial("tiny", System("ones", ones, kind="ours"), fold, labels, {"side": side})
    assert list(trial.strata) == ["side: left", "side: right"]
    for name, own in trial.strata.items():
        rows = side == name.removeprefix("side: ")
        assert own == {
            "n": rows.sum(),
            "accuracy": pytest.approx((labels[rows] == 1).mean()),
            "asked": 0,
            "false_alarms": 1,
            "missed": 0,
        }


def test_files_are_found_by_being_there():
    assert [one.name for one in all_sets()] == [
        "sentiment-polarity-crowd", "keswani-toxicity", "recidivism-people", "labelme-crowd", "chexpert-readers",
        "cifar10h", "cifar10h-vgg", "lewidi-hs-brexit", "lewidi-md-agreement",
    ]  # fmt: skip
    assert list(SYSTEMS)[:4] == ["model alone", "random annotator", "best annotator", "plain rule"]
    assert len(SYSTEMS) == len(all_systems()) == 31
    assert [system.kind for system in all_systems()] == sorted(
        (system.kind for system in all_systems()), key=KINDS.index
    )
    assert in_order(reversed(all_systems()))[0].name == "model alone"
    picked = chosen(all_systems(), ["plain rule", "model alone"], what="--systems")
    assert [one.name for one in picked] == ["model alone", "plain rule"]
    with pytest.raises(InputError, match=r"--systems must be among model alone; .*; got 'nobody'"):
        chosen(all_systems(), ["nobody"], what="--systems")
