"""The log of a run: lines that can be read again, and a bar."""

import json
import math
import sys
import types

import pytest

from defero.training.progress import EpochLine, TrainingLog, progress_bar, read_log

LINES = [EpochLine(epoch=number, loss=1 / number, ece=0.1) for number in (1, 2, 3)]


def test_lines_come_back(tmp_path):
    journal = TrainingLog(tmp_path)
    for line in LINES:
        journal.write(line)
    journal.close()
    again = read_log(tmp_path / "log.jsonl")
    assert [line.loss for line in again] == [1.0, 0.5, 1 / 3]
    assert math.isnan(again[0].system_accuracy)
    first = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert first["system_accuracy"] is None
    assert set(first) >= {"loss", "system_accuracy", "class_accuracy", "ece", "images_per_second", "seconds"}


def test_a_resumed_run_drops_what_it_does_again(tmp_path):
    journal = TrainingLog(tmp_path)
    for line in LINES:
        journal.write(line)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"epoch": 4, "lo')
    journal = TrainingLog(tmp_path, keep=2)
    journal.write(EpochLine(epoch=3, loss=9.0))
    assert [line.loss for line in read_log(tmp_path / "log.jsonl")] == [1.0, 0.5, 9.0]
    assert [line.epoch for line in journal.lines] == [1, 2, 3]


def test_a_new_run_starts_a_new_log(tmp_path):
    TrainingLog(tmp_path).write(LINES[0])
    TrainingLog(tmp_path).write(LINES[1])
    assert [line.epoch for line in read_log(tmp_path / "log.jsonl")] == [2]


def test_without_a_folder_nothing_is_written():
    journal = TrainingLog(None)
    journal.write(LINES[0])
    assert journal.lines == LINES[:1]


def test_tensor_board_hears_of_what_was_measured(monkeypatch, tmp_path):
    heard = []

    class Writer:
        def __init__(self, folder):
            heard.append(folder)

        def add_scalar(self, name, value, epoch):
            heard.append((name, value, epoch))

        def close(self):
            heard.append("closed")

    board = types.ModuleType("torch.utils.tensorboard")
    board.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", board)
    journal = TrainingLog(tmp_path)
    journal.write(LINES[1])
    journal.close()
    assert heard == [str(tmp_path / "tensorboard"), ("loss", 0.5, 2), ("ece", 0.1, 2), "closed"]


@pytest.mark.parametrize("shown", [True, False])
def test_the_bar_tells_its_news_on_stderr(shown, capsys):
    with progress_bar(10, what="training", done=3, shown=shown) as tell:
        tell(0.5, steps=4, images_per_second=45_000.0)
        tell(steps=5, system_accuracy=0.9, ece=0.01)
    out, err = capsys.readouterr()
    assert out == ""
    if not shown:
        assert err == ""
