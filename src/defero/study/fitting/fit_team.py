"""Fit a team on the four parts: train, calibrate, find panels; remember what was seen and what the answers show.

A crowd shares few answers among the held-out cases alone: experts who make the same mistakes, and answers that were not
given at random, are looked for in every part of the table, where no model is judged.
"""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core import ExpertTable
from defero.data.cases import Cases
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.decide.terms import TeamTerms
from defero.judge import check_answering, shared_errors
from defero.judge.shared_errors import SharedErrors
from defero.study.fitting.choices import FitChoices
from defero.study.fitting.notes import few_groups, notes_on
from defero.study.judging.fresh_cases import seen_groups, seen_keys
from defero.team import FitFacts, Team
from defero.team.facts import AnsweringFacts, SharedErrorFacts

if TYPE_CHECKING:
    from defero.estimators.training_data import AnswerWeights


def fit_team(
    cases: Cases,
    parts: tuple[ExpertTable, ...],
    choices: FitChoices,
    *,
    terms: TeamTerms,
    random_state: int,
    progress: bool,
) -> tuple[Team, list[str]]:
    """Return the team, and what looks like a mistake in its cases.

    Parameters
    ----------
    cases : Cases
    parts : four ExpertTable
        To learn from, to calibrate, to conformalize, for the test.
    choices : FitChoices
    terms : TeamTerms
    random_state : int
    progress : bool
    """
    spec, fees = cases.spec, terms.same_fees()
    choices.check_reads(pictures=cases.pictures is not None)
    # In time, the cases to calibrate are later than those to learn from: folds would learn from the future.
    across_folds = choices.calibrates_itself and spec.time is None
    learn, groups = parts[0], None
    if across_folds:
        index = cases.table.features.index
        learn = cases.table.take(index.isin(parts[0].features.index.append(parts[1].features.index)))
    if spec.groups is not None:
        groups = cases.apart.loc[learn.features.index, spec.groups].astype(str).to_numpy()
    team, text_features = _train(learn, cases, choices, groups=groups, random_state=random_state, progress=progress)
    answering = answering_in(learn, cases, team, text_features=text_features, groups=groups, weights=choices.weights)
    team, stage_notes = _calibrate_and_find_panels(team, parts, choices, terms=terms, across_folds=across_folds)
    team = replace(
        team,
        facts=_facts(team.facts, cases, answering, random_state=random_state),
        seen={
            **team.seen,
            **seen_groups(cases, parts[:3], groups=spec.groups),
            **seen_keys(team, cases, (learn, *parts[1:3])),
        },
    )
    selection, asking = team.selection, list[str]()
    if selection is not None and not selection.asks and team.expert_names:
        asking.append(
            f"asking did not pay: on {selection.n_items} held-out cases the team was {-100 * selection.gain:.1f} "
            f"points below the model alone (standard error {100 * selection.gain_se:.1f}). So the model decides every "
            "case, and nobody is asked."
        )
    notes = [
        *cases.notes,
        *stage_notes,
        *asking,
        *choices.without_effect(fees),
        *terms.unpayable(),
        *few_groups(cases, parts, groups=spec.groups),
        *notes_on(cases, team),
    ]
    return team, notes


def _train(
    learn: ExpertTable,
    cases: Cases,
    choices: FitChoices,
    *,
    groups: Any,
    random_state: int,
    progress: bool,
) -> tuple[Team, Any]:
    """Learn from the first part; `groups` (n,) are rows that belong together.

    Returns
    -------
    team : Team
    text_features : (n, d) or None
        The features of these cases where texts are summed up in scores, each by folds that did not see the text.
    """
    # Only now: torch takes seconds to load, and most mistakes have shown.
    from defero import DeferralClassifier

    estimator = DeferralClassifier(
        choices.net,
        loss=choices.loss,
        answer_weights=choices.weights,
        text=list(cases.spec.text) or None,
        text_encoder=cases.file.encoder,
        recipe=choices.recipe,
        checkpoints=choices.checkpoints,
        random_state=random_state,
        progress=progress,
    )
    if cases.pictures is not None:
        files = cases.pictures.apply(learn.features)
        team = estimator.fit(files, learn.labels, experts=learn.answers, groups=groups).team_
        return replace(team, recipe=cases.pictures), None
    with warnings.catch_warnings():  # the list of the features says it
        warnings.filterwarnings("ignore", r"X: \d+ columns? (is|are) not used")
        estimator.fit(learn.features, learn.labels, experts=learn.answers, groups=groups)
    return estimator.team_, getattr(estimator, "_text_features", None)


