"""Which runs an experiment is made of: methods, settings, seeds, and in which order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from defero import InputError
from defero_verma2023.experiments import Experiment
from defero_verma2023.methods import METHODS, ONE_CLASSIFIER, TWO_LOSSES
from defero_verma2023.pools.pool import Variant
from defero_verma2023.runs.record import RunKey
from defero_verma2023.runs.trainer import Trainer


@dataclass(frozen=True)
class Plan:
    """Which runs of an experiment are wanted.

    Attributes
    ----------
    experiment : Experiment
    methods : tuple of str
    seeds : tuple of int
    settings : tuple of float
    protocol : "as_written" or "as_published"
        Whose experts.
    epochs : int or None
        None: the trainer's own.
    quick : bool
        A small network on a subset, for a first look.
    """

    experiment: Experiment
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: tuple[float, ...]
    protocol: Variant = "as_published"
    epochs: int | None = None
    quick: bool = False

    def keys(self, trainer: Trainer) -> Iterator[RunKey]:
        """Yield the runs, seed by seed, so that a walk that is cut short has every point once."""
        nets_of = partial(trainer.nets_of, tuned=self.experiment.tuned)
        for seed in self.seeds:
            for method, net in ((one, net) for one in self.methods for net in nets_of(one)):
                for setting in (0.0,) if method == ONE_CLASSIFIER else self.settings:
                    yield RunKey(self.experiment.name, method, setting, seed, self.protocol, net)


def plans_of(
    experiment: Experiment,
    *,
    protocol: Variant = "as_published",
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    methods: Sequence[str] | None = None,
    settings: Sequence[float] | None = None,
    quick: bool = False,
) -> tuple[Plan, ...]:
    """Return what is run for an experiment: by default the paper's two losses everywhere, the others where it says so.

    Parameters
    ----------
    experiment : Experiment
    protocol : "as_written" or "as_published"
    seeds : sequence of int, optional
        The experiment's own by default; with `quick` its first.
    epochs : int, optional
    methods : sequence of str, optional
    settings : sequence of float, optional
        Values of what the experiment varies; all of its own by default.
    quick : bool
        Three settings, and the paper's two losses unless methods are named.
    """
    options: dict[str, Any] = {"protocol": protocol, "epochs": epochs, "quick": quick}
    chosen = tuple(seeds) if seeds is not None else experiment.seeds[: 1 if quick else None]
    where = experiment.settings if settings is None else checked_settings(experiment, settings)
    if quick and settings is None:
        where = (where[0], where[len(where) // 2], where[-1])
    wanted = tuple(methods) if methods is not None else (tuple(TWO_LOSSES) if quick else METHODS)
    first = tuple(method for method in wanted if method in TWO_LOSSES)
    rest = tuple(method for method in wanted if method not in TWO_LOSSES)
    everywhere = quick or methods is not None or settings is not None
    columns = where if everywhere else experiment.columns or where
    parts = ((first, where), (rest, columns))
    return tuple(Plan(experiment, part, chosen, places, **options) for part, places in parts if part)


def checked_settings(experiment: Experiment, settings: Sequence[float]) -> tuple[float, ...]:
    """Return the settings in the experiment's order, each once, if it has all of them.

    >>> from defero_verma2023.experiments import EXPERIMENTS
    >>> checked_settings(EXPERIMENTS["sim2"], [0.95, 0.2])
    (0.2, 0.95)
    """
    for one in settings:
        if one not in experiment.settings:
            known = ", ".join(f"{value:g}" for value in experiment.settings)
            raise InputError(
                f"of {experiment.name} ({experiment.x_name}) must be among {known}, got {one:g}.", argument="settings"
            )
    return tuple(one for one in experiment.settings if one in settings)
