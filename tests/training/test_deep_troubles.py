"""What stops a training is explain_troubles in a sentence, with the last good checkpoint."""

import dataclasses
import errno
import os
import signal
import threading

import pytest
import torch
from deep_cases import SETTINGS, fitted, pictures, small_net
from PIL import Image

from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.losses import DeferralLoss
from defero.training.answer_source import FixedAnswers
from defero.training.feeds import DiskFeed
from defero.training.loop import _Run, fit_deep
from defero.training.training_state import FILE, TrainingState, write_checkpoint
from defero.training.troubles import Interrupts, TrainingError, TrainingStopped, explain_troubles
from defero.training.verdicts import Verdicts


def at_step(monkeypatch, number, happens):
    """Let something happen before step `number` of a run."""
    learn = TrainingState.learn

    def learn_after(self, batch):
        if self.steps_done == number:
            happens(self)
        learn(self, batch)

    monkeypatch.setattr(TrainingState, "learn", learn_after)


def out_of_memory(state):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def test_out_of_memory(monkeypatch, tmp_path):
    at_step(monkeypatch, 4, out_of_memory)
    with pytest.raises(TrainingError, match="out of memory with batches of 16; halve the batch size") as stopped:
        fitted(small_net(), folder=tmp_path)
    assert f"The last good checkpoint is {tmp_path / FILE}" in str(stopped.value)
    assert stopped.value.checkpoint == tmp_path / FILE
    assert torch.load(tmp_path / FILE)["step"] == 1


def test_out_of_memory_without_a_folder(monkeypatch):
    at_step(monkeypatch, 0, out_of_memory)
    with pytest.raises(TrainingError, match="No checkpoint was written: name a folder for them") as stopped:
        fitted(small_net())
    assert stopped.value.checkpoint is None


def test_a_loss_that_is_no_number(monkeypatch, tmp_path):
    def spoil(state):
        with torch.no_grad():
            state.net.head.bias.fill_(float("nan"))

    at_step(monkeypatch, 4, spoil)
    with pytest.raises(TrainingError, match=r"NaN .* in epoch 2; lower the learning rate, .* 0\.05") as stopped:
        fitted(small_net(), folder=tmp_path)
    assert stopped.value.checkpoint == tmp_path / FILE
    weights = torch.load(tmp_path / FILE)["net"]
    assert all(tensor.isfinite().all() for tensor in weights.values() if tensor.is_floating_point())


def test_a_rate_that_explodes_is_found_at_the_end_of_the_epoch():
    with pytest.raises(TrainingError, match="loss became NaN"):
        fitted(small_net(), settings=dataclasses.replace(SETTINGS, learning_rate=1e30, schedule="constant"))


def test_a_full_disk_keeps_the_checkpoint_before(monkeypatch, tmp_path):
    at_step(monkeypatch, 4, lambda state: monkeypatch.setattr(os, "fsync", full_disk))
    with pytest.raises(TrainingError, match="the disk is full") as stopped:
        fitted(small_net(), folder=tmp_path)
    assert stopped.value.checkpoint == tmp_path / FILE
    assert torch.load(tmp_path / FILE)["step"] == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [FILE, "log.jsonl"]


def full_disk(file):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_checkpoint_is_whole_or_not_there(monkeypatch, tmp_path):
    path = tmp_path / FILE
    write_checkpoint(path, {"a": torch.ones(3), "epoch": 1})
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_checkpoint(path, {"a": torch.zeros(3), "epoch": 2})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_dead_worker(monkeypatch, tmp_path):
    for item, picture in enumerate(pictures(12)[0].numpy()):
        Image.fromarray(picture).save(tmp_path / f"{item}.png")
    labels = pictures(12)[1]
    train = DiskFeed(
        PictureFiles([tmp_path / f"{item}.png" for item in range(12)], (8, 8)),
        labels,
        FixedAnswers(Verdicts(labels[:, None] == torch.arange(2))),
        seed=0,
        workers=1,
    )
    monkeypatch.setattr(PictureFiles, "read", lambda self, place: os.kill(os.getpid(), signal.SIGKILL))
    settings = dataclasses.replace(SETTINGS, epochs=1, batch_size=4)
    with pytest.raises(
        TrainingError, match=r"a process that reads pictures died .* make room, or take smaller pictures"
    ):
        fit_deep(small_net(), DeferralLoss("ova"), train, settings=settings, seed=0, device="cpu")


def test_ctrl_c_saves_and_the_same_call_goes_on(monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        at_step(patch, 4, lambda state: os.kill(os.getpid(), signal.SIGINT))
        settings = dataclasses.replace(SETTINGS, save_seconds=1e9)
        with pytest.raises(TrainingStopped, match="stopped by Ctrl-C in epoch 2, step 2") as stopped:
            fitted(small_net(), settings=settings, folder=tmp_path)
    assert "the same call goes on from it" in str(stopped.value)
    assert stopped.value.checkpoint == tmp_path / FILE
    assert not isinstance(stopped.value, Exception)  # no search over trainings may take it for a failure
    resumed, whole = small_net(seed=1), small_net()
    fitted(resumed, folder=tmp_path)
    fitted(whole)
    assert all(
        torch.equal(a, b) for a, b in zip(resumed.state_dict().values(), whole.state_dict().values(), strict=True)
    )


def test_ctrl_c_during_the_last_look_stops_too(monkeypatch, tmp_path):
    look = _Run._look

    def look_when_stopped(self):
        if self.state.epoch == SETTINGS.epochs:
            os.kill(os.getpid(), signal.SIGINT)
        return look(self)

    monkeypatch.setattr(_Run, "_look", look_when_stopped)
    with pytest.raises(TrainingStopped, match="The last good checkpoint is"):
        fitted(small_net(), folder=tmp_path)
    assert torch.load(tmp_path / FILE)["epoch"] == SETTINGS.epochs


def test_a_folder_that_cannot_be_is_told_before_the_training(monkeypatch, tmp_path):
    (tmp_path / "note").write_text("no folder")
    with pytest.raises(InputError, match=r"checkpoints must be a folder to write in, got .*note; it cannot be made"):
        fitted(small_net(), folder=tmp_path / "note")
    (tmp_path / "locked").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(InputError, match="locked; it may not be written in"):
        fitted(small_net(), folder=tmp_path / "locked")


def test_a_second_ctrl_c_does_not_wait():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_ctrl_c_is_its_owners():
    seen = []

    def run():
        with Interrupts() as interrupts:
            seen.append(interrupts.asked)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [False]


def test_other_errors_pass_through():
    with pytest.raises(RuntimeError, match="shapes do not match"), explain_troubles(None, batch_size=1):
        raise RuntimeError("shapes do not match")
