"""The paper's claims, each judged by its own function on the runs that there are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from defero_verma2023.claims.accuracy import (
    accuracy_rises_with_experts,
    methods_are_comparable,
    ova_is_above_the_best_expert,
    ova_is_ahead_with_few_copies,
    ova_is_more_accurate,
    ova_never_falls_below_one_classifier,
    softmax_falls_below_one_classifier,
    softmax_is_ahead_with_twenty_copies,
)
from defero_verma2023.claims.beside import ova_s_naive_sets_are_closer_as_written, softmax_s_error_rises_more
from defero_verma2023.claims.calibration import (
    mixture_is_badly_calibrated,
    ova_is_better_calibrated,
    ova_is_better_on_the_random_expert,
    ova_knows_the_random_expert,
    ova_s_error_is_stable,
    softmax_mistakes_the_random_expert,
    softmax_s_error_is_about_double,
    the_objective_is_to_blame,
)
from defero_verma2023.claims.judge import Evidence
from defero_verma2023.claims.multiplicity import corrected
from defero_verma2023.claims.overlap import (
    naive_sets_hold_everybody,
    regularized_sets_grow_with_overlap,
    the_naive_vote_beats_a_fixed_five,
    the_naive_vote_beats_the_top_expert,
    the_regularized_vote_drops,
)
from defero_verma2023.claims.promises import PromiseRow, promise_rows
from defero_verma2023.claims.sets import (
    conformal_beats_a_fixed_five,
    naive_sets_are_too_large,
    naive_sets_keep_their_promise,
    ova_s_naive_sets_are_closer,
    regularized_sets_find_the_oracles,
    softmax_s_regularized_sets_are_closer,
    votes_are_equal_with_three_oracles,
)
from defero_verma2023.claims.verdict import Verdict
from defero_verma2023.experiments import EXPERIMENTS, FROM_TWO
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.figures.published import PUBLISHED, published_records, read_published
from defero_verma2023.methods import TWO_LOSSES
from defero_verma2023.runs.record import RunRecord, by_net, read_records

Judge = Callable[[Evidence], Verdict]
OVERLAP = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Those that the appendix draws."""


@dataclass(frozen=True)
class AllRecords:
    """All that is kept of the reproduction: records by experiment.

    Attributes
    ----------
    ours, stored, published : mapping
        Experiment -> records. Stored ones are measures of the authors' outputs.
    """

    ours: Mapping[str, Sequence[RunRecord]] = field(default_factory=dict)
    stored: Mapping[str, Sequence[RunRecord]] = field(default_factory=dict)
    published: Mapping[str, Sequence[RunRecord]] = field(default_factory=dict)


def read_all_records(folder: Path) -> AllRecords:
    """Read papers/verma2023: our runs, the measures of the authors' outputs, and the published numbers."""
    points = read_published(PUBLISHED)
    return AllRecords(
        {name: read_records(folder / "results" / f"{name}.jsonl") for name in EXPERIMENTS},
        {name: read_records(folder / "figures" / "stored" / f"{name}.jsonl") for name in EXPERIMENTS},
        {name: published_records(FIGURES.values(), points, experiment=name) for name in EXPERIMENTS},
    )


def evidence_on(experiment: str, all_records: AllRecords) -> Iterator[Evidence]:
    """Yield what there is on an experiment: once for each protocol and net that one-vs-all was trained with."""
    ours = all_records.ours.get(experiment, ())
    beside = all_records.stored.get(experiment, ()), all_records.published.get(experiment, ())
    if not ours:
        yield Evidence((), *beside)
    for protocol in sorted({record.protocol for record in ours}):
        for net, records in by_net(record for record in ours if record.protocol == protocol).items():
            words = [*([net] if net else []), *(["experts as written"] if protocol == "as_written" else [])]
            yield Evidence(records, *beside, place=f" ({', '.join(words)})" if words else "")


def verdicts(all_records: AllRecords) -> tuple[Verdict, ...]:
    """Judge every claim, figure by figure; p values are adjusted for all of them."""
    return corrected(_judged(CLAIMS, all_records))


def remarks(all_records: AllRecords) -> tuple[Verdict, ...]:
    """Judge what the paper's sentences do not say, in the same way."""
    return _judged(BESIDE, all_records)


def promises(all_records: AllRecords) -> Iterator[tuple[str, PromiseRow]]:
    """Yield the promises of conformal sets, each with its experiment."""
    for experiment, settings in PROMISED.items():
        for evidence in evidence_on(experiment, all_records):
            for row in promise_rows(evidence, settings=settings):
                yield experiment, row


