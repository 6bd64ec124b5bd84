r"""Deep training on one GPU: how fast, beside a plain loop in the same run, and how good on CIFAR-10.

    PYTHONPATH=src:papers/verma2023/src python3 -m benchmarks.gpu_training --data FOLDER --out RESULTS \
        --only speed,plain,train30,train100

FOLDER has CIFAR-10 as mosaics (train1.webp ... train5.webp, test.webp, cifar10_labels.npz) or as arrays (train1.npy,
...); --data may be given several times. `speed` and `plain` use the training pictures that are there; the trainings
need all of them. Without a GPU it can be tried out: --net wrn-10-1 --limit 600 --batch-sizes 64 --batch-size 64.

The setting is simulation 1 of the paper with 4 experts and the one-vs-all loss, as its published runs drew them (six
classes at 0.73, the others at 0.10): the published system accuracy is 88.56 %, about 88.6. Trained on all 50,000
pictures without any held-out part, and judged once, at the end, on the 10,000 of the test.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch._dynamo
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.gpu_setting import machine_facts, read_cifar10, sim1_answers, wide_net
from benchmarks.plain_loop import plain_rate
from defero.losses import DeferralLoss
from defero.nets import DeferralNet
from defero.scorers.network import scores_from_logits
from defero.training.answer_source import FixedAnswers
from defero.training.evaluate import Learner, all_logits, judge
from defero.training.feeds import DeviceFeed
from defero.training.loop import fit_deep
from defero.training.loop_settings import LoopSettings
from defero.training.machine import fast_kernels, start_machine
from defero.training.optimisers import make_optimiser
from defero.training.pictures import Augmentation
from defero.training.verdicts import Verdicts
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
COMPILE: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"mode": "reduce-overhead"},
    "max-autotune-no-cudagraphs": {"mode": "max-autotune-no-cudagraphs"},
    "max-autotune": {"mode": "max-autotune"},
}
"""Ways to compile."""
DRAWS = 20
"""Draws of the experts' answers to the test pictures, over which a figure is averaged."""


class Ledger:
    """Results as they come: a line on the terminal, and the whole file after every run."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._path, self._log = out / "gpu_training.json", out / "gpu_training.log"
        command = " ".join(["python3 -m benchmarks.gpu_training", *sys.argv[1:]])
        self._facts: dict[str, Any] = {"command": command, "machine": machine_facts(), "runs": []}

    def add(self, what: str, **figures: Any) -> None:
        """Take down a run."""
        self._facts["runs"].append({"what": what, **figures})
        self._path.write_text(json.dumps(self._facts, indent=1) + "\n")
        self.say(f"{what}: " + ", ".join(f"{name} {_short(value)}" for name, value in figures.items()))

    def say(self, text: str) -> None:
        """Print a line and keep it."""
        print(text, flush=True)
        with self._log.open("a") as file:
            file.write(f"{time.strftime('%H:%M:%S')} {text}\n")


# --- how fast ---------------------------------------------------------------------------------------------------------


def bare_rate(
    pictures: Tensor, labels: Tensor, *, n_experts: int, batch_size: int, how: str, net: str
) -> dict[str, float]:
    """Time the network's step alone, on one batch that never changes: forward, loss, backward, optimiser."""
    torch._dynamo.reset()
    device = DEVICE
    pictures, labels = pictures[:batch_size], labels[:batch_size]
    feed = DeviceFeed(pictures, labels, sim1_answers(labels, n_experts, seed=0, how="fixed"), seed=0)
    feed.place(device)
    module: Any = wide_net(net, n_experts, seed=0)
    module = module.to(device=device, memory_format=torch.channels_last)
    optimiser = make_optimiser(module, LoopSettings())
    learner: Any = torch.compile(Learner(module, feed.prepare, DeferralLoss("ova")), dynamic=False, **COMPILE[how])
    correct = feed.verdicts().correct

    def step() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            loss = learner(feed.inputs, feed.labels, correct, None, None)
        (loss / batch_size).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    with fast_kernels(device):
        started = time.monotonic()
        for _ in range(15):
            step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        first = time.monotonic() - started
        rates = [30 * batch_size / _event_seconds(step, 30) for _ in range(7)]
    return {"images_per_second": statistics.median(rates), "spread": max(rates) - min(rates), "first_seconds": first}


