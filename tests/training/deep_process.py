"""A training in a process of its own, for the tests that kill it or start two of it.

python deep_process.py kill FOLDER    dies by SIGKILL in the second epoch, two steps after its last checkpoint
python deep_process.py share FOLDER   one of the processes that torchrun's variables speak of
"""

import os
import signal
import sys
from pathlib import Path

import torch
from deep_cases import SETTINGS, fitted, small_net
from safetensors.torch import save_file

from defero.training.loop import _Run
from defero.training.training_state import TrainingState

LAST_CHECKPOINT, DEATH = 4, 6  # steps done; an epoch has three


def die_in_the_middle(folder: Path) -> None:
    learn = TrainingState.learn

    def learn_or_die(self, batch):
        if self.steps_done == DEATH - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        learn(self, batch)

    TrainingState.learn = learn_or_die
    _Run._save_is_due = lambda self: self.state.steps_done == LAST_CHECKPOINT
    fitted(small_net(), folder=folder)


def share(folder: Path) -> None:
    net = small_net(seed=int(os.environ["RANK"]), norm=False, dropout=0.0)  # other weights at first: rank 0's count
    fit = fitted(net, settings=SETTINGS, folder=folder)
    state = {name: tensor.contiguous() for name, tensor in net.state_dict().items()}
    save_file(state, folder / f"rank{os.environ['RANK']}.safetensors")
    (folder / f"rank{os.environ['RANK']}.txt").write_text(repr([line.held_out_loss for line in fit.lines]))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    {"kill": die_in_the_middle, "share": share}[sys.argv[1]](Path(sys.argv[2]))
