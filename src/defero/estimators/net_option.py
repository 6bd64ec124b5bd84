"""What the option `net` may be: small nets on features, deep nets by name, or anybody's module."""

from torch import nn

from defero.core.errors import InputError
from defero.nets.named import NET_NAMES, is_net_name, meant_net

SMALL_NETS = ("linear", "mlp", "auto")


def is_deep(net: object) -> bool:
    """Say whether this is no small net.

    >>> is_deep("mlp"), is_deep("wrn-28-4")
    (False, True)
    """
    return not (isinstance(net, str) and net in SMALL_NETS)


def check_net(net: object) -> None:
    """Raise unless this is one of the options."""
    if isinstance(net, nn.Module) or (isinstance(net, str) and (net in SMALL_NETS or is_net_name(net))):
        return
    offer = meant_net(net, SMALL_NETS) if isinstance(net, str) else "."
    raise InputError(
        f"net must be 'linear', 'mlp', 'auto', the name of a deep net ({', '.join(NET_NAMES)}) or a torch.nn.Module, "
        f"got {net!r}{offer}"
    )
