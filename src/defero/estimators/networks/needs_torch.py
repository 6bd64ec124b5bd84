"""Is torch, which networks need, installed?"""

from importlib.util import find_spec

from defero.core.errors import Argument, InputError


def has_torch() -> bool:
    """Return whether torch is installed, without loading it."""
    try:
        return find_spec("torch") is not None
    except ModuleNotFoundError:
        return False


def check_torch(net: str, loss: str) -> None:
    """Raise if torch is not installed."""
    if not has_torch():
        raise InputError(
            Argument("net", net),
            " with ",
            Argument("loss", loss),
            ": needs PyTorch, which is not installed: pip install 'defero[train]'. Without it, pass ",
            Argument("net", "trees"),
            ".",
        )
