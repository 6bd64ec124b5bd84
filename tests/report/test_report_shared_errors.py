"""The sentences, the table and the picture of experts who make the same mistakes."""

from dataclasses import replace

import numpy as np
import pytest
from report_trials import NASTY, Reader, page_of, provenance, trial_and_record

from defero.judge import shared_errors, team_record
from defero.report import report_page
from defero.report.sections.skill import shared_errors as shared_errors_section

NAMES = (NASTY, "bob", "eve", "kim")


def section_with(copy=(), *, n=500, names=NAMES):
    """Return the section and the shared errors, if each (a, b) of `copy` gives the same answers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    right = rng.random((n, len(names))) < 0.75
    answers = np.where(right, labels[:, None], (labels[:, None] + rng.integers(1, 3, size=right.shape)) % 3)
    for a, b in copy:
        answers[:, b] = answers[:, a]
    errors = shared_errors(answers, labels, expert_names=names)
    _, record = trial_and_record()
    return Reader(shared_errors_section(replace(record, shared_errors=errors))), errors


def test_copies_are_named_in_plain_words_and_counted():
    read, errors = section_with([(0, 3)])
    assert f"{NASTY} and kim err together: count them as one person." in read.text
    (pair,) = errors.pairs
    row = read.rows("shared-errors")[f"{NASTY} and kim"]
    wrong = f"{pair.same_wrong} of {pair.both_wrong}"
    assert row == [f"{pair.correlation:.2f}", "100.0 %", "500", wrong, f"{pair.voices:.1f}", "p < 0.001"]


def test_the_page_has_the_section_and_copies_are_a_caution():
    assert "shared-errors" in Reader(page_of()).ids
    trial, _ = trial_and_record(300, NAMES, panel=False)
    answers = trial.answer_idx.copy()
    answers[:, 2] = answers[:, 0]
    # Whom the team asks must have answered: here nobody is asked.
    alone = replace(trial.decision, expert=np.full(len(trial), -1))
    trial = replace(trial, answer_idx=answers, decision=alone)
    record = team_record(trial, rng=np.random.default_rng(0))
    caution = f"{NASTY} and eve err together: count them as one person."
    assert caution in record.cautions
    assert Reader(report_page(trial, record, provenance())).text.count(caution) == 2


def test_a_group_is_one_sentence():
    read, errors = section_with([(0, 2), (2, 3)])
    assert errors.groups == ((0, 2, 3),)
    assert f"{NASTY}, eve and kim err together: count them as one person." in read.text
    assert read.text.count("err together: count") == 1
    assert len(read.rows("shared-errors")) == 3


def test_a_weaker_pair_counts_as_a_number_of_experts():
    _, errors = section_with([(0, 3)])
    _, record = trial_and_record()
    weaker = replace(errors.pairs[0], correlation=0.5)
    text = shared_errors_section(replace(record, shared_errors=replace(errors, pairs=(weaker,), groups=())))
    assert "kim often make the same mistakes" in text
    assert "about 1.3 experts" in text
    assert "count them" not in text


def test_independent_experts_are_not_listed():
    read, _ = section_with()
    assert "No two experts make the same mistakes" in read.text
    assert read.rows("shared-errors") == {}
    assert "fewer than four experts" not in read.text
    assert "fewer than four experts" in section_with(names=NAMES[:3])[0].text


@pytest.mark.parametrize(
    ("n", "names", "fact"),
    [
        (40, ("ann",), "only one expert"),
        (10, ("ann", "bob"), "No two experts share 20 cases"),
    ],
)
def test_little_gives_a_sentence(n, names, fact):
    read, _ = section_with(n=n, names=names)
    assert fact in read.text
