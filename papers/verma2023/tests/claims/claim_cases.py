"""Made-up runs in which each of the paper's claims holds, and does not."""

from dataclasses import replace
from functools import partial

from defero_verma2023.claims import accuracy, calibration, overlap, sets
from defero_verma2023.claims.catalogue import FROM_TWO, OVERLAP
from defero_verma2023.claims.rules import Evidence
from defero_verma2023.claims.verdict import CONFIRMED, DEPENDS, NOT_CONFIRMED
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.runs.record import RunRecord

SEEDS = (0, 1, 2)
ORACLES = EXPERIMENTS["oracles"].settings
P_IN = EXPERIMENTS["sim2"].settings


def run(method, setting, seed=0, *, experiment="ham10000", net="net", protocol="as_published", **options):
    measures = options.pop("measures", {})
    return RunRecord(
        experiment, method, setting, seed, protocol, net, measures, options.pop("seconds", 60.0), **options
    )


def runs(method, metric, value, *, settings, seeds=SEEDS):
    """Runs of one measure: `value` is a number or a function of the setting; seeds scatter it by a thousandth."""
    found = value if callable(value) else lambda _: value
    return [
        run(method, setting, seed, measures={metric: found(setting) + (seed - 1) / 1000})
        for setting in settings
        for seed in seeds
    ]


def both(metric, ova, softmax, *, settings, seeds=SEEDS):
    return [
        *runs("ova", metric, ova, settings=settings, seeds=seeds),
        *runs("softmax", metric, softmax, settings=settings, seeds=seeds),
    ]


def merged(*parts):
    """Records with the measures of all parts."""
    found = {}
    for record in (record for part in parts for record in part):
        key = record.key
        before = found.get(key, record)
        found[key] = replace(before, measures={**before.measures, **record.measures})
    return tuple(found.values())


def ours(records):
    return Evidence(tuple(records), (), ())


def alone(value):
    return [run(ONE_CLASSIFIER, 0.0, seed, measures={"system_accuracy": value + (seed - 1) / 1000}) for seed in SEEDS]


def experts(value):
    return runs("ova", "best_expert", value, settings=FROM_TWO)


def accuracies(ova, other, *, name="softmax"):
    return [
        *runs("ova", "system_accuracy", ova, settings=FROM_TWO),
        *runs(name, "system_accuracy", other, settings=FROM_TWO),
    ]


FIG1 = {"where": "Fig. 1", "settings": FROM_TWO}
FIG3 = {"where": "Fig. 3", "settings": ORACLES}


def size(kind, extra):
    return both(f"sets.{kind}_as_run.size", lambda k: k + 1 + extra, lambda k: k + 1 + extra, settings=ORACLES)


def regularized(off, missed):
    return merged(
        both("sets.regularized_as_run.size", lambda k: k + 1 + off, lambda k: k + 1 + off, settings=ORACLES),
        both("sets.regularized_as_run.missed_share", missed, missed, settings=ORACLES),
        both("sets.missed_share.size", 5.0, 5.0, settings=ORACLES),
    )


def votes(first, one, second, other, *, settings):
    return merged(
        both(f"votes.{first}.system_accuracy", one, one, settings=settings),
        both(f"votes.{second}.system_accuracy", other, other, settings=settings),
        both("votes.top_expert.system_accuracy", other, other, settings=settings) if second == "top5" else [],
    )


def overlapping(size_at, missed):
    return merged(
        both("sets.regularized_as_run.size", size_at, size_at, settings=OVERLAP),
        both("sets.regularized_as_run.missed_share", missed, missed, settings=OVERLAP),
        both("sets.missed_share.size", 8.0, 8.0, settings=OVERLAP),
    )


def mixture(right):
    """A mixture with an error of one half, whose experts are right with one probability."""
    said = {int(j): {"ece": 0.5, "expert_accuracy": [right] * int(j)} for j in FROM_TWO}
    return [run("moe", j, seed, measures=said[int(j)]) for j in FROM_TWO for seed in SEEDS]


