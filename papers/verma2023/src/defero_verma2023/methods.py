"""The methods by name: the paper's three, ours, and two that they are measured by."""

from defero import InputError
from defero_verma2023.pools.pool import ExpertPool

ONE_CLASSIFIER = "one classifier"
"""A network that knows no experts."""
BEST_EXPERT = "best expert"
"""No method: the expert who is most often right on the test items themselves, as in the paper."""
LOSSES: dict[str, str] = {
    "ova": "ova",
    "softmax": "softmax",
    "moe": "moe",
    "decoupled": "decoupled",
    "asymmetric": "asymmetric",
    "two-stage": "decoupled",
    ONE_CLASSIFIER: "softmax",
}
"""The loss by which each method's outputs are read; without experts the softmax loss is the cross entropy."""
METHODS = tuple(LOSSES)
"""Every method that is trained, the paper's three before ours."""
END_TO_END = tuple(method for method in METHODS if method != "two-stage")
"""Those that are one network with one loss."""
OURS = ("decoupled", "asymmetric", "two-stage")
LABELS = {"ova": "OvA", "softmax": "softmax", "moe": "mixture of experts"}
"""The paper's methods in legends."""
TWO_LOSSES = {name: LABELS[name] for name in ("ova", "softmax")}
"""Those that are in every figure of the paper, and that have conformal sets."""
FROZEN = ", frozen"
"""Behind the name of a net: small models on what one classifier of that name sees or says."""
TUNED = ", tuned"
"""Behind the name of a net: it starts from the trunk of one classifier of that name."""
TEXT_NETS: dict[str, tuple[str, ...]] = {"text-cnn": ("ova", "softmax", "moe", ONE_CLASSIFIER), "tfidf": METHODS}
"""HateSpeech is run with two nets: the paper's, and ours, each with these methods."""


def root_of(net: str) -> str:
    """Return the net of the one classifier on which a frozen or a tuned net rests, and any other as it is.

    >>> root_of("wrn-28-4, tuned"), root_of("wrn-28-4")
    ('wrn-28-4', 'wrn-28-4')
    """
    return net.removesuffix(FROZEN).removesuffix(TUNED)


def check_pool(method: str, pool: ExpertPool | None) -> None:
    """Refuse a method without the experts that it needs, and one classifier with any."""
    if (pool is None) != (method == ONE_CLASSIFIER):
        raise InputError(
            f"must be left out for one classifier and given for the others; method is {method!r}.", argument="pool"
        )
