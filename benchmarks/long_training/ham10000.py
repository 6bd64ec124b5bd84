"""HAM10000 with 2, 5 and 10 experts, trained three times as long as in Figure 1: the paper's three methods."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.long_training.queue import Job
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.runs.one_run import SharedRuns, one_run
from defero_verma2023.runs.record import RunKey, append_record, read_records
from defero_verma2023.runs.trainer import Trainer, trainer_of

EPOCHS = 24
FILE = f"ham10000_{EPOCHS}-epochs.jsonl"
"""As `defero reproduce fig1-ham10000 --train --epochs 24` names it."""
ORDER = (
    ("ova", 10.0),
    ("softmax", 10.0),
    ("ova", 2.0),
    ("softmax", 2.0),
    ("ova", 5.0),
    ("softmax", 5.0),
    ("moe", 10.0),
    (ONE_CLASSIFIER, 0.0),
    ("moe", 2.0),
    ("moe", 5.0),
)
"""Methods and numbers of experts, the most important first: with ten experts deferral matters most."""


def jobs(out: Path, earlier: Path, *, seed: int, tiny: bool = False) -> Iterator[Job]:
    """Yield the runs of a seed that are not in `out` or in the file `earlier`, the most important first."""
    trainer = _loads_once(trainer_of(EXPERIMENTS["ham10000"].data_set, quick=tiny))
    shared = SharedRuns(
        "ham10000", "as_published", 1 if tiny else EPOCHS, tiny, None, trainer_of=lambda _, quick: trainer
    )
    path = out / FILE
    done = {record.key for file in (path, earlier) for record in read_records(file)}
    for method, setting in ORDER:
        key = RunKey("ham10000", method, setting, seed, "as_published", trainer.nets_of(method)[0])
        if key not in done:
            yield Job(f"{method}, {setting:g} experts, seed {seed}", EPOCHS, _kept(path, shared, key))


def _kept(path: Path, shared: SharedRuns, key: RunKey) -> Callable[[], None]:
    return lambda: append_record(path, replace(one_run(shared, key), command=_command(key)))


def _command(key: RunKey) -> str:
    """Return the command that makes the same run."""
    settings = [] if key.method == ONE_CLASSIFIER else ["--settings", f"{key.setting:g}"]
    train = ["defero", "reproduce", "fig1-ham10000", "--train", "--epochs", str(EPOCHS)]
    return shlex.join([*train, "--methods", key.method, *settings, "--seeds", str(key.seed)])


def _loads_once(trainer: Trainer) -> Trainer:
    """Return a trainer that reads and splits the data of a seed once."""
    held: dict[int, object] = {}

    def load(seed: int, protocol: object) -> object:
        if seed not in held:
            held[seed] = trainer.load(seed, "as_published")
        return held[seed]

    return Trainer(trainer.nets, load, trainer.train)
