"""What the answers of the table of `Study.fit` show: experts who make the same mistakes, answers not given at random.

A crowd shares few answers among the held-out cases alone. No model is judged here, so every part of the table counts.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core import ExpertTable
from defero.core.checks.arrays import FloatArray
from defero.core.labels import MISSING
from defero.data.cases import Cases
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.judge import check_answering, shared_errors
from defero.judge.shared_errors import SharedErrors
from defero.team import Team
from defero.team.facts import AnsweringFacts, SharedErrorFacts

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.estimators.training_data import AnswerWeights

MOST_CELLS = 20_000_000
"""Of a larger table as many cases are looked at, drawn among those that two experts answered."""
MOST_GROUPS = 3
_DRAWN = 2.0
"""How many answers an expert's share in one class borrows from their share in all."""


def shared_in(cases: Cases) -> SharedErrorFacts | None:
    """Return what the model is to remember; None where nobody can be compared.

    A majority of the same answers is no truth to err from: two who agree would make it, and seem to be right.
    """
    if cases.table.n_experts < 2 or cases.n_majority:
        return None
    together = _shared(cases.table)
    return SharedErrorFacts(_sentences(together), tuple(map(tuple, together.group_names)))


def shared_caution(team: Team, *, known: SharedErrors) -> str | None:
    """Repeat what was found; None where the record at hand names the same groups itself."""
    facts = team.facts.shared_errors
    if (
        facts is None
        or not facts.sentences
        or set(map(frozenset, facts.groups)) <= set(map(frozenset, known.group_names))
    ):
        return None
    return f"In all answers of the table of fit: {' '.join(facts.sentences)}"


def _sentences(together: SharedErrors) -> tuple[str, ...]:
    """Name the groups of near-copies, and what shows it."""
    sentences = together.sentences
    if not sentences:
        return ()
    alike = [pair for pair in together.pairs if pair.near_copies]
    first = alike[0]
    shown = (
        f"The most alike are {first.names[0]} and {first.names[1]}: the same answer to {100 * first.agreement:.0f} % "
        f"of {first.n_shared} shared cases."
    )
    left = len(sentences) - MOST_GROUPS
    more = (f"So do {left} more group{'s' if left > 1 else ''} of experts.",) if left > 0 else ()
    return (*sentences[:MOST_GROUPS], *more, shown)


def _shared(table: ExpertTable) -> SharedErrors:
    most = MOST_CELLS // table.n_experts
    if len(table) > most:
        rows = np.flatnonzero(table.answered > 1)
        table = table.take(np.sort(np.random.default_rng(0).permutation(rows)[:most]))
    answer_idx = table.answer_idx
    shares = _class_shares(answer_idx, table.label_idx, n_classes=table.n_classes)
    return shared_errors(answer_idx, table.label_idx, shares, expert_names=table.expert_names)


def _class_shares(answer_idx: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], *, n_classes: int) -> FloatArray:
    """Return P(expert j is right) by the true class of each item, (n, J): shares shrunk toward each expert's own."""
    answered, right = answer_idx != MISSING, answer_idx == labels[:, None]
    own = (right.sum(axis=0) + 1) / (answered.sum(axis=0) + 2)
    shares = np.empty((n_classes, answer_idx.shape[1]))
    for k in range(n_classes):
        rows = labels == k
        shares[k] = (right[rows].sum(axis=0) + _DRAWN * own) / (answered[rows].sum(axis=0) + _DRAWN)
    share_of_label: FloatArray = shares[labels]
    return share_of_label


def answering_in(
    learn: "ExpertTable",
    cases: Cases,
    team: Team,
    *,
    text_features: Any,
    groups: Any,
    weights: "AnswerWeights | None",
) -> AnsweringFacts | None:
    """Check the cases to learn from; None where it cannot be asked.

    A label that is a majority of the same answers leans to what its voters say, and seems to depend on who they were.

    Parameters
    ----------
    learn : ExpertTable of n cases
    cases : Cases
    team : Team
        Learned from them.
    text_features : (n, d), optional
        Their features, where texts were summed up in scores.
    groups : (n,), optional
        Rows that belong together.
    weights : str, optional
        What the answers were weighted by.
    """
    if not learn.n_experts or cases.n_majority:
        return None
    item_idx, expert_idx, _ = learn.coded.triplets()
    check = check_answering(
        item_idx,
        expert_idx,
        learn.label_idx,
        _matrix(learn, cases, team, groups=groups) if text_features is None else text_features,
        n_classes=learn.n_classes,
        n_experts=learn.n_experts,
        expert_names=learn.expert_names,
        classes=learn.classes.tolist(),
    )
    notable = check.depends_on_label or check.depends_on_features
    sentences = (check.sentence(weighted=weights),) if notable else ()
    return AnsweringFacts(check.depends_on_label, check.depends_on_features, sentences)


def _matrix(learn: "ExpertTable", cases: Cases, team: Team, *, groups: Any) -> Any:
    """Return the numbers that the heads read; of texts, scores that were learned without the text itself."""
    from defero.data.recipes.read_texts import read_texts
    from defero.estimators.training_data import group_numbers

    if isinstance(team.recipe, PictureRecipe):
        return np.empty((len(learn), 0))
    if not cases.spec.text:
        return team.features(learn.features)
    matrix, _ = read_texts(
        FeatureRecipe.learn(learn.features, text=cases.spec.text, encoder=cases.file.encoder),
        learn.features,
        learn.label_idx,
        n_classes=learn.n_classes,
        weight=np.ones(len(learn)),
        groups=None if groups is None else group_numbers(groups, n_items=len(learn)),
    )
    return matrix