def _calibrate_and_find_panels(
    team: Team, parts: tuple[ExpertTable, ...], choices: FitChoices, *, terms: TeamTerms, across_folds: bool
) -> tuple[Team, list[str]]:
    """Use the second and the third part; return the team and what the stages warn of.

    A mixture's weights are no probabilities and promise nothing.
    """
    if choices.loss == "moe":
        return team, []
    _, held, panels, _ = parts
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if across_folds:
            team = team.calibrated_across_folds()
        else:
            team = team.calibrate(held.features, held.labels, held.answers, disjoint=True)
        if team.expert_names:
            team = team.conformalize(
                panels.features,
                panels.labels,
                panels.answers,
                alpha=choices.alpha,
                target=choices.target,
                terms=replace(terms, fees=None) if terms.free else terms,
                disjoint=True,
            )
    # A warning's text may be a Message, which the command line spells in its own way.
    return team, [one.message.args[0] for one in caught if isinstance(one.message, Warning)]


def _facts(facts: FitFacts, cases: Cases, answering: AnsweringFacts | None, *, random_state: int) -> FitFacts:
    """Return what the team remembers of its table: how to read the next one, and what its labels are worth."""
    own = {"expert_names": None, "features": None, "text": ()}  # the team itself has these
    return replace(
        facts,
        random_state=random_state,
        spec=cases.spec.but(key=cases.key, majority_label=cases.n_majority > 0, **own),
        control=cases.control,
        answering=answering,
        shared_errors=shared_in(cases),
    )


MOST_CELLS = 20_000_000
"""Of a larger table as many cases are looked at, drawn among those that two experts answered."""
MOST_GROUPS = 3


def shared_in(cases: Cases) -> SharedErrorFacts | None:
    """Return what the model is to remember; None where nobody can be compared.

    A majority of the same answers is no truth to err from: two who agree would make it, and seem to be right.
    """
    if cases.table.n_experts < 2 or cases.n_majority:
        return None
    table, most = cases.table, MOST_CELLS // cases.table.n_experts
    if len(table) > most:
        order = table.row_order()
        rows = order[table.answered[order] > 1]
        table = table.take(np.sort(np.random.default_rng(0).permutation(rows)[:most]))
    together = shared_errors(table.answer_idx, table.label_idx, expert_names=table.expert_names)
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
    first = next(pair for pair in together.pairs if pair.near_copies)
    shown = (
        f"The most alike are {' and '.join(first.experts)}: the same answer to {100 * first.agreement:.0f} % "
        f"of {first.n_shared} shared cases."
    )
    left = len(sentences) - MOST_GROUPS
    more = (f"More groups of experts that do so: {left}.",) if left > 0 else ()
    return (*sentences[:MOST_GROUPS], *more, shown)


def answering_in(
    learn: ExpertTable,
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
    features = _matrix(learn, cases, team, groups=groups) if text_features is None else text_features
    order = learn.row_order(groups=groups)  # folds and shuffles are drawn
    item_idx, expert_idx, _ = learn.coded.take(order).triplets()
    check = check_answering(
        item_idx,
        expert_idx,
        learn.label_idx[order],
        features[order],
        n_classes=learn.n_classes,
        n_experts=learn.n_experts,
        expert_names=learn.expert_names,
        classes=learn.classes.tolist(),
    )
    notable = check.depends_on_label or check.depends_on_features
    sentences = (check.sentence(weighted=weights),) if notable else ()
    return AnsweringFacts(check.depends_on_label, check.depends_on_features, sentences)


def _matrix(learn: ExpertTable, cases: Cases, team: Team, *, groups: Any) -> Any:
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
