"""Who else: the sentences, the table and the picture of experts who err together."""

from dataclasses import replace

import numpy as np
import pytest
from report_trials import NASTY, Reader, page_of, provenance, trial_and_record

from defero.metrics import shared_errors, team_record
from defero.report import report_page
from defero.report.sections.shared_errors import shared_errors as who_else

NAMES = (NASTY, "bob", "eve", "kim")


def told_of(copy=(), *, n=500, names=NAMES):
    """Return what the section says, and what was found, once each (a, b) of `copy` gives the same answers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    right = rng.random((n, len(names))) < 0.75
    answers = np.where(right, labels[:, None], (labels[:, None] + rng.integers(1, 3, size=right.shape)) % 3)
    for a, b in copy:
        answers[:, b] = answers[:, a]
    found = shared_errors(answers, labels, expert_names=names)
    _, record = trial_and_record()
    return Reader(who_else(replace(record, shared_errors=found))), found


def test_copies_are_named_in_plain_words_and_counted():
    read, found = told_of([(0, 3)])
    assert f"{NASTY} and kim err together: count them as one person." in read.text
    (pair,) = found.pairs
    row = read.rows("alike")[f"{NASTY} and kim"]
    wrong = f"{pair.same_wrong} of {pair.both_wrong}"
    assert row == [f"{pair.correlation:.2f}", "100.0 %", "500", wrong, f"{pair.voices:.1f}", "p < 0.001"]
    assert any(name == "svg" and "every two experts" in values.get("aria-label", "") for name, values in read.tags)


def test_the_page_has_the_section_and_copies_are_a_caution():
    assert "alike" in Reader(page_of()).ids
    trial, _ = trial_and_record(300, NAMES, panel=False)
    answers = trial.answer_idx.copy()
    answers[:, 2] = answers[:, 0]
    # Whom the team asks must have answered: here nobody is asked.
    alone = replace(trial.decision, expert=np.full(len(trial), -1))
    trial = replace(trial, answer_idx=answers, decision=alone)
    record = team_record(trial, rng=np.random.default_rng(0))
    said = f"{NASTY} and eve err together: count them as one person."
    assert said in record.cautions
    assert Reader(report_page(trial, record, provenance())).text.count(said) == 2


def test_a_group_is_one_sentence():
    read, found = told_of([(0, 2), (2, 3)])
    assert found.groups == ((0, 2, 3),)
    assert f"{NASTY}, eve and kim err together: count them as one person." in read.text
    assert read.text.count("err together: count") == 1
    assert len(read.rows("alike")) == 3


def test_a_weaker_tie_is_told_in_voices():
    _, found = told_of([(0, 3)])
    _, record = trial_and_record()
    weaker = replace(found.pairs[0], correlation=0.5)
    told = who_else(replace(record, shared_errors=replace(found, pairs=(weaker,), groups=())))
    assert "and kim often err together: the two are worth about 1.3 voices." in told
    assert "count them" not in told


def test_strangers_are_said_to_be_strangers():
    read, _ = told_of()
    assert "No two experts err together more than the cases explain." in read.text
    assert read.rows("alike") == {}
    assert "With so few experts" not in read.text
    assert "With so few experts" in told_of(names=NAMES[:3])[0].text


@pytest.mark.parametrize(
    ("n", "names", "said"),
    [
        (40, ("ann",), "There is one expert alone: nobody to compare them with."),
        (10, ("ann", "bob"), "No two experts share 20 cases in which they could err: nothing can be said."),
    ],
)
def test_little_gives_a_sentence_and_no_picture(n, names, said):
    read, _ = told_of(n=n, names=names)
    assert said in read.text
    assert "svg" not in {name for name, _ in read.tags}


def test_of_forty_experts_the_caption_says_who_is_shown():
    read, _ = told_of(names=[f"reader {j}" for j in range(40)])
    assert "the 20 experts most alike, of 40" in read.text
