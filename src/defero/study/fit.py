"""Fit a team on the four parts: train, calibrate, find panels; remember what was seen and what the answers show.

A crowd shares few answers among the held-out cases alone: experts who make the same mistakes, and answers that were not
given at random, are looked for in every part of the table, where no model is judged.
"""

import warnings
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from defero.core import ExpertTable
from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError, Message
from defero.core.registry import TARGETS
from defero.data.cases import Cases
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.scored_cases import late_note
from defero.decide.terms import TeamTerms, Terms
from defero.estimators.recipe import check_torch, has_torch
from defero.judge import check_answering, shared_errors
from defero.learn.classes import Classes
from defero.learn.scorer import SkillScorer
from defero.losses import LOSSES
from defero.scorers.network import NetworkScorer
from defero.study.money import fee_columns, on_cases
from defero.study.notes import few_groups, notes_on
from defero.study.seen import seen_groups, seen_keys
from defero.team import Team
from defero.team.facts import AnsweringFacts, SharedErrorFacts

if TYPE_CHECKING:
    from defero.estimators.recipe import Recipe
    from defero.estimators.training_data import AnswerWeights

NETS = ("auto", "linear", "mlp")
WEIGHTS = ("label", "label+features")
_PICTURES = ("wrn-", "resnet-")
ALPHA, TARGET = 0.1, "any-correct"
MOST_CELLS = 20_000_000
"""Of a larger table as many cases are looked at, drawn among those that two experts answered."""
MOST_GROUPS = 3


@dataclass(frozen=True)
class FitChoices:
    """How a team is trained and what its panels promise; see `Study.fit`. Checked when it is made."""

    net: str = "auto"
    loss: str = "auto"
    answer_weights: str | None = None
    recipe: "Recipe | None" = None
    checkpoints: str | PathLike[str] | None = None
    alpha: float = ALPHA
    target: str = TARGET

    def __post_init__(self) -> None:
        one_of("target", self.target, TARGETS)
        if not 0 < self.alpha < 1:
            raise InputError(
                f"must lie between 0 and 1, got {self.alpha:g}; for a promise of 90 % pass 0.1.", argument="alpha"
            )
        one_of("loss", self.loss, (*LOSSES, "auto"))
        if self.answer_weights is not None:
            one_of("answer_weights", self.answer_weights, WEIGHTS)
        if not has_torch():  # what needs it is refused before the table is split
            if not self.is_deep:
                one_of("net", self.net, NETS)
            if not self.calibrates_itself:
                check_torch(self.net, self.loss)
        if self.net not in NETS:
            _check_named_net(self.net)
        if self.checkpoints is not None:
            self.check_deep("checkpoints")
        if self.answer_weights is not None and not self.calibrates_itself:
            weights = Argument("answer_weights", self.answer_weights)
            raise InputError(f"{weights}: is for {Argument('net', 'auto')} without a loss; leave one of them out.")

    @property
    def is_deep(self) -> bool:
        """Whether the net is a deep one; told by its name, without loading torch."""
        return "-" in self.net or ":" in self.net

    @property
    def calibrates_itself(self) -> bool:
        """Whether the team is calibrated across the folds of its training, so that it needs no rows apart for that."""
        return self.net == "auto" and self.loss == "auto"

    def check_deep(self, argument: str) -> None:
        """Refuse an argument that is for deep nets alone."""
        if not self.is_deep:
            raise InputError(f"{Argument(argument)}: is for deep nets, got {Argument('net', self.net)}; leave it out.")

    def check_reads(self, *, pictures: bool) -> None:
        """Refuse a net that reads something else than the cases are."""
        if not pictures and self.net.startswith(_PICTURES):
            raise InputError(
                f"{Argument('net', self.net)}: reads pictures; name their folder with {Argument('images')} and the "
                f"column of their paths with {Argument('image_column')}."
            )
        if pictures and self.net in (*NETS, "text-cnn"):
            raise InputError(
                f"{Argument('net', self.net)}: reads no pictures; name a net that does, such as wrn-28-4 or resnet-18."
            )

    def without_effect(self, fees: list[float]) -> list[str]:
        """Return a sentence on what this loss has no use for."""
        changed = {"alpha": self.alpha != ALPHA, "target": self.target != TARGET, "fees": any(fees)}
        named = ", ".join(f"{Argument(name)}" for name, is_changed in changed.items() if is_changed)
        why = f"no effect with {Argument('loss', 'moe')}, whose weights promise nothing: there are no panels."
        return [Message(f"{named}: {why}")] if self.loss == "moe" and named else []

    def outcome(self, team: Team) -> str:
        """Return which model of the classes there is now, where "auto" had the choice too."""
        scorer = team.scorer
        base = scorer.base if isinstance(scorer, SkillScorer) else scorer
        if self.is_deep:
            return self.net
        if isinstance(base, Classes):
            return base.net
        return "mlp" if isinstance(base, NetworkScorer) and base.branches["class"] else "linear"

    def sentence(self, team: Team) -> str:
        """Say the same for a person."""
        how = ", the better of linear and mlp on held-out labels" if self.net == "auto" else ""
        what = "Network" if self.is_deep else "Model of the classes"
        network = team.facts.choice or f"{what}: {self.outcome(team)}{how}."
        if not team.expert_names:
            return network
        if self.calibrates_itself:
            return f"{network} Experts: by case and class, shrunk toward the population where answers are few."
        return f"{network} Experts: each learned from their own answers alone."


