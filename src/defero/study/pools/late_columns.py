"""Columns that are known only after a call: other members' scores, prices, tokens. As features they would leak."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from defero.core.errors import Argument, Message
from defero.core.wording import join_names
from defero.data.tables.cells import numbers

_PRICE = re.compile(r"(^|[_\s.-])(prices?|costs?|fees?|dollars|usd)$", re.IGNORECASE)
_CALL = re.compile(r"(tokens?_out|out(put)?_tokens?|completion_tokens?|(^|[_\s.-])latency)(_(s|ms))?$", re.IGNORECASE)
SCORES, PRICES, CALLS = "scores", "prices", "figures of a call"


def late_columns(frame: pd.DataFrame, features: Sequence[str], *, fees: Sequence[str]) -> dict[str, list[str]]:
    """Return the feature columns that look as if they were known only after a call, by what they look like.

    Parameters
    ----------
    frame : DataFrame
    features : names
    fees : names
        Columns of prices; a copy of one is a price too.

    Examples
    --------
    >>> frame = pd.DataFrame({"words": [5, 9, 7], "gpt": [1, 0, 1], "gpt_price": [0.1, 0.2, 0.1]})
    >>> late_columns(frame, ["words", "gpt", "gpt_price"], fees=[])
    {'scores': ['gpt'], 'prices': ['gpt_price']}
    """
    paid = [numbers(frame[name])[0] for name in fees if name in frame.columns]
    kinds: dict[str, list[str]] = {}
    for name in features:
        values, wrong = numbers(frame[name])
        seen = values[np.isfinite(values)]
        if wrong.any() or not seen.size:
            continue
        if _PRICE.search(name) or any(np.array_equal(values, price, equal_nan=True) for price in paid):
            kinds.setdefault(PRICES, []).append(name)
        elif _CALL.search(name):
            kinds.setdefault(CALLS, []).append(name)
        elif ((seen >= 0) & (seen <= 1)).all() and np.ptp(seen) > 0:
            has_gaps, right_or_wrong = len(seen) < len(values), np.isin(seen, (0, 1)).all()
            if has_gaps or right_or_wrong:
                kinds.setdefault(SCORES, []).append(name)
    return kinds


def late_note(kinds: dict[str, list[str]]) -> list[str]:
    """Return the caution on such columns; none where there are none."""
    if not kinds:
        return []
    what = "; ".join(f"{join_names(names)} may be {kind}" for kind, names in kinds.items())
    return [
        Message(
            f"features that may be known only after a call: {what}. A feature must be known before a member is asked, "
            "and `route` will need it. Where these are not, name the features with ",
            Argument("features"),
            " and leave them out.",
        )
    ]
