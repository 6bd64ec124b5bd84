"""What model.json may say of a recipe, checked before one is built from it."""

from typing import Any

from defero.data.checked_values import (
    Check,
    by_kind,
    flag,
    integer,
    list_of,
    mapping_of,
    maybe,
    number,
    record,
    text,
    wrong,
)


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
        "embedding": record(
            width=integer(1, n_bytes),
            scale=number(0.0, 1.8e308),
            probe=numbers,
            slopes=maybe(list_of(numbers)),
            bias=numbers,
            **dict.fromkeys(("name", "encoder", "version", "origin"), text),
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
