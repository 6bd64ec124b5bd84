"""Engines give the same results, whatever the workers, and try a task again whose worker died."""

import os
import signal
from pathlib import Path

import pytest

from defero.core.errors import InputError
from defero.study.engines import engine_by_name
from defero.study.engines.engine import LocalEngine


def add(shared, task):
    return shared + task


def die_once(shared, task):
    """Kill the worker at the first call for task 2."""
    marker = Path(shared) / "died"
    if task == 2 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task * 10


def refuse(shared, task):
    raise InputError("is wrong.", argument="cases")


def test_two_workers_give_what_one_gives():
    one = dict(engine_by_name("local").run(add, [1, 2, 3], shared=10))
    two = dict(engine_by_name("local", workers=2).run(add, [1, 2, 3], shared=10))
    assert one == two == {0: 11, 1: 12, 2: 13}


def test_a_task_whose_worker_dies_is_tried_again(tmp_path):
    results = list(LocalEngine(2).run(die_once, [0, 1, 2, 3], shared=str(tmp_path)))
    assert sorted(results) == [(0, 0), (1, 10), (2, 20), (3, 30)]  # each once
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_task_arrives_as_it_is(workers):
    with pytest.raises(InputError, match="cases is wrong"):
        list(LocalEngine(workers).run(refuse, [1], shared=None))


@pytest.mark.parametrize(
    ("options", "argument", "fact"),
    [
        ({"name": "rey"}, "engine", "did you mean 'ray'"),
        ({"workers": 0}, "workers", "at least 1"),
        ({"workers": True}, "workers", "at least 1"),
        ({"address": "auto"}, "address", "engine='ray'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, argument, fact):
    with pytest.raises(InputError, match=fact) as raised:
        engine_by_name(**options)
    assert raised.value.argument == argument
