"""The page's verdicts: one test for each of them."""

from dataclasses import replace

import numpy as np
import pytest
from report_trials import Reader, provenance, trial_and_record

from defero.judge import compare
from defero.judge.intervals import Share
from defero.judge.record.cautions import no_better
from defero.judge.record.promise import PromiseRecord
from defero.report.sections.gain import gain, recall
from defero.report.sections.headline import cautions, headline, sentence
from defero.report.sections.load import load
from defero.report.sections.ways import panels


def against(won, lost, same=0):
    """Return a comparison in which the first alone is right `won` times, the second alone `lost` times."""
    first = [1] * won + [0] * lost + [1] * same
    second = [0] * won + [1] * lost + [1] * same
    return compare(first, second)


def head_with(comparison, **changes):
    _, record = trial_and_record()
    return Reader(headline(replace(record, gain=comparison, **changes), provenance())).text


def test_better():
    text = head_with(against(30, 5, 65))
    assert "The team is better than the model alone" in text
    assert "(McNemar's exact test, p < 0.001)" in text


def test_worse():
    assert "The team is worse than the model alone" in head_with(against(2, 15, 80))


@pytest.mark.parametrize(("won", "lost", "same", "p"), [(5, 4, 60, "p = 1"), (4, 0, 20, "p = 0.1"), (1, 0, 0, "p = 1")])
def test_not_to_be_told(won, lost, same, p):
    text = head_with(against(won, lost, same))
    assert "do not show whether the team is better" in text
    assert f"it may be chance (McNemar's exact test, {p}" in text
    assert "unlikely to be chance" not in text


def test_the_very_same_cases():
    assert "right on exactly the same cases" in head_with(against(0, 0, 40))


def test_nobody_asked():
    assert "No case was deferred" in head_with(against(0, 0, 40), coverage=1.0)


def test_no_experts():
    _, record = trial_and_record(40, (), panel=False)
    text = Reader(headline(record, provenance())).text
    assert "The team has no experts" in text
    assert "team is right" not in text


def test_the_interval_stands_beside_the_difference():
    _, record = trial_and_record()
    assert sentence(replace(record, gain=against(0, 0))).endswith(": – points.")
    varied = against(6, 0, 18)
    ends = f"{100 * varied.low:+.1f} to {100 * varied.high:+.1f}"
    assert sentence(replace(record, gain=varied)).endswith(f": +25.0 points (95\u00a0% interval {ends}).")


def test_the_sentence_has_the_records_numbers():
    _, record = trial_and_record()
    assert record.team != record.model  # else one could stand for the other
    team, model = (f"{100 * share.value:.1f}\u00a0%" for share in (record.team, record.model))
    start = f"On 120 held-out cases the team is right on {team}, the model alone on {model}: "
    assert sentence(record).startswith(start)


def test_what_the_head_has_said_is_no_caution_again():
    _, record = trial_and_record()
    unsure = against(5, 6, 60)
    repeated = no_better(unsure)
    assert "-1.4 points" in repeated
    shown = replace(record, gain=unsure, cautions=(repeated, "ann gains -0.5 points.", "Class -1 is rare."))
    assert Reader(cautions(shown)).words == [
        "Before you rely on this",
        "ann gains −0.5 points.",
        "Class -1 is rare.",
    ]
    assert cautions(replace(shown, cautions=(repeated,))) == ""
    nobody = replace(record, coverage=1.0, cautions=("No case was deferred: the team is the model alone here.",))
    assert cautions(nobody) == ""


@pytest.mark.parametrize(
    ("comparison", "kind"),
    [
        (against(30, 5, 65), "good"),
        (against(2, 15, 80), "bad"),
        (against(4, 0, 20), "unsure"),
        (against(1, 0), "unsure"),
    ],
)
def test_a_gain_is_coloured_only_beyond_chance(comparison, kind):
    trial, record = trial_and_record()
    # Without recorded answers there is no picture to draw.
    trial = replace(trial, answer_idx=np.full_like(trial.answer_idx, -1), decision=_nobody(trial))
    first, *others = record.experts
    changed = replace(record, experts=(replace(first, gain=comparison), *others))
    cell = Reader(gain(trial, changed)).cells("gain")[first.name]["team minus them, in points"]
    assert cell.kinds == {kind}


def _nobody(trial):
    return replace(trial.decision, expert=np.full(len(trial), -1))


def test_a_class_found_less_often_is_red_and_explained():
    _, record = trial_and_record()
    first, *others = record.recall
    assert "A difference in red" not in Reader(recall(record)).text
    worse = replace(first, team=replace(first.model, right=0), adjusted=0.01)
    read = Reader(recall(replace(record, recall=(worse, *others))))
    kinds = [row["difference in points"].kinds for row in read.cells("classes").values()]
    assert kinds == [{"bad"}, {"unsure"}, {"unsure"}]
    assert "A difference in red" in read.text


def test_every_word_of_a_promise_has_its_verdict():
    trial, record = trial_and_record()
    promises = (
        PromiseRecord(0.9, Share(20, 50), 4),
        PromiseRecord(0.5, Share(50, 50), 4),
        PromiseRecord(0.9, Share(9, 9)),
    )
    experts = tuple(replace(one, promise=promise) for one, promise in zip(record.experts, promises, strict=True))
    total = replace(
        record.promises, model=PromiseRecord(0.9, Share(45, 50), 4), total=PromiseRecord(0.9, Share(70, 100))
    )
    cells = Reader(load(trial, replace(record, experts=experts, promises=total))).cells("load")
    shown = {name: str(row["verdict"]) for name, row in cells.items()}
    names = [expert.name for expert in record.experts]
    assert shown == {
        "the team": "less than promised",
        "the model": "as promised",
        names[1]: "more than promised",
        names[0]: "less than promised",
        names[2]: "too few to tell",
    }
    assert [name for name, row in cells.items() if "bad" in row["verdict"].kinds] == ["the team", names[0]]


@pytest.mark.parametrize(
    ("verdict", "fact"),
    [
        ("less", "The promise was not kept"),
        ("as promised", "agrees with the promise"),
        ("too few", "too few cases to tell"),
        (None, "No deferred case here shows"),
    ],
)
def test_what_became_of_the_panels_promise(verdict, fact):
    trial, record = trial_and_record()
    # No deferred case, no picture.
    panel = replace(record.panel, kept_promise=verdict, deferred=0)
    assert fact in Reader(panels(trial, replace(record, panel=panel))).text


def test_at_most_where_a_share_is_missed():
    trial, record = trial_and_record()
    panel = replace(record.panel, target="missed-share", asked_for=0.2, deferred=0)
    rows = Reader(panels(trial, replace(record, panel=panel))).rows("panels")
    assert rows["promised"] == ["at most 20.0 %"]


def test_panels_that_were_not_judged_are_not_denied():
    trial, record = trial_and_record(3, ("ann", "bob"), panel=False)
    note = "Its panels were calibrated inside groups and are not judged here: no groups were given."
    text = Reader(panels(trial, replace(record, panel_note=note))).text
    assert note in text
    assert "no panel" not in text
    assert "This team has no panel" in Reader(panels(trial, record)).text
