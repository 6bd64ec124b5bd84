"""Made-up runs in which each of the paper's claims holds, and does not."""

from dataclasses import replace
from functools import partial

from defero_verma2023.claims import accuracy, beside, calibration, overlap, sets
from defero_verma2023.claims.catalogue import FROM_TWO, OVERLAP
from defero_verma2023.claims.judge import Evidence
from defero_verma2023.claims.verdict import CANNOT_DECIDE, CONFIRMED, CONTRADICTED, INCONCLUSIVE
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


def runs(method, metric, value, *, settings, seeds=SEEDS, scatter=0.001):
    """Runs of one measure: `value` is a number or a function of the setting; seeds lie `scatter` apart."""
    value_at = value if callable(value) else lambda _: value
    return [
        run(method, setting, seed, measures={metric: value_at(setting) + (seed - 1) * scatter})
        for setting in settings
        for seed in seeds
    ]


def both(metric, ova, softmax, *, settings, seeds=SEEDS, scatter=0.001):
    """Runs of both losses; with a scatter of its own for OvA, so that differences scatter too."""
    return [
        *runs("ova", metric, ova, settings=settings, seeds=seeds, scatter=scatter),
        *runs("softmax", metric, softmax, settings=settings, seeds=seeds),
    ]


def merged(*parts):
    """Records with the measures of all parts."""
    by_key = {}
    for record in (record for part in parts for record in part):
        before = by_key.get(record.key, record)
        by_key[record.key] = replace(before, measures={**before.measures, **record.measures})
    return tuple(by_key.values())


def ours(records):
    return Evidence(tuple(records), (), ())


def alone(value):
    return [run(ONE_CLASSIFIER, 0.0, seed, measures={"system_accuracy": value + (seed - 1) / 1000}) for seed in SEEDS]


def experts(value):
    return runs("ova", "best_expert", value, settings=FROM_TWO)


def accuracies(ova, other, *, name="softmax", scatter=0.001):
    return [
        *runs("ova", "system_accuracy", ova, settings=FROM_TWO, scatter=scatter),
        *runs(name, "system_accuracy", other, settings=FROM_TWO),
    ]


FIG1 = {"where": "Fig. 1", "settings": FROM_TWO}
FIG3 = {"where": "Fig. 3", "settings": ORACLES}


def size(kind, extra, *, scatter=0.001):
    metric = f"sets.{kind}_as_run.size"
    return both(metric, lambda k: k + 1 + extra, lambda k: k + 1 + extra, settings=ORACLES, scatter=scatter)


def votes(first, one, second, other, *, settings, scatter=0.001):
    return merged(
        both(f"votes.{first}.system_accuracy", one, one, settings=settings, scatter=scatter),
        both(f"votes.{second}.system_accuracy", other, other, settings=settings),
        both("votes.top_expert.system_accuracy", other, other, settings=settings) if second == "top5" else [],
    )


def overlapping(size_at, *, naive=9.5, scatter=0.001):
    return merged(
        both("sets.regularized_as_run.size", size_at, size_at, settings=OVERLAP, scatter=scatter),
        both("sets.naive_as_run.size", naive, naive, settings=OVERLAP),
    )


def mixture(right):
    """A mixture with an error of one half, whose experts are right with one probability."""
    measures = {int(j): {"ece": 0.5, "expert_accuracy": [right] * int(j)} for j in FROM_TWO}
    return [run("moe", j, seed, measures=measures[int(j)]) for j in FROM_TWO for seed in SEEDS]


FEW = (4.0, 8.0, 12.0)
FROM_FOUR = (4.0, 8.0, 12.0, 16.0, 20.0)

