"""Who is on the team: experts join from a few answers, leave, and change their names; nobody else is touched."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.scores import score_matrix
from defero.core.errors import InputError
from defero.core.labels import MISSING, as_column, encode_answers, encode_labels, is_missing
from defero.core.wording import did_you_mean, join_names
from defero.data.fingerprint import held_out, row_fingerprints
from defero.data.recipes.inputs import input_columns
from defero.data.recipes.pictures import PictureFiles, PictureRecipe
from defero.data.recipes.recipe import FeatureRecipe
from defero.judge.marks import Judge, corrected_marks
from defero.learn.newcomer import newcomer_weights
from defero.learn.scorer import SkillScorer
from defero.learn.scores import LearnedPrices
from defero.team.rows import ANSWERED, LEARNS_ON, Fingerprints, in_own_order, n_reused, of_other_experts, told_apart_by
from defero.team.score_facts import facts_of

if TYPE_CHECKING:
    from defero.team.team import Team

STAGE = "add_expert"
"""Under this name a team remembers the rows that newcomers' heads have learned from."""
FEW_OF_FIT = 0.1
"""A smaller share of rows that `fit` has learned from misleads no newcomer's head by much."""


def add_expert(
    team: "Team", name: str, X: Any, y: ArrayLike | None, answers: Any, *, price: float | None = None
) -> "Team":
    """Return a team with one more expert at the end, learned from a few answers; see `Team.add_expert`."""
    check_name(team, name)
    team = team.with_own_key()
    scorer = _team(team, "add_expert")
    answer_idx = _answer_numbers(answers, team, name)
    answered = answer_idx != MISSING
    label_idx = _labels_of_answered(y, team, answered)
    right = answer_idx[answered] == label_idx[answered]
    seen = of_other_experts(team.seen)
    if answered.any():
        rows = _rows_of(X, answered)
        own = in_own_order(team.features(rows), label_idx[answered], answer_idx[answered, None], (name,))
        joined = scorer.with_expert(own[0], own[2][:, 0] == own[1], label_idx=own[1])
        marks = row_fingerprints(told_apart_by(rows, team.recipe))
        _tell_of_learned_from(name, team, scorer, marks)
        seen = moved_here(seen, marks)
        _tell_of_nobody_wrong(name, right)
    else:
        joined = _with_unknown(scorer, team)
    if team.panel is not None:
        warnings.warn(_DROPS.format("add_expert"), stacklevel=3)
    calibrator = team.calibrator
    if calibrator is not None:
        calibrator = calibrator.with_newcomer()
    return replace(
        team,
        scorer=joined,
        expert_names=(*team.expert_names, name),
        answer_counts=np.append(team.answer_counts, len(right)),
        calibrator=calibrator,
        law=None if team.law is None else team.law.with_newcomer(),
        held_out=None,
        panel=None,
        prices=_with_price(team, price),
        seen=seen,
        facts=team.facts.with_expert(name),
    )


def add_scored(
    team: "Team", name: str, X: Any, scores: Any, *, like: str | Sequence[str] | None, price: float | None
) -> "Team":
    """Return a team of scores with one more expert at the end, a mix of the others; see `Team.add_expert`."""
    check_name(team, name)
    team, facts, n_others = team.with_own_key(), facts_of(team), len(team.expert_names)
    values, observed, seen = np.empty((0, n_others)), np.empty(0), team.seen
    if scores is not None:
        column = score_matrix(np.asarray(scores, dtype=object).reshape(-1, 1), [name])[0][:, 0]
        features = None if X is None else team.features(X)
        if features is None or len(features) != len(column):
            n_items = "none" if features is None else len(features)
            raise InputError(f"must be the {len(column)} items that were scored, got {n_items}.", argument="X")
        rows = np.isfinite(column)
        judge = team.facts.judge
        marks = column if judge is None else corrected_marks(column, Judge(*judge))
        values, observed = _of_scores(team).linear_values(features[rows]), marks[rows]
        if len(team.seen) and not isinstance(team.recipe, PictureRecipe):
            seen = moved_here(team.seen, row_fingerprints(input_columns(X, team.recipe))[rows])
    weights, offset = newcomer_weights(
        values,
        observed,
        like=None if like is None else _alike(like, team.expert_names),
        level_sd=facts.level_sd,
        noise=facts.noise,
    )
    score = float(np.clip(observed.mean(), 0.0, 1.0)) if len(observed) else np.nan
    return replace(
        team,
        scorer=_of_scores(team).with_member(weights, offset),
        expert_names=(*team.expert_names, name),
        answer_counts=np.append(team.answer_counts, len(observed)),
        prices=_with_price(team, price),
        score_facts=facts.with_expert(weights, score=score, price=price),
        seen=seen,
        facts=team.facts.with_expert(name),
    )


