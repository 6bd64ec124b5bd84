"""CIFAR-10: features of the test pictures, and Figure 2b with longer training, three seeds each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.long_training.queue import Job
from benchmarks.many_experts.heads_together import ALONE, HEADS, run_heads_together
from benchmarks.many_experts.methods import METHODS
from benchmarks.many_experts.records import Record, append_run, read_runs, run_key
from benchmarks.many_experts.training import QUICK, WIDE, Nets, run
from benchmarks.people.picture_features import write_features
from defero_verma2023.training.cifar10 import NET, QUICK_NET, QUICK_SETTINGS, SETTINGS
from defero_verma2023.training.cifar10_parts import Cifar10Parts

LONG, MIDDLE = 72, 36
LOSSES = ("ova", "softmax")
N_EXPERTS = (4, 8, 12, 20)
FILE, FEATURES = "many_experts.jsonl", "features.npy"


class LongRuns:
    """The runs of CIFAR-10 that are not there yet.

    Parameters
    ----------
    parts : Cifar10Parts
    out : Path
        A folder for the runs and the features.
    earlier : sequence of Path
        Files of runs that are not made again.
    machine : mapping
        What the runs are made on.
    tiny : bool
        One epoch of a small net, to try it out.
    """

    def __init__(
        self, parts: Cifar10Parts, out: Path, earlier: Sequence[Path], machine: dict[str, Any], *, tiny: bool = False
    ) -> None:
        self.parts, self.path, self.machine, self.tiny = parts, out / FILE, machine, tiny
        self.features = out / FEATURES
        self.earlier = [record for path in earlier for record in read_runs(path)]

    def jobs(self) -> Iterator[Job]:
        """Yield what is missing, the most important first."""
        if not self.features.is_file():
            yield Job("features of CIFAR-10's test pictures", SETTINGS.epochs, self._write_features)
        for seed in (1, 2):
            yield from self._of_losses((20, 12, 4), seed, LONG)
        for seed in (1, 2):
            yield from self._of_heads(seed, LONG)
        for seed in (0, 1, 2):
            yield from self._of_losses((8,), seed, LONG)
        yield from self._of_heads(0, LONG)
        for seed in (0, 1, 2):
            yield from self._of_losses((20, 4, 12, 8), seed, MIDDLE)
            yield from self._of_heads(seed, MIDDLE)

    def _of_losses(self, n_experts: Sequence[int], seed: int, epochs: int) -> Iterator[Job]:
        """Yield one run for each loss and number of experts."""
        nets = self._nets(epochs)
        for n in n_experts:
            for name in LOSSES:
                if (name, n, seed, nets.trunk, nets.settings.epochs) not in self._done():
                    yield Job(
                        f"{name}, {n} experts, {epochs} epochs, seed {seed}", epochs, self._single(name, n, seed, nets)
                    )

    def _of_heads(self, seed: int, epochs: int) -> Iterator[Job]:
        """Yield one run for all numbers of experts and for one classifier, where one of them is missing."""
        nets = self._nets(epochs)
        wanted = {(ALONE.name, 0), *((HEADS.name, n) for n in N_EXPERTS)}
        if not {(name, n, seed, nets.trunk, nets.settings.epochs) for name, n in wanted} <= self._done():
            yield Job(f"heads of {N_EXPERTS} experts, {epochs} epochs, seed {seed}", epochs, self._together(seed, nets))

    def _single(self, name: str, n_experts: int, seed: int, nets: Nets) -> Callable[[], None]:
        return lambda: self._keep([run(self.parts, METHODS[name], n_experts=n_experts, seed=seed, nets=nets)])

    def _together(self, seed: int, nets: Nets) -> Callable[[], None]:
        return lambda: self._keep(run_heads_together(self.parts, n_experts=N_EXPERTS, seed=seed, nets=nets))

    def _write_features(self) -> None:
        net, settings = (QUICK_NET, replace(QUICK_SETTINGS, epochs=1)) if self.tiny else (NET, SETTINGS)
        write_features(self.parts, self.features, net=net, settings=settings)

    def _nets(self, epochs: int) -> Nets:
        if self.tiny:  # two epochs and one: long and middle runs stay apart
            return replace(QUICK, settings=replace(QUICK.settings, epochs=epochs // MIDDLE, batch_size=100))
        return replace(WIDE, settings=replace(WIDE.settings, epochs=epochs))

    def _done(self) -> set[tuple[Any, ...]]:
        return {run_key(record) for record in (*self.earlier, *read_runs(self.path))}

    def _keep(self, records: Sequence[Record]) -> None:
        done = self._done()
        for record in records:
            if run_key(record) not in done:
                append_run(self.path, {"plan": "long", **record, "machine": self.machine})
