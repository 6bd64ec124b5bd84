"""What model.json may say: the type, length and range of every value, checked before anything is built from it.

A check is a function of a value and its place, such as `calibrator.temperature`; it raises `ModelFolderError` with one
sentence. Entries that are not listed must be plain values, nested to a bounded depth.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from defero.core.errors import ModelFolderError

Check = Callable[[Any, str], None]
MOST_DEPTH = 20
MOST_INTEGER = 1 << 53
MOST_PIXELS = 1 << 22
MOST_PARTS = 8
"""Models in a blend."""


def check_manifest(manifest: Mapping[str, Any], *, n_bytes: int) -> None:
    """Raise unless model.json has the values that a router is built from.

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
        recipe=maybe(recipe(n_bytes)),
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
        raise _wrong("answer_counts", f"{n_experts} numbers, one per expert", manifest["answer_counts"])
    if manifest["item_shape"] is not None and math.prod(manifest["item_shape"]) > MOST_PIXELS:
        raise _wrong("item_shape", f"at most {MOST_PIXELS:,} numbers in all", manifest["item_shape"])


def recipe(n_bytes: int) -> Check:
    """Return the check of a recipe for columns or for pictures."""
    side = integer(1, 1 << 14)
    numbers, flags = list_of(number()), {"missing": flag}
    words = {"name": text, "words": list_of(text, least=1), **flags}
    kinds = {
        "number": record(name=text, fill=number(), varies=flag, low=number(), high=number(), **flags),
        "category": record(name=text, levels=list_of(text), other=flag, **flags),
        "text": record(idf=numbers, slopes=maybe(list_of(numbers)), bias=numbers, **words),
        "vector": record(width=integer(1, n_bytes), coordinates=text, **words),
    }
    columns = record(columns=list_of(by_kind("kind", kinds), least=1), dropped=mapping_of(text))
    pictures = record(pictures=text, size=list_of(side, least=2, most=2))

    def check(value: Any, place: str) -> None:
        (pictures if isinstance(value, dict) and "pictures" in value else columns)(value, place)
        for column in value.get("columns", ()):
            n_words, idf = len(column.get("words", ())), column.get("idf")
            rows = idf if column.get("slopes") is None else column["slopes"]
            if idf is not None and (len(idf) != n_words or len(rows) != n_words):
                raise _wrong(f"{place}.columns", f"{n_words} weights for {n_words} words", len(rows))
            if any(len(row) != len(column["bias"]) for row in column.get("slopes") or ()):
                raise _wrong(f"{place}.columns.slopes", f"{len(column['bias'])} numbers for each word", "others")

    return check


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
                raise _wrong(f"{place}.base", "one scorer inside another", "more of them")
            check(value["base"], f"{place}.base", inside=True)
        if "parts" in value:
            list_of(record(kind=text, settings=record()), least=1, most=MOST_PARTS)(value["parts"], f"{place}.parts")
            for number_of_part, part in enumerate(value["parts"]):
                if "parts" in part["settings"] or "base" in part["settings"]:
                    raise _wrong(f"{place}.parts[{number_of_part}]", "a scorer of its own", "one with others inside")
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
    roles = mapping_of(text, known=("item", "annotator", "answer"))
    record(
        **dict.fromkeys(("estimator", "label", "key", "format", "groups", "time", "split", "choice"), maybe(text)),
        parameters=record(),
        columns=maybe(texts),
        random_state=maybe(integer(-MOST_INTEGER)),
        log_columns=maybe(roles),
        majority_label=flag,
        control=maybe(record(from_name=text, to_name=text, kind=text)),
        answering=maybe(record(depends_on_label=flag, depends_on_features=flag, sentences=list_of(list_of(piece)))),
        shared_errors=maybe(record(sentences=texts, groups=list_of(texts))),
        joined=texts,
    )(value, place)


def piece(value: Any, place: str) -> None:
    """Check a piece of a message: a text, or an argument with or without a value."""
    if not isinstance(value, str):
        record(argument=text)(value, place)


def record(**entries: Check) -> Check:
    """Return the check of an object: these entries must be there, others are plain values."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place or "model.json", "an object with named entries", value)
        for name, inner in entries.items():
            if name not in value:
                raise ModelFolderError(f"model.json: {_join(place, name)} is missing; fit again or restore it.")
            inner(value[name], _join(place, name))
        for name in value.keys() - entries.keys():
            plain(value[name], _join(place, name))

    return check


def by_kind(key: str, kinds: Mapping[str, Check]) -> Check:
    """Return the check of an object that names its own kind."""

    def check(value: Any, place: str) -> None:
        record(**{key: text})(value, place)
        if value[key] not in kinds:
            raise _wrong(f"{place}.{key}", f"one of {', '.join(kinds)}", value[key])
        kinds[value[key]](value, place)

    return check


def list_of(inner: Check, *, least: int = 0, most: int | None = None) -> Check:
    """Return the check of a list and of each of its entries."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        if len(value) < least or (most is not None and len(value) > most):
            raise _wrong(place, f"a list of {least} entries" + ("" if least == most else " or more"), value)
        for at, one in enumerate(value):
            inner(one, f"{place}[{at}]")

    return check


def mapping_of(inner: Check, *, known: tuple[str, ...] | None = None) -> Check:
    """Return the check of an object with any names, or with some of those that are known."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict) or (known is not None and not set(value) <= set(known)):
            raise _wrong(place, "an object with named entries" + (f", of {', '.join(known)}" if known else ""), value)
        for name, one in value.items():
            inner(one, _join(place, name))

    return check


def maybe(inner: Check) -> Check:
    """Return the check of a value that may be null."""
    return lambda value, place: None if value is None else inner(value, place)


def integer(low: int, high: int = MOST_INTEGER) -> Check:
    """Return the check of a whole number in a range."""

    def check(value: Any, place: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise _wrong(place, f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -math.inf, high: float = math.inf) -> Check:
    """Return the check of a finite number in a range."""

    def check(value: Any, place: str) -> None:
        if type(value) not in (int, float) or abs(value) > 1.8e308 or not low <= value <= high:
            bounds = "" if math.isinf(low) else f" from {low:g} to {high:g}"
            raise _wrong(place, f"a number{bounds}", value)

    return check


def text(value: Any, place: str) -> None:
    """Check a text."""
    if not isinstance(value, str):
        raise _wrong(place, "a text", value)


def flag(value: Any, place: str) -> None:
    """Check true or false."""
    if not isinstance(value, bool):
        raise _wrong(place, "true or false", value)


def label(value: Any, place: str) -> None:
    """Check a class label: a text, a number, true or false."""
    if not isinstance(value, str | bool):
        number()(value, place)


def plain(value: Any, place: str) -> None:
    """Check a value of any type: its numbers are finite, and it is nested to a bounded depth."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise _wrong(place, f"nested at most {MOST_DEPTH} deep", "more")
        if isinstance(one, dict | list):
            waiting.extend((inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one))
        elif type(one) in (int, float):
            number()(one, place)


def _no_number_in_text(value: Any, place: str) -> None:
    """Raise where a text could be read as a number: nan and inf are none."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, str) and (not one.replace("-", "").isalpha() or one.strip("-").lower() in _NO_NUMBERS):
            raise _wrong(place, "numbers, and the names of methods", one)


_NO_NUMBERS = {"nan", "inf", "infinity"}


def _join(place: str, name: str) -> str:
    return f"{place}.{name:.80}" if place else f"{name:.80}"


def _wrong(place: str, expected: str, value: object) -> ModelFolderError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return ModelFolderError(f"model.json: {place} must be {expected}, got {shown}; fit again or restore it.")
