"""One run of a figure: trained or read, measured, and made a record of; in this process or on a worker."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from defero_verma2023.experiments import EXPERIMENTS, Experiment
from defero_verma2023.measures.measure import measure
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.pools.pool import Variant
from defero_verma2023.runs.provenance import made_here
from defero_verma2023.runs.record import RunKey, RunRecord
from defero_verma2023.runs.trained_team import TrainedTeam, kept_path, load_team, save_team
from defero_verma2023.runs.trainer import Task, Trainer


@dataclass(frozen=True)
class SharedRuns:
    """What every run of a plan needs on a worker.

    Attributes
    ----------
    experiment : str
        Its name: its functions cannot be sent.
    protocol, epochs, quick
        As in `Plan`.
    outputs : Path, optional
        A folder for what the networks say.
    trainer_of : callable
        A function of a module that returns a data set's trainer.
    """

    experiment: str
    protocol: Variant
    epochs: int | None
    quick: bool
    outputs: Path | None
    trainer_of: Callable[..., Trainer]


def one_run(shared: SharedRuns, key: RunKey) -> RunRecord:
    """Make one run."""
    experiment = EXPERIMENTS[shared.experiment]
    trainer = shared.trainer_of(experiment.data_set, quick=shared.quick)
    team = team_of(
        key,
        experiment,
        trainer,
        lambda: trainer.load(key.seed, shared.protocol),
        protocol=shared.protocol,
        epochs=shared.epochs,
        outputs=shared.outputs,
    )
    sets = has_sets(experiment, team)
    return record_of(key, team, measure(team.test, calibration=team.validation, seed=key.seed, sets=sets))


def team_of(
    key: RunKey,
    experiment: Experiment,
    trainer: Trainer,
    load: Callable[[], Any],
    *,
    protocol: Variant,
    epochs: int | None,
    outputs: Path | None,
) -> TrainedTeam:
    """Return a run's outputs: from the folder where they are kept, or trained on the data that `load` returns."""
    path = None if outputs is None else kept_path(outputs, key)
    if path is not None and path.is_file():
        return load_team(path)
    pool = None if key.method == ONE_CLASSIFIER else experiment.pool(key.setting, key.seed, protocol)
    trained = trainer.train(load(), Task(pool, key.method, key.net, key.seed, epochs))
    team = trained if trained.made else replace(trained, made=made_here())
    if path is not None:
        save_team(path, team)
    return team


def has_sets(experiment: Experiment, team: TrainedTeam) -> bool:
    """Return whether sets of experts are measured: on CIFAR-10, where there are experts."""
    return experiment.data_set == "cifar10" and bool(team.test.n_experts)


def record_of(key: RunKey, team: TrainedTeam, measures: Mapping[str, Any]) -> RunRecord:
    """Return what is written down of a run."""
    return RunRecord(
        experiment=key.experiment,
        method=key.method,
        setting=key.setting,
        seed=key.seed,
        protocol=key.protocol,
        net=key.net,
        measures=dict(measures),
        seconds=team.seconds,
        recipe=team.recipe,
        **team.made,
    )