def _check_named_net(net: str) -> None:
    """Refuse a net that is not known; their names are read only where one of them is wanted."""
    from defero.nets.named import NET_NAMES, is_net_name, meant_net

    if not is_net_name(net):
        raise InputError(
            f"must be one of {', '.join((*NETS, *NET_NAMES))}, got {net!r}{meant_net(net, NETS)}", argument="net"
        )


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
    how: dict[str, Any] = {"groups": groups, "random_state": random_state, "progress": progress}
    team, text_features = _train(learn, cases, choices, **how)
    matrix = _matrix(learn, cases, team, groups=groups) if text_features is None else text_features
    answering = answering_in(learn, cases, matrix, groups=groups, weights=choices.answer_weights)
    team, stage_notes = _calibrate_and_find_panels(team, parts, choices, terms=terms, across_folds=across_folds)
    own = {"expert_names": None, "features": None, "text": ()}  # the team itself has these
    facts = replace(
        team.facts,
        random_state=random_state,
        spec=spec.but(key=cases.key, majority_label=cases.n_majority > 0, **own),
        control=cases.control,
        answering=answering,
        shared_errors=shared_in(cases),
    )
    seen = {**seen_groups(cases, parts[:3], groups=spec.groups), **seen_keys(team, cases, (learn, *parts[1:3]))}
    team = replace(team, facts=facts, seen={**team.seen, **seen})
    notes = [
        *cases.notes,
        *stage_notes,
        *_asking_note(team),
        *choices.without_effect(fees),
        *terms.unpayable(),
        *few_groups(cases, parts, groups=spec.groups),
        *notes_on(cases, team),
    ]
    return team, notes


def fit_scored(cases: Cases, learn: ExpertTable, terms: Terms, *, random_state: int) -> tuple[Team, list[str]]:
    """Return a team of experts who have only scores, and what looks like a mistake in its cases.

    Parameters
    ----------
    cases : Cases
        Without the columns of prices among their features.
    learn : ExpertTable
        Those to learn from.
    terms : Terms
        What a question costs, by name, and what an error does.
    random_state : int
    """
    from defero.estimators.pool.expert_pool import ExpertPool

    spec, names, rows = cases.spec, learn.expert_names, learn.features.index
    groups = None if spec.groups is None else cases.apart.loc[rows, spec.groups].astype(str).to_numpy()
    where: dict[str, Any] = {"source": cases.source, "first_row": cases.first_row}
    paid = on_cases(terms.of(names, learn.classes), cases.frame, **where).take(cases.frame.index.isin(rows))
    pool = ExpertPool(text=list(spec.text), text_encoder=cases.file.encoder, random_state=random_state)
    pool.fit(learn.features, learn.scores, prices=paid.fees, expert_names=names, groups=groups)
    team, own = pool.team_, {"expert_names": None, "features": None, "text": ()}  # the team itself has these
    spec = spec.but(key=cases.key, **own)
    facts = replace(
        team.facts, random_state=random_state, spec=spec, fees=terms.fees or {}, error_cost=terms.error_cost
    )
    team = replace(team, facts=facts, seen={**team.seen, **seen_groups(cases, (learn,), groups=spec.groups)})
    notes = [*cases.notes, *late_note(cases, fees=fee_columns(terms.fees)), *pool.notes_]
    if terms.fees and terms.error_cost is None:
        price = Argument("error_cost")
        notes.append(
            Message(
                f"prices do not count yet: items go to the highest expected score. Pass {price}, what a point of "
                "quality is worth, to fit or route; or a budget to route."
            )
        )
    return team, notes


def _asking_note(team: Team) -> list[str]:
    """Say that held-out cases speak against asking anybody."""
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
        answer_weights=cast("AnswerWeights | None", choices.answer_weights),
        text=list(cases.spec.text) or None,
        text_encoder=cases.file.encoder,
        recipe=choices.recipe,
        checkpoints=None if choices.checkpoints is None else str(choices.checkpoints),
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
    sentences, groups = together.sentences, tuple(map(tuple, together.group_names))
    if not sentences:
        return SharedErrorFacts((), groups)
    first, left = next(pair for pair in together.pairs if pair.near_copies), len(sentences) - MOST_GROUPS
    more = (f"More groups of experts that do so: {left}.",) if left > 0 else ()
    alike = (
        f"The most alike are {' and '.join(first.experts)}: the same answer to {100 * first.agreement:.0f} % of "
        f"{first.n_shared} shared cases."
    )
    return SharedErrorFacts((*sentences[:MOST_GROUPS], *more, alike), groups)


def answering_in(
    learn: ExpertTable, cases: Cases, matrix: Any, *, groups: Any, weights: str | None
) -> AnsweringFacts | None:
    """Check who answered which of the cases to learn from; None where it cannot be asked.

    A label that is a majority of the same answers leans to what its voters say, and seems to depend on who they were.

    Parameters
    ----------
    learn : ExpertTable of n cases
    cases : Cases
    matrix : (n, d)
        Their features.
    groups : (n,), optional
        Rows that belong together.
    weights : str, optional
        What the answers were weighted by.
    """
    if not learn.n_experts or cases.n_majority:
        return None
    order = learn.row_order(groups=groups)  # folds and shuffles are drawn
    check = check_answering(learn.coded.take(order), learn.label_idx[order], matrix[order])
    notable = check.depends_on_label or check.depends_on_features
    sentences = (check.sentence(weighted=weights),) if notable else ()
    return AnsweringFacts(check.depends_on_label, check.depends_on_features, sentences)


def _matrix(learn: ExpertTable, cases: Cases, team: Team, *, groups: Any) -> Any:
    """Return the numbers that the heads read; of texts, scores that were learned without the text itself."""
    from defero.data.recipes.read_texts import read_texts
    from defero.estimators.training_data import group_numbers

    if not learn.n_experts or isinstance(team.recipe, PictureRecipe):
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