CASES = {
    "rises": (
        partial(accuracy.accuracy_rises_with_experts, **FIG1),
        {
            CONFIRMED: runs("ova", "system_accuracy", lambda j: 0.8 + j / 100, settings=FROM_TWO),
            INCONCLUSIVE: runs("ova", "system_accuracy", lambda j: 0.8 + j / 100, settings=FROM_TWO, seeds=(0,)),
            CONTRADICTED: runs("ova", "system_accuracy", lambda j: 0.9 - j / 100, settings=FROM_TWO),
        },
    ),
    "comparable": (
        partial(accuracy.methods_are_comparable, **FIG1, other="softmax"),
        {
            CONFIRMED: accuracies(0.9, 0.895),
            INCONCLUSIVE: accuracies(0.9, 0.895, scatter=0.03),
            CONTRADICTED: accuracies(0.9, 0.8),
        },
    ),
    "more accurate": (
        partial(accuracy.ova_is_more_accurate, **FIG1, other="moe"),
        {
            CONFIRMED: accuracies(0.9, 0.88, name="moe"),
            INCONCLUSIVE: accuracies(0.9, 0.88, name="moe", scatter=0.03),
            CONTRADICTED: accuracies(0.9, 0.91, name="moe"),
        },
    ),
    "above one classifier": (
        partial(accuracy.ova_never_falls_below_one_classifier, **FIG1),
        {
            CONFIRMED: [*accuracies(0.9, 0.9), *alone(0.89)],
            INCONCLUSIVE: [*accuracies(0.9, 0.9, scatter=0.03), *alone(0.89)],
            # One clear setting is enough, though the mean lies on the claim's side.
            CONTRADICTED: [*accuracies(lambda j: 0.95 if j > 2 else 0.88, 0.9), *alone(0.89)],
        },
    ),
    "softmax below one classifier": (
        partial(accuracy.softmax_falls_below_one_classifier, **FIG1),
        {
            CONFIRMED: [*accuracies(0.9, lambda j: 0.95 if j > 2 else 0.88), *alone(0.89)],
            INCONCLUSIVE: [*runs("softmax", "system_accuracy", 0.9, settings=FROM_TWO, scatter=0.03), *alone(0.89)],
            CONTRADICTED: [*accuracies(0.9, 0.95), *alone(0.89)],
        },
    ),
    "above the best expert": (
        partial(accuracy.ova_is_above_the_best_expert, **FIG1),
        {
            CONFIRMED: merged(accuracies(0.9, 0.9), experts(0.8)),
            INCONCLUSIVE: merged(accuracies(0.9, 0.9, scatter=0.03), experts(0.89)),
            CONTRADICTED: merged(accuracies(0.9, 0.9), experts(lambda j: 0.95 if j == 10 else 0.8)),
        },
    ),
    "few copies": (
        accuracy.ova_is_ahead_with_few_copies,
        {
            CONFIRMED: both("system_accuracy", 0.91, 0.9, settings=(*FEW, 16.0)),
            INCONCLUSIVE: both("system_accuracy", 0.91, 0.9, settings=FEW, scatter=0.03),
            CONTRADICTED: both("system_accuracy", 0.9, 0.91, settings=FEW),
        },
    ),
    "twenty copies": (
        accuracy.softmax_is_ahead_with_twenty_copies,
        {
            CONFIRMED: both("system_accuracy", 0.9, 0.91, settings=(20.0,)),
            INCONCLUSIVE: both("system_accuracy", 0.9, 0.91, settings=(20.0,), seeds=(0,)),
            CONTRADICTED: both("system_accuracy", 0.91, 0.9, settings=(20.0,)),
        },
    ),
    "calibration": (
        partial(calibration.ova_is_better_calibrated, **FIG1),
        {
            CONFIRMED: both("ece", 0.01, 0.04, settings=FROM_TWO),
            INCONCLUSIVE: both("ece", 0.03, 0.04, settings=FROM_TWO, scatter=0.01),
            CONTRADICTED: both("ece", lambda j: 0.05 if j == 3 else 0.01, 0.04, settings=FROM_TWO),
        },
    ),
    "stable": (
        calibration.ova_s_error_is_stable,
        {
            CONFIRMED: runs("ova", "ece", lambda j: 0.02 + j / 4000, settings=FROM_FOUR),
            INCONCLUSIVE: runs("ova", "ece", 0.02, settings=FROM_FOUR, seeds=(0,)),
            CONTRADICTED: runs("ova", "ece", lambda j: 0.01 + j / 1000, settings=FROM_FOUR),
        },
    ),
    "double": (
        calibration.softmax_s_error_is_about_double,
        {
            CONFIRMED: both("ece", 0.02, 0.045, settings=FROM_FOUR),
            INCONCLUSIVE: both("ece", 0.02, 0.045, settings=FROM_FOUR, scatter=0.008),
            CONTRADICTED: both("ece", 0.02, 0.015, settings=FROM_FOUR),
        },
    ),
    "softmax and the random expert": (
        calibration.softmax_mistakes_the_random_expert,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN),
            INCONCLUSIVE: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN, seeds=(0,)),
            CONTRADICTED: both("ece_by_expert.0", 0.01, lambda p: 0.02 - p / 50, settings=P_IN),
        },
    ),
    "OvA and the random expert": (
        calibration.ova_knows_the_random_expert,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, 0.01, settings=P_IN),
            INCONCLUSIVE: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN, seeds=(0,)),
            CONTRADICTED: both("ece_by_expert.0", lambda p: p / 50, 0.01, settings=P_IN),
        },
    ),
    "better on the random expert": (
        calibration.ova_is_better_on_the_random_expert,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, 0.02, settings=P_IN),
            INCONCLUSIVE: both("ece_by_expert.0", 0.01, 0.02, settings=P_IN, scatter=0.02),
            CONTRADICTED: both("ece_by_expert.0", 0.02, 0.01, settings=P_IN),
        },
    ),
    "mixture": (
        partial(calibration.mixture_is_badly_calibrated, **FIG1),
        {
            CONFIRMED: [*runs("moe", "ece", 0.4, settings=FROM_TWO), *runs("ova", "ece", 0.02, settings=FROM_TWO)],
            INCONCLUSIVE: [
                *runs("moe", "ece", 0.15, settings=FROM_TWO, scatter=0.1),
                *runs("ova", "ece", 0.02, settings=FROM_TWO),
            ],
            CONTRADICTED: [
                *runs("moe", "ece", lambda j: 0.07 if j == 3 else 0.4, settings=FROM_TWO),
                *runs("ova", "ece", 0.02, settings=FROM_TWO),
            ],
        },
    ),
    "objective": (partial(calibration.the_objective_is_to_blame, **FIG1), {CANNOT_DECIDE: mixture(0.6)}),
    "naive sets": (
        partial(sets.naive_sets_are_too_large, **FIG3),
        {
            CONFIRMED: size("naive", 2.0),
            INCONCLUSIVE: size("naive", 2.0, scatter=2.0),
            CONTRADICTED: size("naive", -0.5),
        },
    ),
    "naive promise": (
        partial(sets.naive_sets_keep_their_promise, **FIG3),
        {
            CONFIRMED: both("sets.naive_as_run.all_correct", 0.9, 0.91, settings=ORACLES),
            INCONCLUSIVE: both("sets.naive_as_run.all_correct", 0.9, 0.95, settings=ORACLES, scatter=0.03),
            CONTRADICTED: both(
                "sets.naive_as_run.all_correct", lambda k: 0.7 if k == 0 else 0.92, 0.95, settings=ORACLES
            ),
        },
    ),
    "closer naive sets": (
        partial(sets.ova_s_naive_sets_are_closer, settings=ORACLES),
        {
            CONFIRMED: both("sets.naive_as_run.size", lambda k: k + 2, lambda k: k + 5, settings=ORACLES),
            INCONCLUSIVE: both("sets.naive_as_run.size", lambda k: k + 4, lambda k: k + 5, settings=ORACLES, scatter=1),
            # Smaller than softmax's, and farther from the number of oracles: too small.
            CONTRADICTED: both("sets.naive_as_run.size", lambda k: k - 2, lambda k: k + 2, settings=ORACLES),
        },
    ),
    "regularized sets": (
        partial(sets.regularized_sets_find_the_oracles, **FIG3, method="ova"),
        {
            CONFIRMED: size("regularized", 0.3),
            INCONCLUSIVE: size("regularized", 0.8, scatter=0.5),
            CONTRADICTED: size("regularized", 2.0),
        },
    ),
    "closer regularized sets": (
        sets.softmax_s_regularized_sets_are_closer,
        {
            CONFIRMED: both("sets.regularized_as_run.size", 1.0, lambda k: k + 1, settings=ORACLES),
            INCONCLUSIVE: both("sets.regularized_as_run.size", 1.0, lambda k: k, settings=ORACLES, scatter=2.0),
            CONTRADICTED: both("sets.regularized_as_run.size", lambda k: k + 1, 1.0, settings=ORACLES),
        },
    ),
    "a fixed five": (
        sets.conformal_beats_a_fixed_five,
        {
            CONFIRMED: votes("regularized", 0.9, "top5", 0.7, settings=(0.0, 1.0)),
            INCONCLUSIVE: votes("regularized", 0.9, "top5", 0.7, settings=(0.0, 1.0), scatter=0.2),
            CONTRADICTED: votes("regularized", lambda k: 0.9 - 0.25 * k, "top5", 0.7, settings=(0.0, 1.0)),
        },
    ),
    "equal votes": (
        sets.votes_are_equal_with_three_oracles,
        {
            CONFIRMED: votes("regularized", 0.9, "top5", 0.902, settings=ORACLES),
            INCONCLUSIVE: votes("regularized", 0.9, "top5", 0.902, settings=ORACLES, scatter=0.03),
            CONTRADICTED: votes("regularized", 0.9, "top5", 0.95, settings=ORACLES),
        },
    ),
    "growing sets": (
        partial(overlap.regularized_sets_grow_with_overlap, settings=OVERLAP),
        {
            CONFIRMED: overlapping(lambda p: 10 * p),
            INCONCLUSIVE: overlapping(lambda p: 10 * p)[:: len(SEEDS)],
            # They grow, and naive ones grow more.
            CONTRADICTED: overlapping(lambda p: p, naive=lambda p: 9 * p),
        },
    ),
    "everybody": (
        partial(overlap.naive_sets_hold_everybody, settings=OVERLAP),
        {
            CONFIRMED: both("sets.naive_as_run.size", 9.5, 9.6, settings=OVERLAP),
            INCONCLUSIVE: both("sets.naive_as_run.size", 9.5, 9.6, settings=OVERLAP, scatter=0.5),
            CONTRADICTED: both("sets.naive_as_run.size", 9.5, 4.0, settings=OVERLAP),
        },
    ),
    "naive vote and five": (
        partial(overlap.the_naive_vote_beats_a_fixed_five, settings=OVERLAP),
        {
            CONFIRMED: votes("naive_as_run", 0.9, "top5", 0.89, settings=OVERLAP),
            INCONCLUSIVE: votes("naive_as_run", 0.9, "top5", 0.89, settings=OVERLAP, scatter=0.03),
            CONTRADICTED: votes("naive_as_run", 0.88, "top5", 0.89, settings=OVERLAP),
        },
    ),
    "naive vote and top expert": (
        overlap.the_naive_vote_beats_the_top_expert,
        {
            CONFIRMED: votes("naive_as_run", 0.9, "top_expert", 0.89, settings=OVERLAP),
            INCONCLUSIVE: votes("naive_as_run", 0.9, "top_expert", 0.89, settings=OVERLAP, scatter=0.03),
            CONTRADICTED: votes("naive_as_run", lambda p: 0.8 + 0.2 * p, "top_expert", 0.9, settings=OVERLAP),
        },
    ),
    "regularized vote": (
        overlap.the_regularized_vote_drops,
        {
            CONFIRMED: votes("top_expert", 0.9, "regularized", 0.89, settings=OVERLAP),
            INCONCLUSIVE: votes("top_expert", 0.9, "regularized", 0.89, settings=OVERLAP, scatter=0.03),
            CONTRADICTED: votes("top_expert", 0.9, "regularized", 0.91, settings=OVERLAP),
        },
    ),
    "naive sets as written": (
        partial(beside.ova_s_naive_sets_are_closer_as_written, settings=ORACLES),
        {
            CONFIRMED: both("sets.naive_as_written.size", lambda k: k + 2, lambda k: k + 5, settings=ORACLES),
            CONTRADICTED: both("sets.naive_as_written.size", lambda k: k + 5, lambda k: k + 2, settings=ORACLES),
        },
    ),
    "softmax rises more": (
        beside.softmax_s_error_rises_more,
        {
            CONFIRMED: both("ece_by_expert.0", 0.01, lambda p: p / 50, settings=P_IN),
            CONTRADICTED: both("ece_by_expert.0", lambda p: p / 50, 0.01, settings=P_IN),
        },
    ),
}
