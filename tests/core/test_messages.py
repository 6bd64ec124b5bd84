"""Arguments inside the text of a message, and marks of them that come with a cell of a file."""

import pytest

from defero.core.errors import Argument, InputError, Message


def option(argument):
    return f"--{argument.name}"


def test_an_argument_inside_an_f_string_is_spelled_as_the_reader_knows_it():
    note = Message(f"pass {Argument('label', 'truth')} or {Argument('key')}.")
    assert note == "pass label='truth' or key."
    assert note.message(option) == "pass --label or --key."


@pytest.mark.parametrize("inside", ["no JSON", "5", "[]", "{}", '{"argument": 5}', "[" * 100_000])
def test_marks_in_a_cell_are_text(inside):
    cell = f"a\ufdd2{inside}\ufdd3b"
    assert (
        InputError(f"row 2: got {cell}; see {Argument('key')}.").message(option) == f"row 2: got a{inside}b; see --key."
    )
