"""How well each expert is known: a record as JSON, with what the model says of its own doubt."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defero.metrics.record.team import TeamRecord
    from defero.router import Router


def mean_sd(router: "Router", features: Any) -> tuple[float, ...]:
    """Return the mean standard deviation of P(expert j is right) over cases, (J,); nan without a shrunk head."""
    found: list[float] = router.expert_sd(features).mean(axis=0).tolist()
    return tuple(found)


def record_dict(record: "TeamRecord", router: "Router", *, sd: "Sequence[float]") -> dict[str, Any]:
    """Return a record's plain values, and of each expert how unsure the model is of them and who is asked alone."""
    told = record.to_dict()
    proven = router.proven.tolist()
    told["experts"] = [
        {**expert, "probability_sd": None if math.isnan(one) else one, "asked_alone": enough}
        for expert, one, enough in zip(told["experts"], sd, proven, strict=True)
    ]
    return told
