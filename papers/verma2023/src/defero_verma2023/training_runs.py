"""The walk over the runs of a figure: train those that are missing, measure them beside, write each one down."""

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from defero import InputError
from defero_verma2023.figures.catalogue import figures_by_name
from defero_verma2023.measures.measure import measure
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.pools.pool import Variant
from defero_verma2023.runs.plan import Plan, plans_of
from defero_verma2023.runs.provenance import made_here
from defero_verma2023.runs.record import RunKey, RunRecord, append_record, missing, read_records
from defero_verma2023.runs.trained_team import TrainedTeam, kept_path, load_team, save_team
from defero_verma2023.runs.trainer import Task, Trainer, trainer_of

AHEAD = 4
"""Runs that may wait for being measured before the next is trained."""


def run_figure(
    figure: str,
    *,
    protocol: Variant = "as_published",
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    methods: Sequence[str] | None = None,
    quick: bool = False,
    out: Path,
    outputs: Path | None = None,
    say: Callable[[str], None],
) -> tuple[RunRecord, ...]:
    """Train what a figure needs and is not in `out` yet; figures of one experiment share its runs.

    Returns the runs of the plan, with every net of the data set. Quick ones, and those with a number of epochs of
    their own, are kept apart: a run is known by its method, setting, seed and net, and these are other runs.
    """
    experiment = figures_by_name(figure)[0].experiment
    plans = plans_of(experiment, protocol=protocol, seeds=seeds, epochs=epochs, methods=methods, quick=quick)
    trainer = trainer_of(experiment.data_set, quick=quick)
    for method in (method for plan in plans for method in plan.methods):
        trainer.nets_of(method)  # before the first hour
    apart = [*(["quick"] if quick else []), *([f"{epochs}-epochs"] if epochs is not None else [])]
    results = out / f"{'_'.join([experiment.name, *apart])}.jsonl"
    outputs_folder = None if outputs is None else outputs.joinpath(*apart)
    return tuple(
        record for plan in plans for record in run_plan(plan, results=results, outputs=outputs_folder, say=say)
    )


def run_plan(
    plan: Plan,
    *,
    results: Path,
    outputs: Path | None = None,
    say: Callable[[str], None],
) -> tuple[RunRecord, ...]:
    """Make the runs of a plan that are not in the results yet, and return all runs of the plan.

    Parameters
    ----------
    plan : Plan
    results : Path
        A file of lines of JSON, one per run. Cut off anywhere and called again, it goes on with the next run.
    outputs : Path, optional
        A folder for what the networks say of validation and test items. A run whose outputs are there is measured and
        not trained again.
    say : callable
        Takes a line about each run.
    """
    trainer = trainer_of(plan.experiment.data_set, quick=plan.quick)
    wanted = list(plan.keys(trainer))
    todo = list(missing(wanted, read_records(results)))
    say(f"{plan.experiment.name}: {len(wanted)} runs, {len(wanted) - len(todo)} of them done before.")
    check_folder(results.parent)
    walk = _Walk(plan, trainer, results, outputs, say, n_runs=len(todo))
    sets = plan.experiment.data_set == "cifar10"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_leave_interrupts_alone) as beside:
        try:
            for key in todo:
                team = walk.team(key)
                walk.measure(team, key, beside, sets=sets and bool(team.test.n_experts))
        except KeyboardInterrupt:
            say(f"stopped; what is trained is measured and kept in {results}, and the same command goes on.")
            raise
        finally:
            walk.write_down(leave=0)
    done = {record.key: record for record in read_records(results)}
    return tuple(done[key] for key in wanted)


class _Walk:
    """One call of `run_plan`."""

    def __init__(
        self,
        plan: Plan,
        trainer: Trainer,
        results: Path,
        outputs: Path | None,
        say: Callable[[str], None],
        *,
        n_runs: int,
    ) -> None:
        self.plan, self.trainer, self.results, self.outputs, self.say = plan, trainer, results, outputs, say
        self.n_runs, self.n_written = n_runs, 0
        self.waiting: list[tuple[RunKey, TrainedTeam, Future[dict[str, Any]]]] = []
        self._data: tuple[int, Any] | None = None

    def team(self, key: RunKey) -> TrainedTeam:
        """Return a run's outputs: from the folder where they are kept, or trained."""
        path = None if self.outputs is None else kept_path(self.outputs, key)
        if path is not None and path.is_file():
            return load_team(path)
        pool = None
        if key.method != ONE_CLASSIFIER:
            pool = self.plan.experiment.pool(key.setting, key.seed, self.plan.protocol)
        task = Task(pool, key.method, key.net, key.seed, self.plan.epochs)
        if self._data is None or self._data[0] != key.seed:
            self._data = (key.seed, self.trainer.load(key.seed, self.plan.protocol))
        trained = self.trainer.train(self._data[1], task)
        team = trained if trained.made else replace(trained, made=made_here())
        if path is not None:
            save_team(path, team)
        return team

    def measure(self, team: TrainedTeam, key: RunKey, beside: ProcessPoolExecutor, *, sets: bool) -> None:
        """Have a run measured beside the next training, and write down those that are."""
        found = beside.submit(measure, team.test, calibration=team.validation, seed=key.seed, sets=sets)
        self.waiting.append((key, team, found))
        self.write_down(leave=AHEAD)

    def write_down(self, *, leave: int) -> None:
        """Write down the runs that are measured, in order, and wait until no more than so many are left."""
        while self.waiting and (len(self.waiting) > leave or self.waiting[0][2].done()):
            self._write(*self.waiting.pop(0))

    def _write(self, key: RunKey, team: TrainedTeam, found: "Future[dict[str, Any]]") -> None:
        record = RunRecord(
            experiment=key.experiment,
            method=key.method,
            setting=key.setting,
            seed=key.seed,
            protocol=key.protocol,
            net=key.net,
            measures=found.result(),
            seconds=team.seconds,
            recipe=team.recipe,
            **team.made,
        )
        append_record(self.results, record)
        self.n_written += 1
        where = "" if key.method == ONE_CLASSIFIER else f"{self.plan.experiment.x_name} {key.setting:g}, "
        self.say(
            f"{self.n_written} of {self.n_runs} done: {key.method}, {where}seed {key.seed}, {key.net}: "
            f"{team.seconds:.0f} s of training."
        )


def _leave_interrupts_alone() -> None:
    """Let Ctrl-C end the walk alone: what is being measured is finished first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def check_folder(folder: Path) -> None:
    """Make a folder for results, or say before any work that it cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be the folder of the results ({error.strerror}); name another.") from error
