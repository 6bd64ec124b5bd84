"""Method "auto": choose a method for each expert by held-out answers, and hold the chosen maps side by side."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from defero.calibration.isotonic import fit_isotonic
from defero.calibration.maps import MAPS, AnyMaps, ExpertMaps, Untouched, compress
from defero.calibration.platt import PlattMaps, fit_platt
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.scores import Link

NewcomersMap = Literal["typical", "identity"]

FOLDS = 5
FEWEST_ANSWERS = 20
"""With fewer answers of all experts together nothing can be judged, and no expert is changed."""
FEWEST_LABELS = 10
"""With fewer labels the model is not changed. Its temperature is one number, shrunk toward 1: from 10 to 19 labels it
costs a calibrated model no more than from 20 to 30 (0.01 nats), and corrects an overconfident one."""
SURE = 0.5
"""A change must gain this many standard errors: with 1, too many overconfident experts are left as they are."""
WORTHWHILE = 0.001
"""A change must lower the log loss by at least this much per answer."""
MANY_ANSWERS = 1000
"""Isotonic steps are considered for experts with at least as many."""
OF_ALL = 30.0
"""How many answers' worth of all experts' variance is added to an expert's own, which a few answers hardly show."""
_SUREST = 1e12


def with_newcomer(maps: ExpertMaps, newcomer: NewcomersMap) -> ExpertMaps:
    """Return the maps with one more at the end; those of the others are as they were.

    Parameters
    ----------
    maps : ExpertMaps of J experts
    newcomer : "typical" or "identity"
        "typical", for scores that were made as those of the others: the pooled map where most of them have Platt's,
        which is what an expert without held-out answers gets; else the identity, as isotonic steps are each
        expert's own. "identity": the score is taken at its word.

    Examples
    --------
    >>> maps = PlattMaps("logit", (2.0, 0.5), (0.1, 0.2), (0.8, 0.0))
    >>> with_newcomer(maps, "typical").slope
    (2.0, 0.5, 0.8)
    >>> with_newcomer(maps, "identity").methods
    ('platt', 'platt', 'none')
    """
    j = maps.n_experts
    parts = list(zip(maps.parts, maps.experts, strict=True)) if isinstance(maps, ChosenMaps) else [(maps, range(j))]
    mended = newcomer == "typical" and 2 * maps.methods.count("none") < max(j, 1)
    new_parts: list[tuple[ExpertMaps, tuple[int, ...]]] = []
    taken = PlattMaps if mended and any(isinstance(part, PlattMaps) for part, _ in parts) else Untouched
    for part, columns in parts:
        if isinstance(part, taken):
            new_parts.append((part.with_newcomer(), (*columns, j)))
        else:
            new_parts.append((part, tuple(columns)))
    if not any(isinstance(part, taken) for part, _ in parts):
        new_parts.append((Untouched(maps.link, 1), (j,)))
    return side_by_side(new_parts, link=maps.link)