def _alike(like: str | Sequence[str], expert_names: tuple[str, ...]) -> FloatArray:
    alike = [like] if isinstance(like, str) else list(like)
    unknown = [one for one in alike if one not in expert_names]
    if unknown or not alike:
        hint = did_you_mean(str(unknown[0]), expert_names) if unknown else " was named."
        raise InputError(f": no expert {join_names(unknown)}{hint}", argument="like")
    return np.isin(expert_names, alike) / len(alike)


def _with_price(team: "Team", price: float | None) -> LearnedPrices | None:
    """Return the prices with those of one more expert; none where nobody's is known."""
    if price is not None and not 0 <= price < np.inf:
        raise InputError(f"must be a finite number of at least 0, got {price}.", argument="price")
    prices = team.prices
    if prices is None and price is not None:
        width = len(team.recipe.names) if isinstance(team.recipe, FeatureRecipe) else team.n_features or 0
        n_others = len(team.expert_names)
        prices = LearnedPrices(np.zeros((width, n_others)), np.zeros(n_others), np.zeros(n_others, dtype=np.bool_))
    return None if prices is None else prices.with_member(price)


def _of_scores(team: "Team") -> Any:
    """Return the scorer of a team of scores; raises where somebody else's is."""
    if not hasattr(team.scorer, "with_member"):
        raise InputError(f"add_expert: this model ({team.scorer.kind}) was not made by ExpertPool; build it again.")
    return team.scorer


def partial_fit(team: "Team", X: Any, y: ArrayLike, experts: object, *, disjoint: bool) -> "Team":
    """Return a team whose experts' skill has learned from new cases; see `Team.partial_fit`."""
    team.need_classes("partial_fit")
    label_idx = encode_labels(y, team.classes)
    answer_idx = team.answer_numbers(experts, n_items=len(label_idx))
    scorer = team.scorer
    rigid = scorer.order < scorer.n_own if isinstance(scorer, SkillScorer) else np.ones(answer_idx.shape[1], np.bool_)
    answered = answer_idx != MISSING
    if not isinstance(scorer, SkillScorer) or rigid.all() or answered[:, rigid].any():
        who = join_names([name for name, fixed in zip(team.expert_names, rigid, strict=True) if fixed])
        raise InputError(
            f"partial_fit: P(right) of {who} is learned by fit alone, with the model; fit again with the new answers, "
            "and leave these experts blank here."
        )
    some = answered.any(axis=1)
    rows, label_idx, answer_idx = _rows_of(X, some), label_idx[some], answer_idx[some]
    team = team.mark_seen(LEARNS_ON, rows, label_idx, answer_idx, disjoint=disjoint)
    if team.panel is not None:
        warnings.warn(_DROPS.format("partial_fit"), stacklevel=3)
    items = (team.features(one, first_row=i) for i, one in enumerate(_one_by_one(rows)))
    return replace(
        team,
        scorer=scorer.after(items, label_idx, answer_idx),
        answer_counts=team.answer_counts + answered.sum(axis=0),
        held_out=None,
        panel=None,
    )


