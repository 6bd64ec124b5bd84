"""The runs that were made, and those that were not: two tables of the reproduction's page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from defero_verma2023.experiments import EXPERIMENTS, Experiment
from defero_verma2023.methods import METHODS, ONE_CLASSIFIER, TEXT_NETS, TUNED, TWO_LOSSES
from defero_verma2023.runs.plan import plans_of
from defero_verma2023.runs.record import RunRecord, as_published


def made_rows(ours: Mapping[str, Sequence[RunRecord]]) -> Iterator[tuple[str, ...]]:
    """Yield experiment, net, methods with the number of runs, settings, seeds, minutes and machine."""
    for experiment, records in ours.items():
        for net in dict.fromkeys(record.net for record in records):
            some = [record for record in records if record.net == net]
            for machine in dict.fromkeys(_machine(record.machine) for record in some):
                yield _made(experiment, net, machine, [one for one in some if _machine(one.machine) == machine])


def _made(experiment: str, net: str, machine: str, records: Sequence[RunRecord]) -> tuple[str, ...]:
    methods = {name: sum(record.method == name for record in records) for name in METHODS}
    settings = sorted({record.setting for record in records if record.method != ONE_CLASSIFIER})
    training = sum(record.seconds for record in records)
    first = sum(record.recipe.get("first_step_seconds", 0.0) for record in records)
    return (
        experiment,
        net,
        ", ".join(f"{name} {n}" for name, n in methods.items() if n),
        ", ".join(f"{setting:g}" for setting in settings),
        ", ".join(str(seed) for seed in sorted({record.seed for record in records})),
        f"{training / 60:.1f} + {first / 60:.1f}",
        machine,
    )


def _machine(facts: Mapping[str, Any]) -> str:
    return str(facts["gpu"]) if "gpu" in facts else f"CPU, {facts.get('cores', '?')} cores"


def total_minutes(ours: Mapping[str, Sequence[RunRecord]], *, gpu: bool) -> float:
    """Return the minutes of all runs on GPUs or on CPUs, the first step included.

    One classifier of a seed, which several experiments on CIFAR-10 share, is counted once.
    """
    alone: dict[tuple[str, int, str], float] = {}
    others = 0.0
    for name, records in ours.items():
        for record in records:
            if ("gpu" in record.machine) == gpu:
                seconds = record.seconds + record.recipe.get("first_step_seconds", 0.0)
                if record.method == ONE_CLASSIFIER:
                    alone[EXPERIMENTS[name].data_set, record.seed, record.net] = seconds
                else:
                    others += seconds
    return (others + sum(alone.values())) / 60


def versions_in_words(records: Iterable[RunRecord]) -> Iterator[str]:
    """Yield each set of versions that runs were made with, the commonest first."""
    counts: dict[str, int] = {}
    for record in records:
        if record.versions:
            known = {"defero": "from source"} | dict(record.versions)
            words = ", ".join(f"{name} {number}" for name, number in sorted(known.items()))
            counts[words] = counts.get(words, 0) + 1
    for words, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{n} runs: {words}"


def missing_lines(ours: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    """Yield a line for each experiment and method of which runs are still to be made."""
    for name, experiment in EXPERIMENTS.items():
        records = [one for one in as_published(ours.get(name, ())) if _starts_as_planned(one, experiment)]
        for net, methods in (TEXT_NETS if name == "hatespeech" else {"": METHODS}).items():
            done = {(one.method, one.setting, one.seed) for one in records if not net or one.net == net}
            yield from _missing(experiment, net, methods, done)


def _starts_as_planned(record: RunRecord, experiment: Experiment) -> bool:
    """Say whether a run of the paper's two losses is tuned where the experiment has them tuned, and only there."""
    return record.method not in TWO_LOSSES or record.net.endswith(TUNED) == experiment.tuned


def _missing(
    experiment: Experiment, net: str, methods: Sequence[str], recorded: set[tuple[str, float, int]]
) -> Iterator[str]:
    lines = []
    for plan in plans_of(experiment):
        for method in (method for method in plan.methods if method in methods):
            settings = (0.0,) if method == ONE_CLASSIFIER else plan.settings
            wanted = [(method, setting, seed) for setting in settings for seed in plan.seeds]
            left = sum(run not in recorded for run in wanted)
            if left:
                lines.append(f"{method} {left} of {len(wanted)}")
    if lines:
        yield f"{experiment.name}{f' with {net}' if net else ''}: {', '.join(lines)}."
