"""Entries of the log: to JSON and back, whatever they hold."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.service.events import KINDS, Entry

VALUES = {
    "str": st.text(max_size=8),
    "str | None": st.none() | st.text(max_size=8),
    "int": st.integers(0, 9),
    "int | None": st.none() | st.integers(0, 9),
    "bool": st.booleans(),
    "float": st.floats(0, 1),
    "float | None": st.none() | st.floats(0, 1),
    "str | int | float | bool": st.text(max_size=5) | st.integers(-5, 5) | st.booleans(),
    "tuple[float, ...]": st.lists(st.floats(0, 1), max_size=3).map(tuple),
    "tuple[str, ...]": st.lists(st.text(max_size=3), max_size=3).map(tuple),
    "tuple[str | int | float | bool, ...]": st.lists(st.integers(0, 3), max_size=3).map(tuple),
    "typing.Mapping[str, typing.Any]": st.dictionaries(st.text(max_size=3), st.integers(0, 3), max_size=3),
}


def strategy(kind):
    def of(field):
        text = getattr(field.type, "__name__", "") if isinstance(field.type, type) else str(field.type)
        return VALUES[text.replace("collections.abc.", "typing.")]

    return st.builds(KINDS[kind], **{one.name: of(one) for one in fields(KINDS[kind])})


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_an_entry_comes_back_from_json(kind, data):
    entry = Entry(1, 2.5, "c1", data.draw(strategy(kind)))
    assert Entry.read(1, 2.5, "c1", kind, entry.body()) == entry