CASES = {
    "rises": (
        partial(accuracy.accuracy_rises_with_experts, **FIG1),
        {
            CONFIRMED: runs("ova", "system_accuracy", lambda j: 0.8 + j / 100, settings=FROM_TWO),
            DEPENDS: runs("ova", "system_accuracy", lambda j: 0.8 + j / 100 - 0.05 * (j == 5), settings=FROM_TWO),
            NOT_CONFIRMED: runs("ova", "system_accuracy", lambda j: 0.9 - j / 100, settings=FROM_TWO),
        },
    ),
    "comparable": (
        partial(accuracy.methods_are_comparable, **FIG1, other="softmax"),
        {CONFIRMED: accuracies(0.9, 0.895), NOT_CONFIRMED: accuracies(0.9, 0.8)},
    ),
    "more accurate": (
        partial(accuracy.ova_is_more_accurate, **FIG1, other="moe"),
        {CONFIRMED: accuracies(0.9, 0.88, name="moe"), NOT_CONFIRMED: accuracies(0.9, 0.9, name="moe")},
    ),
    "above one classifier": (
        partial(accuracy.ova_never_falls_below_one_classifier, **FIG1),
        {
            CONFIRMED: [*accuracies(0.9, 0.9), *alone(0.89)],
            DEPENDS: [*accuracies(lambda j: 0.95 if j > 2 else 0.88, 0.9), *alone(0.89)],
            NOT_CONFIRMED: [*accuracies(0.85, 0.9), *alone(0.89)],
        },
    ),
    "softmax below one classifier": (
        partial(accuracy.softmax_falls_below_one_classifier, **FIG1),
        {
            CONFIRMED: [*accuracies(0.9, lambda j: 0.95 if j > 2 else 0.88), *alone(0.89)],
            NOT_CONFIRMED: [*accuracies(0.9, 0.95), *alone(0.89)],
        },
    ),
    "above the best expert": (
        partial(accuracy.ova_is_above_the_best_expert, **FIG1),
        {
            CONFIRMED: merged(accuracies(0.9, 0.9), experts(0.8)),
            DEPENDS: merged(accuracies(0.9, 0.9), experts(lambda j: 0.95 if j == 10 else 0.8)),
            NOT_CONFIRMED: merged(accuracies(0.9, 0.9), experts(0.91)),
        },
    ),
    "few copies": (
        accuracy.ova_is_ahead_with_few_copies,
        {
            CONFIRMED: both("system_accuracy", 0.91, 0.9, settings=(4.0, 8.0, 12.0, 16.0)),
            NOT_CONFIRMED: both("system_accuracy", 0.9, 0.91, settings=(4.0, 8.0, 12.0)),
        },
    ),
    "twenty copies": (
        accuracy.softmax_is_ahead_with_twenty_copies,
        {
            CONFIRMED: both("system_accuracy", 0.9, 0.91, settings=(20.0,)),
            DEPENDS: both("system_accuracy", 0.9, 0.91, settings=(20.0,), seeds=(0,)),
            NOT_CONFIRMED: both("system_accuracy", 0.91, 0.9, settings=(20.0,)),
        },
    ),
    "calibration": (
        partial(calibration.ova_is_better_calibrated, **FIG1),
        {
            CONFIRMED: both("ece", 0.01, 0.04, settings=FROM_TWO),
            DEPENDS: both("ece", lambda j: 0.05 if j == 3 else 0.01, 0.04, settings=FROM_TWO),
            NOT_CONFIRMED: both("ece", 0.04, 0.01, settings=FROM_TWO),
        },
    ),
    "stable": (
        calibration.ova_is_stable_and_softmax_twice_as_far_off,
        {
            CONFIRMED: both("ece", 0.02, 0.045, settings=(4.0, 8.0, 12.0, 16.0, 20.0)),
            DEPENDS: both("ece", lambda j: 0.01 + j / 1000, 0.045, settings=(4.0, 8.0, 12.0, 16.0, 20.0)),
            NOT_CONFIRMED: both("ece", 0.02, 0.015, settings=(4.0, 8.0, 12.0, 16.0, 20.0)),
        },
    ),
    "softmax and the random expert": (
        calibration.softmax_mistakes_the_random_expert,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN),
            DEPENDS: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN, seeds=(0,)),
            NOT_CONFIRMED: both("ece_by_expert.0", 0.01, lambda p: 0.02 - p / 50, settings=P_IN),
        },
    ),
    "OvA and the random expert": (
        calibration.ova_knows_the_random_expert,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN),
            DEPENDS: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN, seeds=(0,)),
            NOT_CONFIRMED: both("ece_by_expert.0", lambda p: p / 50, 0.01, settings=P_IN),
        },
    ),
    "better on the random expert": (
        calibration.ova_is_better_on_the_random_expert,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, 0.02, settings=P_IN),
            NOT_CONFIRMED: both("ece_by_expert.0", 0.02, 0.01, settings=P_IN),
        },
    ),
    "mixture": (
        partial(calibration.mixture_is_badly_calibrated, **FIG1),
        {
            CONFIRMED: [*runs("moe", "ece", 0.4, settings=FROM_TWO), *runs("ova", "ece", 0.02, settings=FROM_TWO)],
            DEPENDS: [
                *runs("moe", "ece", lambda j: 0.07 if j == 3 else 0.4, settings=FROM_TWO),
                *runs("ova", "ece", 0.02, settings=FROM_TWO),
            ],
            NOT_CONFIRMED: [*runs("moe", "ece", 0.01, settings=FROM_TWO), *runs("ova", "ece", 0.02, settings=FROM_TWO)],
        },
    ),
    "objective": (
        partial(calibration.the_objective_is_to_blame, **FIG1),
        {NOT_CONFIRMED: mixture(0.6), DEPENDS: mixture(0.3)},
    ),
    "naive sets": (
        partial(sets.naive_sets_are_too_large, **FIG3),
        {CONFIRMED: size("naive", 2.0), NOT_CONFIRMED: size("naive", -0.5)},
    ),
    "naive promise": (
        partial(sets.naive_sets_keep_their_promise, **FIG3),
        {
            CONFIRMED: both("sets.naive_as_run.all_correct", 0.9, 0.91, settings=ORACLES),
            DEPENDS: both("sets.naive_as_run.all_correct", lambda k: 0.7 if k == 0 else 0.92, 0.95, settings=ORACLES),
            NOT_CONFIRMED: both("sets.naive_as_run.all_correct", 0.8, 0.95, settings=ORACLES),
        },
    ),
    "closer naive sets": (
        partial(sets.ova_s_naive_sets_are_closer, settings=ORACLES),
        {
            CONFIRMED: merged(
                both("sets.naive_as_run.size", lambda k: k + 2, lambda k: k + 5, settings=ORACLES),
                both("sets.naive_as_written.size", lambda k: k + 2, lambda k: k + 5, settings=ORACLES),
            ),
            DEPENDS: merged(
                both("sets.naive_as_run.size", lambda k: k + 2, lambda k: k + 5, settings=ORACLES),
                both("sets.naive_as_written.size", lambda k: k + 2, lambda k: k + 2, settings=ORACLES),
            ),
            # Smaller than softmax's, and farther from the number of oracles: too small.
            NOT_CONFIRMED: both("sets.naive_as_run.size", lambda k: k - 2, lambda k: k + 2, settings=ORACLES),
        },
    ),
    "regularized sets": (
        partial(sets.regularized_sets_find_the_oracles, **FIG3, method="softmax"),
        {
            CONFIRMED: regularized(0.3, 0.1),
            DEPENDS: regularized(0.3, lambda k: 0.3 if k < 2 else 0.1),
            NOT_CONFIRMED: regularized(2.0, 0.1),
        },
    ),
    "regularized sets that leave the right experts out": (
        partial(sets.regularized_sets_find_the_oracles, **FIG3, method="ova"),
        {NOT_CONFIRMED: regularized(0.3, 0.6)},
    ),
    "closer regularized sets": (
        sets.softmax_s_regularized_sets_are_closer,
        {
            CONFIRMED: both("sets.regularized_as_run.size", 1.0, lambda k: k + 1, settings=ORACLES),
            NOT_CONFIRMED: both("sets.regularized_as_run.size", lambda k: k + 1, 1.0, settings=ORACLES),
        },
    ),
    "a fixed five": (
        sets.conformal_beats_a_fixed_five,
        {
            CONFIRMED: votes("regularized", 0.9, "top5", 0.7, settings=(0.0, 1.0)),
            DEPENDS: votes("regularized", lambda k: 0.9 - 0.25 * k, "top5", 0.7, settings=(0.0, 1.0)),
            NOT_CONFIRMED: votes("regularized", 0.6, "top5", 0.7, settings=(0.0, 1.0)),
        },
    ),
    "equal votes": (
        sets.votes_are_equal_with_three_oracles,
        {
            CONFIRMED: votes("regularized", 0.9, "top5", 0.902, settings=ORACLES),
            NOT_CONFIRMED: votes("regularized", 0.9, "top5", 0.95, settings=ORACLES),
        },
    ),
    "growing sets": (
        partial(overlap.regularized_sets_grow_with_overlap, settings=OVERLAP),
        {
            CONFIRMED: overlapping(lambda p: 10 * p, 0.1),
            DEPENDS: overlapping(lambda p: 10 * p, 0.7),
            NOT_CONFIRMED: overlapping(lambda p: 9 - p, 0.1),
        },
    ),
    "everybody": (
        partial(overlap.naive_sets_hold_everybody, settings=OVERLAP),
        {
            CONFIRMED: both("sets.naive_as_run.size", 9.5, 9.6, settings=OVERLAP),
            NOT_CONFIRMED: both("sets.naive_as_run.size", 9.5, 4.0, settings=OVERLAP),
        },
    ),
    "naive vote and five": (
        partial(overlap.the_naive_vote_beats_a_fixed_five, settings=OVERLAP),
        {
            CONFIRMED: votes("naive_as_run", 0.9, "top5", 0.89, settings=OVERLAP),
            NOT_CONFIRMED: votes("naive_as_run", 0.88, "top5", 0.89, settings=OVERLAP),
        },
    ),
    "naive vote and top expert": (
        overlap.the_naive_vote_beats_the_top_expert,
        {
            CONFIRMED: votes("naive_as_run", 0.9, "top_expert", 0.89, settings=OVERLAP),
            DEPENDS: votes("naive_as_run", lambda p: 0.8 + 0.2 * p, "top_expert", 0.9, settings=OVERLAP),
            NOT_CONFIRMED: votes("naive_as_run", 0.88, "top_expert", 0.89, settings=OVERLAP),
        },
    ),
    "regularized vote": (
        overlap.the_regularized_vote_drops,
        {
            CONFIRMED: votes("top_expert", 0.9, "regularized", 0.89, settings=OVERLAP),
            NOT_CONFIRMED: votes("top_expert", 0.9, "regularized", 0.91, settings=OVERLAP),
        },
    ),
}