def remove_expert(team: "Team", name: str) -> "Team":
    """Return a team without this expert; the others' numbers stay as they are."""
    place = place_of(team, name)
    stay = np.array([j for j in range(len(team.expert_names)) if j != place], dtype=np.int64)
    if team.scored_only and not len(stay):
        raise InputError(f": {name} is the only expert, and there is no model; a team needs one.", argument="name")
    scorer = _of_scores(team).take(stay) if team.scored_only else _team(team, "remove_expert").without_expert(place)
    if team.panel is not None:
        warnings.warn(_DROPS.format("remove_expert"), stacklevel=3)
    return replace(
        team,
        scorer=scorer,
        expert_names=tuple(team.expert_names[j] for j in stay),
        answer_counts=team.answer_counts[stay],
        calibrator=None if team.calibrator is None else team.calibrator.take(stay.tolist()),
        law=None if team.law is None else team.law.take(stay),
        prices=None if team.prices is None else team.prices.take(stay),
        score_facts=None if team.score_facts is None else team.score_facts.take(stay),
        held_out=None,
        panel=None,
        seen=of_other_experts(team.seen),
        facts=team.facts.without_expert(name),
    )


def rename_expert(team: "Team", old: str, new: str) -> "Team":
    """Return a team in which an expert has another name, and nothing else has changed."""
    place = place_of(team, old, argument="old")
    if new == old:
        return team
    check_name(team, new)
    changed = (*team.expert_names[:place], new, *team.expert_names[place + 1 :])
    return replace(team, expert_names=changed, facts=team.facts.renamed(old, new))


_DROPS = "{} drops the panel's thresholds; call conformalize again."


def place_of(team: "Team", name: str, *, argument: str = "name") -> int:
    """Return an expert's place among the J."""
    if name not in team.expert_names:
        hint = did_you_mean(str(name), team.expert_names)
        raise InputError(f": no expert {name!r}{hint} There are {join_names(team.expert_names)}.", argument=argument)
    return team.expert_names.index(name)


def check_name(team: "Team", name: object) -> None:
    """Raise unless an expert of this team may be called so."""
    if not isinstance(name, str):
        raise InputError(f"must be a text, got a {type(name).__name__}; the name comes first.", argument="name")
    if not name.strip():
        raise InputError(f"must not be blank, got {name!r}.", argument="name")
    if name == "model":
        raise InputError("must not be 'model': that word names the model in every decision.", argument="name")
    if name in team.expert_names:
        raise InputError(
            f": there is an expert {name!r} already; choose another name. More answers of theirs are for partial_fit.",
            argument="name",
        )


def _team(team: "Team", wanted: str) -> SkillScorer:
    if isinstance(team.scorer, SkillScorer):
        return team.scorer
    if not team.expert_names:
        raise InputError(
            f"{wanted}: this model knows no experts who could tell what to expect of somebody new; fit it with the "
            "answers of at least one."
        )
    raise InputError(
        f"{wanted}: this model ({team.scorer.kind}) was made without the population of its experts, which tells what "
        "to expect of somebody new; fit DeferralClassifier or TwoStageDeferral with this version of defero. To leave "
        "somebody out, Terms(absent=[name]) will do."
    )


def _answer_numbers(answers: Any, team: "Team", name: str) -> IntArray:
    """Return one expert's answers as class numbers, (m,), -1 where missing."""
    if answers is None:
        return np.empty(0, np.int64)
    column: Any = answers
    if isinstance(answers, np.ndarray):
        column = answers.reshape(-1, 1) if answers.ndim == 1 else answers
    elif not hasattr(answers, "columns") and not hasattr(answers, "tocsr"):
        column = [[one] for one in answers] if len(answers) else np.empty((0, 1))
    answer_idx = encode_answers(column, team.classes, name=f"answers of {name}")
    if answer_idx.shape[1] != 1:
        raise InputError(f"must be of one expert, (m,), got {answer_idx.shape[1]} columns.", argument="answers")
    return answer_idx[:, 0]


