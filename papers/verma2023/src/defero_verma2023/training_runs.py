"""The walk over the runs of a figure: train those that are missing, measure them beside, write each one down."""

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from defero import InputError
from defero.study.engines import Engine
from defero_verma2023.figures.catalogue import figures_by_name
from defero_verma2023.measures.measure import measure
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.pools.pool import Variant
from defero_verma2023.runs.one_run import SharedRuns, has_sets, one_run, record_of, team_of
from defero_verma2023.runs.plan import Plan, plans_of
from defero_verma2023.runs.record import RunKey, RunRecord, append_record, missing, read_records
from defero_verma2023.runs.trained_team import TrainedTeam
from defero_verma2023.runs.trainer import Trainer, trainer_of

AHEAD = 4
"""Runs that may wait for being measured before the next is trained."""


def run_figure(
    figure: str,
    *,
    protocol: Variant = "as_published",
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    methods: Sequence[str] | None = None,
    settings: Sequence[float] | None = None,
    quick: bool = False,
    out: Path,
    outputs: Path | None = None,
    engine: Engine | None = None,
    say: Callable[[str], None],
) -> tuple[RunRecord, ...]:
    """Train what a figure needs and is not in `out` yet; figures of one experiment share its runs.

    Returns the runs of the plan, with every net of the data set. Quick ones, and those with a number of epochs of
    their own, are kept apart: a run is known by its method, setting, seed and net, and these are other runs.
    """
    experiment = figures_by_name(figure)[0].experiment
    plans = plans_of(
        experiment, protocol=protocol, seeds=seeds, epochs=epochs, methods=methods, settings=settings, quick=quick
    )
    trainer = trainer_of(experiment.data_set, quick=quick)
    for method in (method for plan in plans for method in plan.methods):
        trainer.nets_of(method)  # before the first hour
    apart = [*(["quick"] if quick else []), *([f"{epochs}-epochs"] if epochs is not None else [])]
    results = out / f"{'_'.join([experiment.name, *apart])}.jsonl"
    outputs_folder = None if outputs is None else outputs.joinpath(*apart)
    return tuple(
        record
        for plan in plans
        for record in run_plan(plan, results=results, outputs=outputs_folder, engine=engine, say=say)
    )


def run_plan(
    plan: Plan,
    *,
    results: Path,
    outputs: Path | None = None,
    engine: Engine | None = None,
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
    engine : Engine, optional
        Where the runs are made, several at once, each with one thread. None: one after the other in this process.
    say : callable
        Takes a line about each run.
    """
    trainer = trainer_of(plan.experiment.data_set, quick=plan.quick)
    wanted = list(plan.keys(trainer))
    todo = list(missing(wanted, read_records(results)))
    say(f"{plan.experiment.name}: {len(wanted)} runs, {len(wanted) - len(todo)} of them done before.")
    check_folder(results.parent)
    walk = _Walk(plan, trainer, results, outputs, say, n_runs=len(todo))
    if engine is None:
        _walk_here(walk, todo)
    else:
        shared = SharedRuns(
            plan.experiment.name, plan.protocol, plan.epochs, plan.quick, outputs, trainer_of=trainer_of
        )
        for _, record in engine.run(one_run, todo, shared=shared):
            walk.write(record)
    done = {record.key: record for record in read_records(results)}
    return tuple(done[key] for key in wanted)


def _walk_here(walk: "_Walk", todo: Sequence[RunKey]) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_leave_interrupts_alone) as beside:
        try:
            for key in todo:
                walk.measure(walk.team(key), key, beside)
        except KeyboardInterrupt:
            walk.say(f"stopped; what is trained is measured and kept in {walk.results}, and the same command goes on.")
            raise
        finally:
            walk.write_down(leave=0)


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

        def load() -> Any:
            if self._data is None or self._data[0] != key.seed:
                self._data = (key.seed, self.trainer.load(key.seed, self.plan.protocol))
            return self._data[1]

        plan = self.plan
        options: dict[str, Any] = {"protocol": plan.protocol, "epochs": plan.epochs, "outputs": self.outputs}
        return team_of(key, plan.experiment, self.trainer, load, **options)

    def measure(self, team: TrainedTeam, key: RunKey, beside: ProcessPoolExecutor) -> None:
        """Have a run measured beside the next training, and write down those that are."""
        sets = has_sets(self.plan.experiment, team)
        measures = beside.submit(measure, team.test, calibration=team.validation, seed=key.seed, sets=sets)
        self.waiting.append((key, team, measures))
        self.write_down(leave=AHEAD)

    def write_down(self, *, leave: int) -> None:
        """Write down the runs that are measured, in order, and wait until no more than so many are left."""
        while self.waiting and (len(self.waiting) > leave or self.waiting[0][2].done()):
            key, team, measures = self.waiting.pop(0)
            self.write(record_of(key, team, measures.result()))

    def write(self, record: RunRecord) -> None:
        """Write down a run."""
        append_record(self.results, record)
        self.n_written += 1
        where = "" if record.method == ONE_CLASSIFIER else f"{self.plan.experiment.x_name} {record.setting:g}, "
        self.say(
            f"{self.n_written} of {self.n_runs} done: {record.method}, {where}seed {record.seed}, {record.net}: "
            f"{record.seconds:.0f} s of training."
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
