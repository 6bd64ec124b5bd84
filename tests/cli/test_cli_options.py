"""Options of commands are the arguments of the Python functions: names, defaults and help stand in one place."""

import inspect

import pytest
import typer.main
from clinic import run

from defero import Recipe, Study, Terms, read_cases
from defero.cli.main import app
from defero.cli.options import of, words_of
from defero.study.reading import Reading

SPELLED = {"expert_names": "experts", "annotator": "expert", "groups": "group", "random_state": "seed", "fees": "fee"}


def options_of(command):
    (one,) = [one for name, one in typer.main.get_command(app).commands.items() if name == command]
    return {param.name: param for param in one.params}


@pytest.mark.parametrize(
    ("file", "path", "function"),
    [
        ("study/study.py", "Study.fit", Study.fit),
        ("study/study.py", "Study.evaluate", Study.evaluate),
        ("study/study.py", "Study", Study),
        ("study/reading.py", "Reading.of", Reading.of),
        ("data/read_cases.py", "read_cases", read_cases),
        ("decide/terms.py", "Terms", Terms),
        ("estimators/recipe.py", "Recipe", Recipe),
    ],
)
def test_what_is_read_from_the_source_is_what_python_has(file, path, function):
    arguments = inspect.signature(function).parameters
    for name, word in words_of(file, path).items():
        default = arguments[name].default
        assert word.default == (None if default is inspect.Parameter.empty else default), name


def test_every_argument_of_fit_is_an_option_of_the_command():
    options = options_of("fit")
    words = of("study/study.py", "Study.fit", but=("terms", "recipe", "progress"))
    words += of("data/read_cases.py", "read_cases", but=("table", "images", "classes"))
    words += of("study/study.py", "Study", but=("cases", "team", "name"))
    assert len(words) > 25
    for word in words:
        option = options[word.name]
        assert option.opts == [f"--{SPELLED.get(word.name, word.name).replace('_', '-')}"]
        assert option.help == word.help("fit")
        assert option.help, word.name


def test_help_spells_arguments_as_options():
    shown = " ".join(run("route", "--help").out.split())
    assert "count toward --capacity, --at-most-asked and --budget" in shown
    assert "`" not in shown.partition("Options:")[2]
    assert "NAME=MOST or NAME=FEWEST:MOST" in shown
