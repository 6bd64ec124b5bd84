"""CIFAR-10 with simulated experts: what figures 2, 3 and the appendix rest on.

One classifier is trained from scratch, and in figure 2 so are the paper's two losses. All else starts from that
classifier, which takes a fraction of the time: networks tune its trunk on with their experts, and two-stage learns from
what it says.
"""

from dataclasses import replace
from functools import partial

from defero.training import LoopSettings
from defero_verma2023.methods import FROZEN, ONE_CLASSIFIER, TUNED, TWO_LOSSES, root_of
from defero_verma2023.runs.trained_team import TrainedTeam
from defero_verma2023.runs.trainer import Task, Trainer
from defero_verma2023.training.cifar10_classifier import classifier_trunk, one_classifier
from defero_verma2023.training.cifar10_parts import Cifar10Parts, shared_parts
from defero_verma2023.training.cifar10_team import train_team
from defero_verma2023.training.muon import muon

NET = "wrn-28-4"
SETTINGS = LoopSettings(
    epochs=18,
    batch_size=1024,
    optimiser=muon.__name__,
    learning_rate=0.05,
    weight_decay=2e-3,
    warm_up=0.1,
    compile_part="trunk",
)
TUNING = replace(SETTINGS, epochs=9)
"""Of a network that starts from one classifier's trunk."""
QUICK_NET = "wrn-10-1"
QUICK_SETTINGS = LoopSettings(epochs=12, batch_size=128, learning_rate=0.1)
QUICK_TUNING = replace(QUICK_SETTINGS, epochs=4, learning_rate=0.05)
N_QUICK = 4_000


def trainer(*, quick: bool) -> Trainer:
    """Return how CIFAR-10's teams are trained; quick: a small network on a subset, for a laptop without a GPU."""
    net, limit = (QUICK_NET, N_QUICK) if quick else (NET, None)
    settings, tuning = (QUICK_SETTINGS, QUICK_TUNING) if quick else (SETTINGS, TUNING)
    return Trainer(
        nets={
            net: (*TWO_LOSSES, ONE_CLASSIFIER),
            net + TUNED: (*TWO_LOSSES, "moe", "decoupled", "asymmetric"),
            net + FROZEN: ("two-stage",),
        },
        load=lambda seed, protocol: shared_parts(limit, halve=quick),
        train=partial(_trained, settings=settings, tuning=tuning),
    )


def _trained(parts: Cifar10Parts, task: Task, *, settings: LoopSettings, tuning: LoopSettings) -> TrainedTeam:
    """Train what the task asks for; its number of epochs, where it has one, is that of the classifier beneath too."""
    if task.epochs is not None:
        settings, tuning = (replace(one, epochs=task.epochs) for one in (settings, tuning))
    seed, net = task.seed, root_of(task.net)
    if task.method == ONE_CLASSIFIER:
        return one_classifier(parts, seed=seed, net=net, settings=settings)
    if task.net.endswith(FROZEN) and task.pool is not None:
        # Only now: it loads scikit-learn, which a machine that trains nets need not have.
        from defero_verma2023.training.two_stage import after_one_classifier

        alone = one_classifier(parts, seed=seed, net=net, settings=settings)
        return after_one_classifier(alone.validation, alone.test, task.pool, seed=seed)
    if task.net.endswith(TUNED):
        start = classifier_trunk(parts, seed=seed, net=net, settings=settings)
        team, _ = train_team(parts, task.pool, task.method, seed=seed, net=net, settings=tuning, start=start)
        alone = one_classifier(parts, seed=seed, net=net, settings=settings)
        start_facts = {
            "start": "the trunk of one classifier of the same seed",
            "start_accuracy": float(alone.test.model_correct.mean()),
        }
        return replace(team, recipe=team.recipe | start_facts)
    return train_team(parts, task.pool, task.method, seed=seed, net=net, settings=settings)[0]
