"""A team on held-out cases: everything that a person asks of it, in one value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from defero.core.trial import WAYS, Trial
from defero.core.wording import Plain, plain
from defero.judge.accuracy import ClassRecall, class_recalls
from defero.judge.calibration import expected_calibration_error, mean_of_known
from defero.judge.groups import GroupCalibration, calibration_by_group, skill_by_class
from defero.judge.intervals import Accuracies, Comparison, Share, compare
from defero.judge.panels import PanelRecord, panel_record
from defero.judge.record.cautions import cautions_of
from defero.judge.record.members import MemberRecord, TeamPromises, member_records, team_promises
from defero.judge.record.ways import CostRecord, WayRecord, cost_record, way_records
from defero.judge.shared_errors import SharedErrors, shared_errors


@dataclass(frozen=True, eq=False)
class Record(Plain):
    """The team beside the model alone and each expert.

    On recorded data only an expert whose answer is recorded can be asked.

    Attributes
    ----------
    team, model : Share
        Right, the team and the model alone.
    team_minus_model : Comparison
        The team (first) against the model (second). Where no case is deferred the two are the same, and the interval
        has no width.
    coverage : float
        The share of the cases that the model decides.
    recorded_answers_per_item : float
        How many answers a case has on average.
    experts : tuple of MemberRecord
    promises : TeamPromises
        What was promised of the deciders and what was kept: in total, by the model, by each expert.
    model_member : MemberRecord
        The model as a member.
    pooled_error, mean_error : float
        ECE of the experts' probabilities: all their answers as one forecaster's, and the mean over the experts.
    recall : tuple of K ClassRecall
        The share of each class's cases that were called so, by the team and by the model.
    estimates_above_one : float
        The share of (case, expert) cells whose estimate exceeds 1 before calibration, the softmax loss's fault.
    skill : Accuracies
        Each expert by true class: counts and accuracies (J, K).
    by_predicted_class : GroupCalibration
        The model's promise beside what it kept, by the class it named; its groups are class numbers.
    shared_errors : SharedErrors
        Who errs with whom, beyond what the cases explain.
    cautions : tuple of str
        What a reader should know before believing the numbers, in sentences.
    estimates : "probabilities" or "weights"
        What the team goes by. Weights, a mixture of experts', promise nothing: whatever is said of promises and
        calibration errors is then nan or None.
    recalibrated : bool
        Were the estimates corrected on cases of their own?
    panel : PanelRecord, optional
    panel_note : str, optional
        Why there is none though the team has panels.
    ways : tuple of WayRecord
        Every way of asking on these cases, and the plain alternatives.
    ask : "one", "sequential" or "panel"
        The way that the team's figures are of. Those of the experts and of the model's share are of one expert.
    fees_given : bool
        Whether costs have the user's fees; else a question costs 0.01 of an error.
    costs : CostRecord, optional
        What every way costs in money, where fees or costs of errors were given.
    """

    HIDDEN: ClassVar[tuple[str, ...]] = (
        *("promises", "model_member", "pooled_error", "mean_error", "skill", "by_predicted_class", "ways", "costs"),
    )
    MORE: ClassVar[tuple[str, ...]] = (
        *("items", "only_team_right", "only_model_right", "promised", "kept", "coverage_with_all", "questions"),
        *("skill_by_class", "model_by_predicted_class"),
    )

    team: Share
    model: Share
    team_minus_model: Comparison
    coverage: float
    recorded_answers_per_item: float
    experts: tuple[MemberRecord, ...]
    promises: TeamPromises
    model_member: MemberRecord
    pooled_error: float
    mean_error: float
    recall: tuple[ClassRecall, ...]
    estimates_above_one: float
    skill: Accuracies
    by_predicted_class: GroupCalibration
    shared_errors: SharedErrors
    estimates: Literal["probabilities", "weights"] = "probabilities"
    recalibrated: bool = False
    panel: PanelRecord | None = None
    panel_note: str | None = None
    ways: tuple[WayRecord, ...] = ()
    ask: str = "one"
    fees_given: bool = False
    costs: CostRecord | None = None
    cautions: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[object, ...]:
        """K labels."""
        return tuple(one.label for one in self.recall)

    @property
    def class_counts(self) -> tuple[int, ...]:
        """K whole numbers: how many cases of each class there are."""
        return tuple(one.team.total for one in self.recall)

    @property
    def coverage_with_all(self) -> float:
        """The share that the model would decide if everybody could be asked; nan where there are no panels to tell."""
        return math.nan if self.panel is None else 1 - self.panel.deferred / self.team.total

    @property
    def promised(self) -> float:
        """The mean P(right) of the chosen decider, over all cases; nan for weights."""
        return self.promises.total.promised

    @property
    def kept(self) -> float:
        """How often the chosen decider was right."""
        return self.promises.total.kept.value

    @property
    def way(self) -> WayRecord | None:
        """The way that the team settles a case."""
        return next((one for one in self.ways if one.name == self.ask), None)

    @property
    def only_team_right(self) -> int:
        """How many cases the team gets right where the model alone is wrong."""
        return self.team_minus_model.only_first

    @property
    def only_model_right(self) -> int:
        """How many cases the model alone gets right where the team is wrong."""
        return self.team_minus_model.only_second

    @property
    def promising(self) -> bool:
        """Whether the team goes by probabilities, which promise something."""
        return self.estimates == "probabilities"

    @property
    def items(self) -> int:
        """How many cases there are."""
        return self.team.total

    @property
    def questions(self) -> float | None:
        """How many answers the team heard per case."""
        return None if self.way is None else self.way.questions

    @property
    def skill_by_class(self) -> list[dict[str, Any]]:
        """How many answers of each expert to each true class, and how many were right."""
        skill = self.skill
        values = {"n": skill.count, "accuracy": skill.accuracy, "low": skill.low, "high": skill.high}
        return [
            {"expert": expert.name, "class": label, **{name: one[j, k].item() for name, one in values.items()}}
            for j, expert in enumerate(self.experts)
            for k, label in enumerate(self.classes)
        ]

    @property
    def model_by_predicted_class(self) -> list[dict[str, Any]]:
        """What the model promised and kept where it named each class."""
        one = self.by_predicted_class
        values = {"n": one.count, "promised": one.promised, "kept": one.accuracy, "low": one.low, "high": one.high}
        return [
            {"class": self.classes[int(k)], **{name: array[g, 0].item() for name, array in values.items()}}
            for g, k in enumerate(one.groups)
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row of figures for the team, the model and each expert, as a data frame has them."""
        members = (self.model_member, *self.experts)
        shares = [("team", self.team, {}), *((one.name, one.alone, one.frame_row(self.items)) for one in members)]
        return [
            {"name": name, "answers": one.total, "right": one.value, "low": low, "high": high, **more}
            for name, one, more in shares
            for low, high in [one.interval]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        model, ways = self.model_member, {one.name: one for one in self.ways}
        others = {
            "promise": self.promises.total,
            "experts_promise": self.promises.all_experts,
            "model_calibration": {"decided": model.asked, "promise": model.promise, **model.metrics},
            "experts_calibration_error": {"pooled": self.pooled_error, "mean": self.mean_error},
            "ways": {name: ways.get(name) for name in WAYS},
            "cost": self.costs,
        }
        return super().to_dict() | {name: plain(value) for name, value in others.items()}


def team_record(
    trial: Trial,
    *,
    training_answers: Sequence[int] | None = None,
    panel_cases: int | None = None,
    rng: np.random.Generator,
) -> Record:
    """Judge a team's decisions on cases whose labels and recorded answers are known.

    Parameters
    ----------
    trial : Trial of n cases, J experts
    training_answers : J whole numbers, optional
        How many answers of each expert were learned from.
    panel_cases : int, optional
        On how many cases the panels were calibrated; see `panel_record`.
    rng : numpy.random.Generator
        For the bootstrap intervals.
    """
    scores, n_classes = trial.scores, len(trial.classes)
    team_right, model_right = trial.team_correct, trial.model_correct
    observed, correct = trial.observed, trial.expert_correct
    gain = compare(team_right, model_right)
    promises = team_promises(trial)
    *experts, model = member_records(trial, promises, training_answers, rng=rng)
    ways = way_records(trial)
    weights, proba = scores.link == "weight", scores.expert_proba
    pooled = expected_calibration_error(proba[observed], correct[observed])
    by_class = calibration_by_group(trial.model_proba, trial.model_correct, trial.model_idx)
    record = Record(
        team=Share(int(team_right.sum()), len(trial)),
        model=Share(int(model_right.sum()), len(trial)),
        # Where no case is deferred the team is the model, on any cases.
        team_minus_model=gain
        if not trial.settled_by_model.all()
        else replace(gain, low=gain.difference, high=gain.difference),
        coverage=float(trial.settled_by_model.mean()) if len(trial) else math.nan,
        recorded_answers_per_item=float(observed.sum() / len(trial)) if len(trial) else math.nan,
        experts=tuple(experts),
        promises=promises,
        model_member=model,
        pooled_error=math.nan if weights else pooled,
        mean_error=mean_of_known(np.array([expert.figures["calibration_error"].value for expert in experts])),
        recall=class_recalls(trial),
        # Calibration hides the softmax estimate's fault from its users, not from the judge.
        estimates_above_one=trial.uncalibrated.above_one(),
        skill=skill_by_class(correct, trial.label_idx, n_classes, observed=observed),
        by_predicted_class=replace(by_class, promised=by_class.promised * math.nan) if weights else by_class,
        shared_errors=shared_errors(
            trial.answer_idx, trial.label_idx, None if weights else proba, expert_names=trial.expert_names
        ),
        estimates="weights" if weights else "probabilities",
        recalibrated=trial.uncalibrated is not scores,
        panel=None if trial.panel is None else panel_record(trial, calibrated_on=panel_cases),
        panel_note=trial.panel_note,
        ways=ways,
        ask=trial.ask,
        fees_given=trial.fees_given,
        costs=cost_record(trial, ways),
    )
    cautions = cautions_of(record, trial, panel_cases=panel_cases)
    return replace(record, cautions=cautions)