def _labels_of_answered(y: ArrayLike | None, team: "Team", answered: BoolArray) -> IntArray:
    """Return class numbers (m,): where there is an answer there must be a label, for an answer is right or wrong."""
    if y is None and not answered.any():
        return np.full(len(answered), MISSING)
    if y is None:
        raise InputError(
            "must be the true label of each row: without labels nobody can say which answers are right, got None.",
            argument="y",
        )
    labels = as_column(y, name="y").astype(object)
    if len(labels) != len(answered):
        raise InputError(
            f"must have one entry per label: {len(labels)} labels, {len(answered)} answers.", argument="answers"
        )
    gap = next((row for row in np.flatnonzero(answered).tolist() if is_missing(labels[row])), None)
    if gap is not None:
        raise InputError(
            f"must have a label in every row with an answer, got none in row {gap}: without it nobody can say "
            "whether the answer is right; fill it in or leave the row out.",
            argument="y",
        )
    labels[~answered] = team.classes[:1].astype(object)[0]  # they are not looked at
    return encode_labels(labels, team.classes)


def _rows_of(X: Any, answered: BoolArray) -> Any:
    """Return the rows with an answer."""
    table = X if hasattr(X, "iloc") or isinstance(X, PictureFiles) else np.asarray(X)
    if len(table) != len(answered):
        raise InputError(f"must have one row per label: {len(answered)} labels, {len(table)} rows.", argument="X")
    if isinstance(table, PictureFiles):
        return table.take(answered)
    return table.iloc[np.flatnonzero(answered)] if hasattr(table, "iloc") else table[answered]


def _one_by_one(rows: Any) -> Iterator[Any]:
    """Yield tables of one row each."""
    for i in range(len(rows)):
        yield rows.take([i]) if isinstance(rows, PictureFiles) else getattr(rows, "iloc", rows)[i : i + 1]


def _with_unknown(scorer: SkillScorer, team: "Team") -> SkillScorer:
    """Return the team with somebody of whom nothing but the population is known."""
    shape = team.item_shape or (team.n_features,)
    if None not in shape:  # scikit-learn's models score no empty table, and a mixture takes nobody
        scorer.with_expert(np.zeros((1, *shape)), [True], label_idx=np.zeros(1, dtype=np.int64))
    return scorer.with_unknown()


def _tell_of_nobody_wrong(name: str, right: BoolArray) -> None:
    """Warn where no answer is wrong: a copy of the labels looks like that."""
    if len(right) > 1 and right.all():
        warnings.warn(
            f"all {len(right)} answers of {name} are right. The model shrinks {name} toward the average expert; wrong "
            "answers are needed to tell where they are weak. If these are copies of the labels, remove the expert "
            "again.",
            stacklevel=4,
        )


def _tell_of_learned_from(name: str, team: "Team", scorer: SkillScorer, rows: Fingerprints) -> None:
    """Warn where a head that looks at how sure the model is learns from the model's own rows."""
    looks = scorer.skill.reads_belief or (isinstance(team.recipe, FeatureRecipe) and bool(team.recipe.text))
    shared = n_reused(rows, team.seen.get("fit", rows[:0]))
    if looks and shared > FEW_OF_FIT * len(rows):
        warnings.warn(
            f"{shared} of the {len(rows)} cases that {name} answered are among those that fit learned from. The model "
            f"is surer of these than it will be of new ones, so the estimate of {name} may be wrong on new cases; use "
            "answers to other cases.",
            stacklevel=4,
        )


def moved_here(seen: Mapping[str, Fingerprints], rows: Fingerprints) -> dict[str, Fingerprints]:
    """Return what has been seen, these rows being add_expert's from now on, whoever used them before.

    A row stands under one stage alone, so that it counts once: it moves here from an earlier stage. Should that stage
    be run again, it cannot use the row, from which a newcomer's head has learned. `fit` is never run again, and keeps
    its rows.

    Parameters
    ----------
    seen : mapping
        As `of_other_experts` gives it.
    rows : (m,)
        Fingerprints of the rows' features.
    """
    after, mine = dict(seen), [seen.get(STAGE, rows[:0])]
    rows = rows[held_out(mine[0], rows)]
    for stage in [name for name in seen if name != STAGE and not name.endswith(ANSWERED)]:
        theirs = seen[stage]
        if stage != "fit":
            stay = held_out(rows, theirs)
            after[stage] = theirs[stay]
            mine.append(theirs[~stay])
        rows = rows[held_out(theirs, rows)]
    after[STAGE] = np.concatenate([*mine, rows])
    return after