@dataclass(frozen=True)
class ChosenMaps:
    """Maps of several methods, each for some of the experts.

    Attributes
    ----------
    parts : maps, one per method in use
    experts : for each part the columns it takes, in order; together 0..J-1
    """

    parts: tuple[AnyMaps, ...]
    experts: tuple[tuple[int, ...], ...]
    kind: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        sizes = [part.n_experts for part in self.parts]
        if not sizes or sizes != [len(columns) for columns in self.experts]:
            raise InputError("parts and experts must be as many, with one column for each of a part's maps.")
        if sorted(j for columns in self.experts for j in columns) != list(range(sum(sizes))):
            raise InputError("must name each column 0..J-1 once.", argument="experts")
        if len({part.link for part in self.parts}) != 1:
            raise InputError("must be of one link.", argument="parts")

    @property
    def link(self) -> Link:
        """What the raw scores are that these maps take."""
        return self.parts[0].link

    @property
    def n_experts(self) -> int:
        """J."""
        return sum(part.n_experts for part in self.parts)

    @property
    def methods(self) -> tuple[str, ...]:
        """Which method each expert got."""
        name_of = {
            j: name
            for part, columns in zip(self.parts, self.experts, strict=True)
            for j, name in zip(columns, part.methods, strict=True)
        }
        return tuple(name_of[j] for j in range(self.n_experts))

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J)."""
        if self.experts == (tuple(range(expert_raw.shape[1])),):  # one method for everybody
            return self.parts[0].logits(expert_raw)
        logits = np.empty(expert_raw.shape)
        for part, columns in zip(self.parts, self.experts, strict=True):
            logits[:, columns] = part.logits(expert_raw[:, columns])
        return logits

    def take(self, experts: tuple[int, ...]) -> ExpertMaps:
        """Return the maps of some experts, in this order.

        >>> both = ChosenMaps((Untouched("logit", 1), PlattMaps("logit", (2.0,), (0.0,), (1.0, 0.0))), ((1,), (0,)))
        >>> both.take((1, 0)).methods
        ('none', 'platt')
        """
        chosen: list[tuple[ExpertMaps, tuple[int, ...]]] = []
        for part, columns in zip(self.parts, self.experts, strict=True):
            place = {old: inside for inside, old in enumerate(columns)}
            new = tuple(j for j, old in enumerate(experts) if old in place)
            if new:
                chosen.append((part.take(tuple(place[experts[j]] for j in new)), new))
        return side_by_side(chosen, link=self.link)


MAPS.register(ChosenMaps.kind, ChosenMaps)


def side_by_side(parts: list[tuple[ExpertMaps, tuple[int, ...]]], *, link: Link) -> ExpertMaps:
    """Return maps of several methods, each with its columns, as one; nobody's maps where there are none."""
    if not parts:
        return Untouched(link, 0)
    if len(parts) == 1 and parts[0][1] == tuple(range(parts[0][0].n_experts)):
        return parts[0][0]
    return ChosenMaps(tuple(part for part, _ in parts), tuple(columns for _, columns in parts))


def folds(n_items: int) -> IntArray:
    """Return the fold of each item, (n,): drawn with a fixed seed, their sizes at most one apart.

    >>> np.bincount(folds(12)).tolist()
    [3, 3, 2, 2, 2]
    """
    return np.random.default_rng(0).permutation(n_items) % FOLDS


