"""`python -m benchmarks.people.picture_features`: features of CIFAR-10's test pictures, for the set cifar10h.

    PYTHONPATH=src:papers/verma2023/src:. DEFERO_DATA=FOLDER python3 -m benchmarks.people.picture_features --out FILE

One classifier (wrn-28-4, the recipe of Figure 2, seed 0) is trained on the training pictures alone; the features are
the 64 main directions of what its last layer reads, found in the training pictures. Put the file into
cifar10h/features.npy of the data folder. Meant for a GPU; `--limit 600 --epochs 1` tries it out without.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from defero.nets import DeferralNet
from defero.training import DeviceFeed, LoopSettings, start_machine
from defero_verma2023.methods import ONE_CLASSIFIER
from defero_verma2023.training.cifar10 import NET, SETTINGS
from defero_verma2023.training.cifar10_parts import Cifar10Parts, load_parts
from defero_verma2023.training.cifar10_team import train_team
from defero_verma2023.training.frozen_trunk import principal_directions
from defero_verma2023.training.network_outputs import nothing_said

N_DIRECTIONS, N_LOOK, SEED = 64, 1_000, 0


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="benchmarks.people.picture_features")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--net", default=NET)
    parser.add_argument("--epochs", type=int, default=SETTINGS.epochs)
    parser.add_argument("--limit", type=int, help="pictures of each part, to try it out")
    options = parser.parse_args()
    parts = load_parts(limit=options.limit)
    accuracy = write_features(parts, options.out, net=options.net, settings=replace(SETTINGS, epochs=options.epochs))
    print(f"classifier {accuracy:.4f} right; features in {options.out}")


def write_features(parts: Cifar10Parts, path: Path, *, net: str, settings: LoopSettings) -> float:
    """Train the classifier, write the features of the test pictures to a file, and return the test accuracy."""
    team, module = train_team(parts, None, ONE_CLASSIFIER, seed=SEED, net=net, settings=settings)
    np.save(path, features_of_test(module, parts), allow_pickle=False)
    return float(team.test.model_correct.mean())


def features_of_test(module: DeferralNet, parts: Cifar10Parts) -> np.ndarray:
    """Return the main directions of the test pictures' features, (n, 64) float16; directions of the training part."""
    train, test = (_features(module, parts, part) for part in ("train", "test"))
    both = principal_directions(np.concatenate([train, test]), np.arange(len(train)), N_DIRECTIONS)
    return both[len(train) :].astype(np.float16)


def _features(module: DeferralNet, parts: Cifar10Parts, part: str) -> np.ndarray:
    machine = start_machine(LoopSettings())
    pictures, labels = parts.pictures[part], torch.from_numpy(parts.labels[part])
    # Normalised by the training pictures, as in the training.
    known = torch.from_numpy(parts.labels["train"])
    source = DeviceFeed(parts.pictures["train"], known, nothing_said(len(known)), seed=0)
    feed = DeviceFeed(pictures, labels, nothing_said(len(labels)), seed=0, normalise=source.normalise)
    feed.place(machine.device)
    module.eval()
    with torch.no_grad(), machine.autocast():
        blocks = [module.with_features(feed.prepare(inputs))[1].float().cpu() for inputs in feed.in_order(N_LOOK)]
    return torch.cat(blocks).numpy()


if __name__ == "__main__":
    main()