def _judged(claims_of: Mapping[str, Sequence[Judge]], all_records: AllRecords) -> tuple[Verdict, ...]:
    return tuple(
        claim(evidence)
        for experiment, claims in claims_of.items()
        for evidence in evidence_on(experiment, all_records)
        for claim in claims
    )


def _figure_1(name: str, *, comparable: bool) -> tuple[Judge, ...]:
    """Return the claims on one column of Figure 1; only on HateSpeech are the methods said to be alike."""
    above, below = f"Fig. 1, {name}, top; section 7.1", f"Fig. 1, {name}, bottom; section 7.2"
    beside = methods_are_comparable if comparable else ova_is_more_accurate
    alone = partial(softmax_falls_below_one_classifier, where=above, settings=FROM_TWO)
    return (
        partial(accuracy_rises_with_experts, where=above, settings=FROM_TWO),
        partial(beside, where=above, settings=FROM_TWO, other="softmax"),
        partial(beside, where=above, settings=FROM_TWO, other="moe"),
        partial(ova_never_falls_below_one_classifier, where=above, settings=FROM_TWO),
        *(() if comparable else (alone,)),
        partial(ova_is_above_the_best_expert, where=above, settings=FROM_TWO),
        partial(ova_is_better_calibrated, where=below, settings=FROM_TWO),
        partial(mixture_is_badly_calibrated, where=below, settings=FROM_TWO),
        partial(the_objective_is_to_blame, where=below, settings=FROM_TWO),
    )


def _settings(name: str) -> tuple[float, ...]:
    return EXPERIMENTS[name].settings


CLAIMS: dict[str, tuple[Judge, ...]] = {
    "hatespeech": _figure_1("HateSpeech", comparable=True),
    "ham10000": _figure_1("HAM10000", comparable=False),
    "galaxyzoo": _figure_1("Galaxy-Zoo", comparable=False),
    "sim1": (
        partial(ova_is_better_calibrated, where="Fig. 2a, section 7.2", settings=_settings("sim1")[1:]),
        ova_s_error_is_stable,
        softmax_s_error_is_about_double,
        ova_is_ahead_with_few_copies,
        softmax_is_ahead_with_twenty_copies,
    ),
    "sim2": (
        partial(ova_is_better_calibrated, where="Fig. 2c, section 7.2", settings=_settings("sim2")),
        softmax_mistakes_the_random_expert,
        ova_knows_the_random_expert,
        ova_is_better_on_the_random_expert,
    ),
    "oracles": (
        partial(naive_sets_are_too_large, where="Fig. 3a, section 7.3", settings=_settings("oracles")),
        partial(naive_sets_keep_their_promise, where="Fig. 3a, section 7.3", settings=_settings("oracles")),
        partial(ova_s_naive_sets_are_closer, settings=_settings("oracles")),
        *(
            partial(
                regularized_sets_find_the_oracles,
                where="Fig. 3a, section 7.3",
                settings=_settings("oracles"),
                method=method,
            )
            for method in TWO_LOSSES
        ),
        conformal_beats_a_fixed_five,
        votes_are_equal_with_three_oracles,
    ),
    "noisy-oracles": (
        partial(naive_sets_are_too_large, where="Fig. 3b, section 7.3", settings=_settings("noisy-oracles")[1:]),
        partial(naive_sets_keep_their_promise, where="Fig. 3b, section 7.3", settings=_settings("noisy-oracles")[1:]),
        *(
            partial(
                regularized_sets_find_the_oracles,
                where="Fig. 3b, section 7.3",
                settings=_settings("noisy-oracles")[1:],
                method=method,
            )
            for method in TWO_LOSSES
        ),
        softmax_s_regularized_sets_are_closer,
    ),
    "overlap": (
        partial(regularized_sets_grow_with_overlap, settings=OVERLAP),
        partial(naive_sets_hold_everybody, settings=OVERLAP),
        partial(the_naive_vote_beats_a_fixed_five, settings=OVERLAP),
        the_naive_vote_beats_the_top_expert,
        the_regularized_vote_drops,
    ),
}
"""Experiment -> its claims, in the paper's order."""
BESIDE: dict[str, tuple[Judge, ...]] = {
    "sim2": (softmax_s_error_rises_more,),
    "oracles": (partial(ova_s_naive_sets_are_closer_as_written, settings=_settings("oracles")),),
}
"""Experiment -> what was once added to a claim, and is no sentence of the paper."""
PROMISED: dict[str, tuple[float, ...]] = {
    "oracles": _settings("oracles"),
    "noisy-oracles": _settings("noisy-oracles")[1:],
    "overlap": OVERLAP,
}
"""Experiment -> the settings of its figure."""