def end_to_end_rate(
    pictures: Tensor, labels: Tensor, *, n_experts: int, batch_size: int, how: Any, net: str, answers: str
) -> dict[str, float]:
    """Time whole epochs of `fit_deep`: the order, the answers, crops, flips, cut-outs, the step, average and log."""
    torch._dynamo.reset()
    settings = LoopSettings(epochs=6, batch_size=batch_size, learning_rate=0.1, compile=how)
    source = sim1_answers(labels, n_experts, seed=0, how=answers)
    train = DeviceFeed(pictures, labels, source, seed=0, augmentation=Augmentation(cutout=8))
    fit = fit_deep(wide_net(net, n_experts, seed=0), DeferralLoss("ova"), train, settings=settings, seed=0)
    rates = [line.images_per_second for line in fit.lines[1:]]
    return {
        "images_per_second": statistics.median(rates),
        "spread": max(rates) - min(rates),
        "first_seconds": fit.first_step_seconds,
    }


def _event_seconds(step: Callable[[], None], times: int) -> float:
    if DEVICE.type != "cuda":
        before = time.monotonic()
        for _ in range(times):
            step()
        return time.monotonic() - before
    cuda: Any = torch.cuda
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        step()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000


def speed(ledger: Ledger, pictures: Tensor, labels: Tensor, options: argparse.Namespace) -> None:
    """Compare the bare step with whole epochs: ways to compile at J = 20, then the best of them at J = 1 and 256."""
    best, best_rate = options.modes[0], 0.0
    for batch_size in options.batch_sizes:
        for how in options.modes:
            measure: dict[str, Any] = {"n_experts": 20, "batch_size": batch_size, "how": how}
            bare = bare_rate(pictures, labels, net=options.net, **measure)
            ledger.add("bare step", **measure, **bare)
            whole = end_to_end_rate(pictures, labels, net=options.net, answers="by a thread", **measure)
            share = whole["images_per_second"] / bare["images_per_second"]
            ledger.add("end to end", **measure, **whole, share_of_bare=share)
            if whole["images_per_second"] > best_rate:
                best, best_rate = how, whole["images_per_second"]
    for batch_size in options.batch_sizes:
        rates = {}
        for n_experts in (1, 256):
            measure = {"n_experts": n_experts, "batch_size": batch_size, "how": best}
            whole = end_to_end_rate(pictures, labels, net=options.net, answers="by the device", **measure)
            rates[n_experts] = whole["images_per_second"]
            ledger.add("end to end, answers by the device", **measure, **whole)
        ledger.add("J = 256 beside J = 1", batch_size=batch_size, share=rates[256] / rates[1])


def plain(ledger: Ledger, pictures: Tensor, labels: Tensor, options: argparse.Namespace) -> None:
    """Run the plain loop at J = 1, 4 and 20, its labels on the device; at J = 20 also with its labels on the host."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    for n_experts, labels_on in ((1, "device"), (4, "device"), (20, "device"), (20, "host")):
        net = wide_net(options.net, n_experts, seed=0).to(DEVICE)
        size = min(1024, options.batch_sizes[-1])
        figures = plain_rate(
            net, pictures, labels, n_experts=n_experts, labels_on=labels_on, device=DEVICE, batch_size=size
        )
        ledger.add("plain loop", n_experts=n_experts, labels_on=labels_on, **figures)


# --- how good ---------------------------------------------------------------------------------------------------------


def judged(net: DeferralNet, test: DeviceFeed, *, seed: int) -> dict[str, float]:
    """Judge a net on the test, its experts' answers drawn several times."""
    machine = start_machine(LoopSettings())
    test.place(machine.device)
    logits = all_logits(net, test, machine, batch_size=1000)
    classes, experts = (part.double().cpu().numpy() for part in (logits.classes, logits.experts))
    scores = scores_from_logits("ova", classes, experts)
    labels = test.labels.cpu().numpy()
    pool = cifar10_sim1_pool(n_experts=experts.shape[1], variant="as_published")
    everywhere = np.ones(experts.shape, dtype=np.bool_)
    found = []
    for draw in range(DRAWS):
        answers = pool.draw(labels, rng=np.random.default_rng([seed, 999, draw]))
        found.append(judge(scores, labels, answers == labels[:, None], everywhere))
    return {
        "class_accuracy": found[0].class_accuracy,
        "system_accuracy": statistics.fmean(quality.system_accuracy for quality in found),
        "system_accuracy_sd": statistics.stdev(quality.system_accuracy for quality in found),
        "ece": statistics.fmean(quality.ece for quality in found),
        "deferred": found[0].deferred,
    }


def trunk_features(net: DeferralNet, test: DeviceFeed) -> NDArray[np.float32]:
    """Return what the heads of a trained net see of each test picture, (n, f)."""
    test.place(DEVICE)
    net.eval()
    with torch.inference_mode():
        pieces = [
            net.trunk(test.prepare(test.inputs[start : start + 1000])).float().cpu()
            for start in range(0, len(test.labels), 1000)
        ]
    return torch.cat(pieces).numpy()


