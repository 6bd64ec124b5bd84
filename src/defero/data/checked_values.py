"""Checks of values out of a model.json: the type, length and range of each, before anything is built from it.

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


def record(**entries: Check) -> Check:
    """Return the check of an object: these entries must be there, others are plain values."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise wrong(place or "model.json", "an object with named entries", value)
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
            raise wrong(f"{place}.{key}", f"one of {', '.join(kinds)}", value[key])
        kinds[value[key]](value, place)

    return check


def list_of(inner: Check, *, least: int = 0, most: int | None = None) -> Check:
    """Return the check of a list and of each of its entries."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise wrong(place, "a list", value)
        if len(value) < least or (most is not None and len(value) > most):
            raise wrong(place, f"a list of {least} entries" + ("" if least == most else " or more"), value)
        for at, one in enumerate(value):
            inner(one, f"{place}[{at}]")

    return check


def mapping_of(inner: Check, *, known: tuple[str, ...] | None = None) -> Check:
    """Return the check of an object with any names, or with some of those that are known."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict) or (known is not None and not set(value) <= set(known)):
            raise wrong(place, "an object with named entries" + (f", of {', '.join(known)}" if known else ""), value)
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
            raise wrong(place, f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -math.inf, high: float = math.inf) -> Check:
    """Return the check of a finite number in a range."""

    def check(value: Any, place: str) -> None:
        if type(value) not in (int, float) or abs(value) > 1.8e308 or not low <= value <= high:
            bounds = "" if math.isinf(low) else f" from {low:g} to {high:g}"
            raise wrong(place, f"a number{bounds}", value)

    return check


def text(value: Any, place: str) -> None:
    """Check a text."""
    if not isinstance(value, str):
        raise wrong(place, "a text", value)


def flag(value: Any, place: str) -> None:
    """Check true or false."""
    if not isinstance(value, bool):
        raise wrong(place, "true or false", value)


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
            raise wrong(place, f"nested at most {MOST_DEPTH} deep", "more")
        if isinstance(one, dict | list):
            waiting.extend((inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one))
        elif type(one) in (int, float):
            number()(one, place)


def _join(place: str, name: str) -> str:
    return f"{place}.{name:.80}" if place else f"{name:.80}"


def wrong(place: str, expected: str, value: object) -> ModelFolderError:
    """Return the error for a value that is not as expected."""
    text = repr(value)
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return ModelFolderError(f"model.json: {place} must be {expected}, got {text}; fit again or restore it.")


def recipe_check(n_bytes: int) -> Check:
    """Return the check of a recipe for columns or for pictures."""
    side = integer(1, 1 << 14)
    numbers, flags = list_of(number()), {"missing": flag}
    words = {"name": text, "words": list_of(text, least=1), **flags}
    kinds = {
        "number": record(name=text, fill=number(), varies=flag, low=number(), high=number(), **flags),
        "category": record(name=text, levels=list_of(text), other=flag, **flags),
        "text": record(idf=numbers, slopes=maybe(list_of(numbers)), bias=numbers, **words),
        "vector": record(width=integer(1, n_bytes), coordinates=text, **words),
        "embedding": record(
            width=integer(1, n_bytes),
            scale=number(0.0, 1.8e308),
            probe=numbers,
            slopes=maybe(list_of(numbers)),
            bias=numbers,
            **dict.fromkeys(("name", "encoder"), text),
            **flags,
        ),
    }
    columns = record(columns=list_of(by_kind("kind", kinds), least=1), dropped=mapping_of(text))
    pictures = record(pictures=text, size=list_of(side, least=2, most=2))

    def check(value: Any, place: str) -> None:
        (pictures if isinstance(value, dict) and "pictures" in value else columns)(value, place)
        for column in value.get("columns", ()):
            n_words, idf = len(column.get("words", ())), column.get("idf")
            rows = idf if column.get("slopes") is None else column["slopes"]
            if idf is not None and (len(idf) != n_words or len(rows) != n_words):
                raise wrong(f"{place}.columns", f"{n_words} weights for {n_words} words", len(rows))
            if any(len(row) != len(column["bias"]) for row in column.get("slopes") or ()):
                raise wrong(f"{place}.columns.slopes", f"{len(column['bias'])} numbers for each word", "others")

    return check
