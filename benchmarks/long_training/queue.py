"""Jobs in order of priority, within a time limit: none begins that would not end in time, by the pace so far."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MARGIN = 1.08
"""How much longer a job may take than the pace says."""


@dataclass(frozen=True)
class Job:
    """Something to be made.

    Attributes
    ----------
    name : str
    size : float
        Jobs of twice the size take about twice the time; here in epochs.
    run : callable
        Makes it, and keeps the result.
    """

    name: str
    size: float
    run: Callable[[], None]


def work(
    jobs: Iterable[Job],
    *,
    seconds: float,
    pace: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> list[str]:
    """Run the jobs that end in time, in order, and return their names; a shorter one may come before a longer one.

    The pace is that of the slower of the last two jobs. The first one, which compiles the net, does not count. A job
    that fails is reported, and the next one begins.

    Parameters
    ----------
    jobs : iterable of Job
        The most important first.
    seconds : float
        When all must have ended.
    pace : float
        Seconds for a size of 1, as a first guess.
    say : callable
        Takes a line about each job.
    clock : callable
        Seconds since some moment.
    """
    end = clock() + seconds
    paces, ended = [pace], list[str]()
    for job in jobs:
        expected = MARGIN * max(paces[-2:]) * job.size
        began = clock()
        if began + expected > end:
            say(f"no time for {job.name}: about {expected:.0f} s, {end - began:.0f} s are left.")
            continue
        try:
            job.run()
        except Exception as error:  # the jobs after it are as good as before
            say(f"failed: {job.name}: {type(error).__name__}: {error}")
            continue
        if ended:
            paces.append((clock() - began) / job.size)
        ended.append(job.name)
        say(f"done: {job.name} in {clock() - began:.0f} s; {end - clock():.0f} s are left.")
    return ended
