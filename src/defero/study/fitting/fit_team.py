"""Fit a team on the four parts: train, check who answered what, calibrate, find panels, remember what was seen."""

import warnings
from dataclasses import replace
from typing import Any, Literal, cast

from defero.core import ExpertTable
from defero.data.cases import Cases
from defero.decide.terms import TeamTerms
from defero.study.fitting.choices import FitChoices
from defero.study.fitting.notes import few_groups, notes_on
from defero.study.fitting.shared_answers import answering_in, shared_in
from defero.study.judging.fresh_cases import seen_groups, seen_keys
from defero.team import FitFacts, Team
from defero.team.facts import AnsweringFacts


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
    learn, groups = _learned_from(cases, parts) if across_folds else parts[0], None
    if spec.groups is not None:
        groups = cases.apart.loc[learn.features.index, spec.groups].astype(str).to_numpy()
    team, text_features = _train(
        learn, cases, choices, groups=groups, fees=fees, random_state=random_state, progress=progress
    )
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
    notes = [
        *cases.notes,
        *stage_notes,
        *_no_asking(team),
        *choices.without_effect(fees),
        *terms.unpayable(),
        *few_groups(cases, parts, groups=spec.groups),
        *notes_on(cases, team),
    ]
    return team, notes


def _learned_from(cases: Cases, parts: tuple[ExpertTable, ...]) -> ExpertTable:
    """Return the cases that a team learns from which is calibrated across folds: the first two parts."""
    rows = cases.table.features.index.isin(parts[0].features.index.append(parts[1].features.index))
    return cases.table.take(rows)


def _no_asking(team: Team) -> list[str]:
    """Say that asking did not pay on held-out cases, so that the model decides everything."""
    selection = team.selection
    if selection is None or selection.asks or not team.expert_names:
        return []
    return [
        f"asking did not pay: on {selection.n_items} held-out cases the team was {-100 * selection.gain:.1f} points "
        f"below the model alone (standard error {100 * selection.gain_se:.1f}). So the model decides every case, and "
        "nobody is asked."
    ]


def _train(
    learn: ExpertTable,
    cases: Cases,
    choices: FitChoices,
    *,
    groups: Any,
    fees: list[float],
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
        heads=cast(Literal["auto", "shrunk", "separate"], choices.heads),
        min_answers=choices.min_answers,
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
        estimator.fit(learn.features, learn.labels, experts=learn.answers, groups=groups, fees=fees)
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
