"""Run what is not in the ledger yet."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from multiprocessing import get_context

from benchmarks.people.crowd import Crowd, PeopleSet
from benchmarks.people.ledger import Ledger
from benchmarks.people.system import System
from benchmarks.people.trial import Trial, run_trial
from defero import InputError


@dataclass(frozen=True)
class Finished:
    """What a run has.

    Attributes
    ----------
    trials : tuple of Trial
    skipped : {data set: why}
    """

    trials: tuple[Trial, ...]
    skipped: dict[str, str]


def run_all(
    sets: Sequence[PeopleSet],
    systems: Sequence[System],
    *,
    n_splits: int,
    ledger: Ledger,
    workers: int = 1,
    told: Callable[[str], None] = print,
) -> Finished:
    """Return every trial of the sets and systems, those in the ledger without running them again."""
    skipped: dict[str, str] = {}
    asked: list[tuple[PeopleSet, tuple[System, ...]]] = []
    for one in sets:
        try:
            crowd = loaded(one)
        except InputError as error:
            skipped[one.name] = str(error)
            told(f"{one.name}: left out: {error}")
            continue
        asked.append((one, judged(one, crowd, systems)))
    done = ledger.read()
    jobs = [
        Job(one, seed, missing)
        for one, judges in asked
        for seed in range(min(n_splits, one.most_splits))
        if (
            missing := tuple(
                system for system in judges if seed < system.most_splits and (one.name, system.name, seed) not in done
            )
        )
    ]
    for job, trials in _each(jobs, ledger, workers=workers):
        done |= {(trial.crowd, trial.system, trial.split): trial for trial in trials}
        told(f"{job.crowd.name}: split {job.split + 1} of {n_splits}, {len(trials)} systems")
    found = (
        done[one.name, system.name, seed]
        for one, judges in asked
        for seed in range(min(n_splits, one.most_splits))
        for system in judges
        if seed < system.most_splits
    )
    return Finished(tuple(found), skipped)


@dataclass(frozen=True)
class Job:
    """One split of a data set, and the systems that have not answered it yet."""

    crowd: PeopleSet
    split: int
    systems: tuple[System, ...]

    def run(self, ledger: Ledger) -> list[Trial]:
        """Run them, and write each down as soon as it is there."""
        crowd = loaded(self.crowd)
        fold, labels = crowd.fold(self.split)
        strata = crowd.test_strata(self.split)
        trials = []
        for system in self.systems:
            trials.append(run_trial(self.crowd.name, system, fold, labels, strata))
            ledger.append(trials[-1])
        return trials


@lru_cache(maxsize=2)
def loaded(one: PeopleSet) -> Crowd:
    """Return a data set, read once in each process."""
    return one.load()


def judged(one: PeopleSet, crowd: Crowd, systems: Sequence[System]) -> tuple[System, ...]:
    """Return the systems that stand in a data set's table: none that is told the label, none that is there twice."""
    return tuple(
        system
        for system in systems
        if not (one.agreement and system.hears_all) and not (system.needs_words and crowd.words is None)
    )


def _each(jobs: Sequence[Job], ledger: Ledger, *, workers: int) -> Iterator[tuple[Job, list[Trial]]]:
    """Run the jobs and give the results as they come, in processes of their own where there are several workers."""
    if workers == 1:
        yield from ((job, job.run(ledger)) for job in jobs)
        return
    # Forked, and told by number: systems are closures, which a fresh process could not be sent.
    with get_context("fork").Pool(
        workers, initializer=_WAITING.extend, initargs=([*zip(jobs, repeat(ledger), strict=False)],)
    ) as pool:
        for place, trials in pool.imap_unordered(_run_job, range(len(jobs))):
            yield jobs[place], trials


_WAITING: list[tuple[Job, Ledger]] = []


def _run_job(place: int) -> tuple[int, list[Trial]]:
    job, ledger = _WAITING[place]
    return place, job.run(ledger)
