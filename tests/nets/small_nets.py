"""Every named net at its smallest batch, for the tests that all of them pass."""

import torch

from defero.nets import net_by_name

N_CLASSES, N_EXPERTS = 3, 2
SHAPES = {
    "wrn-28-4": (3, 8, 8),
    "resnet-18": (3, 16, 16),
    "resnet-34": (3, 16, 16),
    "resnet-50": (3, 16, 16),
    "resnet-18-small": (3, 8, 8),
    "text-cnn": (20,),
}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def items(name, n=6, *, seed=1):
    return torch.randn(n, *SHAPES[name], generator=seeded(seed))


def small_net(name, *, seed=0, branches="one", model_column=False):
    return net_by_name(
        name,
        items(name, 2),
        n_classes=N_CLASSES,
        n_experts=N_EXPERTS,
        branches=branches,
        model_column=model_column,
        generator=seeded(seed),
    )
