"""Panels where questions cost something: the promise holds for these fees, and an empty panel minds them too."""

import numpy as np
import pytest

from defero import Team, Terms

FEES = [0.15, 0.0, 0.05]
TERMS = Terms(fees=FEES)


def team_of(proba, right):
    """A team whose features are the numbers of rows."""
    return Team.from_probabilities(
        lambda rows: proba[rows[:, 0].astype(int)],
        lambda rows: right[rows[:, 0].astype(int)],
        classes=[0, 1],
        expert_names=["ann", "bob", "cat"],
    )


def simulated(n, seed):
    """A team, labels and answers of n cases, drawn from what it believes."""
    rng = np.random.default_rng(seed)
    model = rng.uniform(0.5, 1.0, n)
    right = rng.uniform(0.3, 0.98, (n, 3))
    label = rng.integers(2, size=n)
    says = np.where(rng.random(n) < model, label, 1 - label)
    proba = np.where(np.arange(2) == says[:, None], model[:, None], 1 - model[:, None])
    said = np.where(rng.random((n, 3)) < right, label[:, None], 1 - label[:, None])
    return team_of(proba, right), label, said


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_the_promise_holds_on_the_cases_that_these_fees_defer(alpha):
    """Where anybody is right, somebody on the panel is, in 1 - alpha or more of cases on average."""
    kept = []
    for seed in range(60):
        team, label, said = simulated(1_200, seed)
        rows = np.arange(1_200)[:, None]
        old, new = rows[:200], rows[200:]
        team.conformalize(old, label[:200], said[:200], alpha=alpha, terms=TERMS, disjoint=True)
        deferred = team.decide(new, terms=TERMS).deferred
        assert 0.2 < deferred.mean() < 0.9
        right = (said == label[:, None])[200:][deferred]
        panels = team.predict_set(new, terms=TERMS, fill_empty=False).mask[deferred]
        kept.append((panels & right).any(axis=1)[right.any(axis=1)].mean())
    error = np.std(kept, ddof=1) / len(kept) ** 0.5
    assert np.mean(kept) > 1 - alpha - 3 * error
    assert np.mean(kept) < 1 - alpha + 0.04  # no panel of everybody


def test_fees_settle_which_cases_the_promise_is_for():
    team, label, said = simulated(2_000, 0)
    rows = np.arange(2_000)[:, None]
    panels = {
        fees: team.copy().conformalize(rows, label, said, terms=Terms(fees=fees), disjoint=True).panel
        for fees in [(0.0, 0.0, 0.0), tuple(FEES)]
    }
    counts = [sum(panel.predictor.n_rows_.values()) for panel in panels.values()]
    free, dear = (int(team.decide(rows, terms=Terms(fees=fees)).deferred.sum()) for fees in panels)
    assert dear < free
    assert counts[1] < counts[0]
    assert panels[tuple(FEES)].fees == tuple(FEES)


def filled_team():
    """Three of four cases have good experts; the others have none, and their panels are empty."""
    rng = np.random.default_rng(0)
    n = 4_000
    good = np.arange(n) % 4 < 3
    right = np.where(good[:, None], [0.97, 0.96, 0.95], [0.62, 0.58, 0.55])
    label = rng.integers(2, size=n)
    said = np.where(rng.random((n, 3)) < right, label[:, None], 1 - label[:, None])
    team = team_of(np.full((n, 2), 0.5), right)
    return team, np.arange(n)[:, None], label, said, good


def test_an_empty_panel_gets_who_is_worth_most_after_fees():
    team, rows, label, said, good = filled_team()
    old, new = slice(0, 2_000), slice(2_000, 4_000)
    for fees, who in (([0.0, 0.0, 0.0], "ann"), ([0.05, 0.0, 0.0], "bob"), ([0.1, 0.06, 0.0], "cat")):
        terms = Terms(fees=fees)
        ready = team.copy().conformalize(rows[old], label[old], said[old], alpha=0.45, terms=terms, disjoint=True)
        raw = ready.predict_set(rows[new], terms=terms, fill_empty=False).mask
        assert not raw[~good[new]].any()
        sets = ready.predict_set(rows[new], terms=terms)
        assert np.array_equal(sets.filled, ~raw.any(axis=1))
        filled = sets.mask[sets.filled]
        assert (filled.sum(axis=1) == 1).all()
        of_nobody = sets.mask[~good[new]]
        assert {("ann", "bob", "cat")[j] for j in of_nobody.argmax(axis=1)} == {who}


def test_fees_of_each_case_count_there():
    team, rows, label, said, good = filled_team()
    ready = team.conformalize(rows[:2_000], label[:2_000], said[:2_000], alpha=0.45, disjoint=True)
    nobody = rows[2_000:][~good[2_000:]][:2]
    by_case = Terms(fees=np.array([[0.0, 0.0, 0.0], [0.1, 0.1, 0.0]]))
    with pytest.warns(UserWarning, match="does not hold with other fees than in conformalize"):
        sets = ready.predict_set(nobody, terms=by_case)
    assert sets.mask.tolist() == [[True, False, False], [False, False, True]]
