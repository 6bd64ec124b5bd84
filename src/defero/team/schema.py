"""What the model.json of a team may say, checked before anything is built from it; see `data.checked_values`."""

import math
from collections.abc import Mapping
from typing import Any

from defero.data.checked_values import (
    MOST_INTEGER,
    Check,
    flag,
    integer,
    label,
    list_of,
    mapping_of,
    maybe,
    number,
    recipe_check,
    record,
    text,
    wrong,
)

MOST_PIXELS = 1 << 22
MOST_PARTS = 8
"""Models in a blend."""


def check_manifest(manifest: Mapping[str, Any], *, n_bytes: int) -> None:
    """Raise unless model.json has the values that a team is built from.

    Parameters
    ----------
    manifest : mapping
        What model.json says.
    n_bytes : int
        The size of the folder's files: no width or count of arrays can be larger.
    """
    width = integer(0, n_bytes)
    record(
        kind=text,
        classes=list_of(label, least=1),
        experts=list_of(text),
        answer_counts=list_of(integer(0)),
        min_answers=integer(0),
        rule=record(name=text),
        n_features=maybe(width),
        item_shape=maybe(list_of(integer(1, MOST_PIXELS), least=1)),
        recipe=maybe(recipe_check(n_bytes)),
        data_fingerprint=maybe(text),
        rows_key=maybe(text),
        scorer=scorer(n_bytes),
        calibrator=maybe(calibrator),
        selection=maybe(selection),
        panel=maybe(panel),
        facts=facts,
    )(manifest, "")
    n_experts = len(manifest["experts"])
    if len(manifest["answer_counts"]) != n_experts:
        raise wrong("answer_counts", f"{n_experts} numbers, one per expert", manifest["answer_counts"])
    if manifest["item_shape"] is not None and math.prod(manifest["item_shape"]) > MOST_PIXELS:
        raise wrong("item_shape", f"at most {MOST_PIXELS:,} numbers in all", manifest["item_shape"])


def scorer(n_bytes: int) -> Check:
    """Return the check of a scorer's settings, of whichever kind."""
    width, place, levels = integer(0, n_bytes), integer(-1, n_bytes), maybe(list_of(text, least=1))
    own = {
        "link": text,
        "depths": mapping_of(integer(0, n_bytes)),
        "heads": list_of(text),
        "reads_classes": flag,
        "net": text,
        "branches": text,
        "item_shape": list_of(integer(1, MOST_PIXELS), least=1),
        "n_classes": width,
        "n_experts": width,
        "block": integer(1, 1 << 20),
        "constants": list_of(maybe(number(0.0, 1.0))),
        "raw": maybe(list_of(record(name=text, start=place, missing=place, fill=number(), levels=levels))),
        "base_kind": text,
        "lens": record(n_features=width, reads_classes=flag, n_hidden=width),
        "n_own": width,
        "temperature": number(),
        "order": list_of(integer(0, n_bytes)),
    }

    def check(value: Any, place: str, *, inside: bool = False) -> None:
        record()(value, place)
        record(**{name: own[name] for name in value if name in own})(value, place)
        if "base" in value:
            if inside:
                raise wrong(f"{place}.base", "one scorer inside another", "more of them")
            check(value["base"], f"{place}.base", inside=True)
        if "parts" in value:
            list_of(record(kind=text, settings=record()), least=1, most=MOST_PARTS)(value["parts"], f"{place}.parts")
            for number_of_part, part in enumerate(value["parts"]):
                if "parts" in part["settings"] or "base" in part["settings"]:
                    raise wrong(f"{place}.parts[{number_of_part}]", "a scorer of its own", "one with others inside")
                check(part["settings"], f"{place}.parts[{number_of_part}]", inside=True)

    return check


def calibrator(value: Any, place: str) -> None:
    """Check a calibrator; its maps are numbers, and words that name their method and link."""
    share = number(0.0, 1.0)
    record(
        temperature=number(),
        experts=record(method=text),
        n_labels=maybe(integer(0)),
        n_answers=maybe(list_of(integer(0))),
        keeps_model=flag,
        accuracy=maybe(record(model=share, newcomer=share, experts=list_of(share))),
    )(value, place)
    _no_number_in_text(value, place)


def selection(value: Any, place: str) -> None:
    """Check the map of the expert who is chosen."""
    record(
        weights=list_of(number(), least=3, most=3),
        expert_shift=list_of(number()),
        asks=flag,
        n_items=integer(0),
        gain=maybe(number()),
        gain_se=maybe(number()),
    )(value, place)


def panel(value: Any, place: str) -> None:
    """Check a panel and its thresholds; an infinite threshold is the text inf or -inf."""
    record(
        predictor=record(target=text, alpha=number(0.0, 1.0), n_experts=integer(0), partly_observed=flag),
        fees=maybe(list_of(number())),
        cost_matrix=maybe(list_of(list_of(number(0.0)))),
        available=maybe(list_of(flag)),
        discount=list_of(number()),
        confusion=list_of(list_of(list_of(number()))),
        enough=list_of(flag),
        mean_size=number(0.0),
        verdicts=mapping_of(
            record(weights=list_of(number(), least=6, most=6), asks=flag, n_cases=integer(0)),
            known=("sequential", "panel", "everybody_bayes"),
        ),
    )(value, place)


def facts(value: Any, place: str) -> None:
    """Check what a team remembers of its making."""
    texts = list_of(text)
    record(
        **dict.fromkeys(("estimator", "choice"), maybe(text)),
        parameters=record(),
        columns=maybe(texts),
        random_state=maybe(integer(-MOST_INTEGER)),
        spec=table_spec,
        control=maybe(record(from_name=text, to_name=text, kind=text)),
        answering=maybe(record(depends_on_label=flag, depends_on_features=flag, sentences=list_of(list_of(piece)))),
        shared_errors=maybe(record(sentences=texts, groups=list_of(texts))),
        joined=texts,
    )(value, place)


def table_spec(value: Any, place: str) -> None:
    """Check how a table was read."""
    columns = ("label", "item", "annotator", "answer", "key", "groups", "time", "split", "format", "control")
    texts = list_of(text)
    record(
        **dict.fromkeys((*columns, "image_column"), maybe(text)),
        **dict.fromkeys(("expert_names", "features"), maybe(texts)),
        **dict.fromkeys(("text", "blank"), texts),
        **dict.fromkeys(("majority_label", "log"), flag),
        rename=mapping_of(text),
    )(value, place)


def piece(value: Any, place: str) -> None:
    """Check a piece of a message: a text, or an argument with or without a value."""
    if not isinstance(value, str):
        record(argument=text)(value, place)


def _no_number_in_text(value: Any, place: str) -> None:
    """Raise where a text could be read as a number: nan and inf are none."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, str) and (not one.replace("-", "").isalpha() or one.strip("-").lower() in _NO_NUMBERS):
            raise wrong(place, "numbers, and the names of methods", one)


_NO_NUMBERS = {"nan", "inf", "infinity"}