def pays(gain: FloatArray | float, error: FloatArray | float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return whether a mean gain is worthwhile, and larger than half of its standard error.

    >>> pays(np.array([0.01, 0.01, 0.0005]), np.array([0.005, 0.02, 0.0])).tolist()
    [True, False, False]
    """
    return (np.asarray(gain) > SURE * np.asarray(error)) & (np.asarray(gain) > WORTHWHILE)


def choose_maps(expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link) -> ExpertMaps:
    """Fit the methods and give each expert one: none, Platt's, or isotonic steps from 1,000 answers on.

    Each method's log loss is that on answers which its fit did not see (five folds, drawn with a fixed seed). An
    expert's gain is shrunk toward the mean gain of all experts, the more the fewer their answers are and the less the
    experts differ (a random-effects mean): with 30 answers the pool decides, with thousands the expert's own. A change
    must gain 0.001 per answer and half a standard error; where it does not, the expert keeps the simpler method.

    Parameters
    ----------
    expert_raw : (n, J)
        Raw scores, as in `Scores`.
    correct, observed : (n, J) bool
    link : "logit" or "log"

    Examples
    --------
    The first expert is what they claim to be; the second claims 0.98 and is right in three of four cases.

    >>> right = (np.arange(4000) % 4 > 0)[:, None].repeat(2, axis=1)
    >>> raw = np.tile([np.log(3), 4.0], (4000, 1))
    >>> choose_maps(raw, right, np.ones_like(right), link="logit").methods
    ('none', 'platt')
    """
    if observed.sum() < FEWEST_ANSWERS:
        return Untouched(link, expert_raw.shape[1])
    count = observed.sum(axis=0)
    many = count >= MANY_ANSWERS
    plain, platt, steps = _held_out_losses(expert_raw, correct, observed, link=link, steps_too=bool(many.any()))
    use_platt = _pays(plain - platt, observed, among=np.ones_like(many))
    so_far = np.where(use_platt, platt, plain)
    use_steps = many & _pays(so_far - steps, observed, among=many)
    chosen = np.where(use_steps, "isotonic", np.where(use_platt, "platt", "none"))
    parts: list[tuple[ExpertMaps, tuple[int, ...]]] = []
    for name in ("none", "platt", "isotonic"):
        columns = tuple(np.flatnonzero(chosen == name).tolist())
        if columns and name == "none":
            parts.append((Untouched(link, len(columns)), columns))
        elif columns and name == "platt":
            parts.append((fit_platt(expert_raw, correct, observed, link=link).take(columns), columns))
        elif columns:
            parts.append((fit_isotonic(expert_raw, correct, observed, link=link).take(columns), columns))
    return ChosenMaps(tuple(part for part, _ in parts), tuple(columns for _, columns in parts))


def _log_loss(logits: FloatArray, correct: BoolArray) -> FloatArray:
    """Return the log loss of each cell, (n, J)."""
    return np.logaddexp(0.0, np.where(correct, -logits, logits))


def _held_out_losses(
    expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link, steps_too: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each cell's log loss untouched, by Platt's maps and by isotonic steps of the other folds, (n, J) each."""
    # Compressed: one wrong answer at a log-odds of 1e4 is no measure of the others.
    plain = _log_loss(compress(Untouched(link, expert_raw.shape[1]).logits(expert_raw)), correct)
    platt, steps = plain.copy(), plain.copy()
    fold = folds(len(expert_raw))
    for k in range(FOLDS):
        out, rest = fold == k, fold != k
        if not observed[rest].any():
            continue
        maps = fit_platt(expert_raw[rest], correct[rest], observed[rest], link=link)
        platt[out] = _log_loss(maps.logits(expert_raw[out]), correct[out])
        if steps_too:
            curves = fit_isotonic(expert_raw[rest], correct[rest], observed[rest], link=link)
            steps[out] = _log_loss(curves.logits(expert_raw[out]), correct[out])
    return plain, platt, steps


def _pays(gain: FloatArray, observed: BoolArray, *, among: BoolArray) -> BoolArray:
    """Return for whom a change pays, (J,), from what it gains in each cell; the pool is that of some experts."""
    used = observed & among
    count = used.sum(axis=0)
    if not used.any():
        return np.zeros(len(among), dtype=np.bool_)
    own = gain.sum(axis=0, where=used) / np.maximum(count, 1)
    squares = ((gain - own) ** 2).sum(axis=0, where=used)
    within = (squares + OF_ALL * squares.sum() / count.sum()) / (count + OF_ALL)
    with np.errstate(divide="ignore"):
        sure = count / within  # 1 / standard error^2; infinite where every answer gained the same
    sure = np.minimum(sure, _SUREST)
    of_all, error_of_all, between = _mean_of_all(own[count > 0], sure[count > 0])
    # Answers to one case are not independent: of ten clones there is one.
    error_of_all = max(error_of_all, _error_by_case(gain - own, used, sure / np.maximum(count, 1)))
    trust = between * sure / (between * sure + 1)
    error = trust / np.sqrt(np.maximum(sure, 1 / _SUREST)) + (1 - trust) * error_of_all
    return pays(trust * own + (1 - trust) * of_all, error)


def _mean_of_all(own: FloatArray, sure: FloatArray) -> tuple[float, float, float]:
    """Return the mean of the experts' true gains, its standard error, and how much they vary (a variance).

    The variance is what the experts' means differ by beyond chance (DerSimonian and Laird's moment estimate).
    """
    mean = float(np.average(own, weights=sure))
    beyond = float((sure * (own - mean) ** 2).sum()) - (len(own) - 1)
    room = float(sure.sum() - (sure**2).sum() / sure.sum())
    between = max(beyond / room, 0.0) if room > 0 else 0.0
    weight = 1 / (1 / sure + between)
    return float(np.average(own, weights=weight)), float(1 / np.sqrt(weight.sum())), between


def _error_by_case(residual: FloatArray, used: BoolArray, weight: FloatArray) -> float:
    """Return the standard error of the mean over all cells, column j weighted by weight[j], with cases as clusters."""
    by_case = (residual * weight).sum(axis=1, where=used)
    return float(np.sqrt((by_case**2).sum()) / (used * weight).sum())