def train(
    ledger: Ledger, options: argparse.Namespace, *, settings: LoopSettings, cutout: int, seeds: int, how: str
) -> None:
    """Train and judge, seed by seed."""
    pictures, labels = read_cifar10(options.data, "train", limit=options.limit)
    test_pictures, test_labels = read_cifar10(options.data, "test", limit=options.limit)
    if len(labels) != 50_000 and options.limit is None:
        raise SystemExit(f"the trainings need all 50,000 pictures, got {len(labels)}")
    torch._dynamo.reset()
    for seed in range(options.first_seed, options.first_seed + seeds):
        answers = sim1_answers(labels, 4, seed=seed, how=how)
        feed = DeviceFeed(pictures, labels, answers, seed=seed, augmentation=Augmentation(cutout=cutout))
        no_answers = FixedAnswers(Verdicts(torch.zeros(len(test_labels), 4, dtype=torch.bool)))
        test = DeviceFeed(test_pictures, test_labels, no_answers, seed=0, normalise=feed.normalise)
        net = wide_net(options.net, 4, seed=seed)
        fit = fit_deep(net, DeferralLoss("ova"), feed, settings=settings, seed=seed)
        if options.features is not None and seed == options.first_seed:
            np.save(options.features, trunk_features(net, test).astype(np.float16))
        ledger.add(
            f"CIFAR-10, OvA, simulation 1 with 4 experts, {settings.epochs} epochs",
            seed=seed,
            answers="fixed" if how == "fixed" else f"drawn anew each epoch {how}",
            **judged(net, test, seed=seed),
            train_seconds=fit.seconds,
            first_step_seconds=fit.first_step_seconds,
            images_per_second=statistics.median(line.images_per_second for line in fit.lines[1:]),
            final_loss=fit.lines[-1].loss,
            cutout=cutout,
            recipe=asdict(settings),
        )


def main() -> None:
    """Run what is asked for."""
    options = _options()
    torch._dynamo.config.recompile_limit = 64  # seeds share the code: none of them must fall back to plain execution
    ledger = Ledger(options.out)
    ledger.say(json.dumps(machine_facts()))
    settings = LoopSettings(
        batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        weight_decay=options.weight_decay,
        ema_decay=options.ema_decay or None,
        compile=options.compile,
        warm_up=options.warm_up,
    )
    for what in options.only:
        started = time.monotonic()
        if what in ("speed", "plain"):
            pictures, labels = read_cifar10(options.data, "train", limit=options.limit)
            {"speed": speed, "plain": plain}[what](ledger, pictures, labels, options)
        else:
            long, how = what.startswith("train100"), "fixed" if what.endswith("fixed") else "by a thread"
            train(
                ledger,
                options,
                settings=replace(settings, epochs=options.epochs or (100 if long else 30)),
                cutout=options.cutout100 if long else options.cutout30,
                seeds=options.seeds100 if long else options.seeds30,
                how=how,
            )
        ledger.say(f"{what}: {time.monotonic() - started:.0f} s in all")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="may be given several times")
    parser.add_argument("--out", type=Path, required=True)
    known = ["speed", "plain", "train30", "train100", "train30fixed", "train100fixed"]
    parser.add_argument("--only", type=_among(known), default=["speed", "plain", "train30", "train100"])
    modes = ["default", "max-autotune-no-cudagraphs", "reduce-overhead"]
    parser.add_argument("--modes", type=_among(list(COMPILE)), default=modes, help="ways to compile, for speed")
    parser.add_argument("--batch-sizes", type=lambda text: [int(part) for part in text.split(",")], default=[512, 1024])
    parser.add_argument("--compile", default="default", help="for the trainings")
    parser.add_argument("--batch-size", type=int, default=512, help="for the trainings")
    parser.add_argument("--learning-rate", type=float, default=0.3)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--warm-up", type=float, default=0.2)
    parser.add_argument("--ema-decay", type=float, default=0.999, help="0 for none")
    parser.add_argument("--cutout30", type=int, default=8)
    parser.add_argument("--cutout100", type=int, default=12)
    parser.add_argument("--seeds30", type=int, default=3)
    parser.add_argument("--seeds100", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--features", type=Path, help="where the first seed's features of the test pictures go, .npy")
    parser.add_argument("--net", default="wrn-28-4")
    parser.add_argument("--limit", type=int, help="so many pictures, to try it out")
    parser.add_argument("--epochs", type=int, help="instead of 30 or 100, to try it out")
    return parser.parse_args()


def _among(known: list[str]) -> Callable[[str], list[str]]:
    def parts(text: str) -> list[str]:
        chosen = text.split(",")
        if not set(chosen) <= set(known):
            raise argparse.ArgumentTypeError(f"must be among {', '.join(known)}")
        return chosen

    return parts


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "..."
    if isinstance(value, float):
        return f"{value:,.1f}" if value >= 10 else f"{value:.4f}"
    return str(value)


if __name__ == "__main__":
    main()
