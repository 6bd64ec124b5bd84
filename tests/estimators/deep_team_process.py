"""A deep team in a process of its own, for the tests that kill it or start two of it.

python deep_team_process.py kill FOLDER     dies by SIGKILL in its second epoch, two steps after its last checkpoint
python deep_team_process.py fork FOLDER     two processes share a training, with torchrun's variables
torchrun ... deep_team_process.py share FOLDER
"""

import os
import signal
import socket
import sys
from pathlib import Path

import numpy as np
from tiny_pictures import Pooled, pictures, small_team

from defero.training.loop import _Run
from defero.training.training_state import TrainingState

LAST_CHECKPOINT, DEATH = 7, 9  # steps done; an epoch has five


def teams(folder: Path):
    """Return two teams: a net without batch statistics, and one with them."""
    return {
        "pooled": small_team(Pooled(), learning_rate=0.05, checkpoints=folder / "pooled"),
        "wrn": small_team("wrn-10-1", checkpoints=folder / "wrn"),
    }


def weights(team):
    return {name: tensor.numpy() for name, tensor in team.team_.scorer.base.net.state_dict().items()}


def die_in_the_middle(folder: Path) -> None:
    learn = TrainingState.learn

    def learn_or_die(self, batch):
        if self.steps_done == DEATH:
            os.kill(os.getpid(), signal.SIGKILL)
        learn(self, batch)

    TrainingState.learn = learn_or_die
    _Run._save_is_due = lambda self: self.state.steps_done == LAST_CHECKPOINT
    x, y, m = pictures()
    teams(folder)["wrn"].fit(x, y, experts=m)


def share(folder: Path) -> None:
    x, y, m = pictures()
    for name, team in teams(folder).items():
        team.fit(x, y, experts=m)
        found = {"proba": team.predict_proba(x), "expert_proba": team.predict_expert_proba(x)}
        np.savez(folder / f"{name}{os.environ['RANK']}.npz", **found, **weights(team))


def fork(folder: Path) -> None:
    """Do what torchrun does, without loading torch three times."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "test"}
    children = []
    for rank in ("0", "1"):
        child = os.fork()
        if child == 0:
            os.environ |= {
                **both,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "RANK": rank,
                "LOCAL_RANK": rank,
            }
            share(folder)
            sys.exit()
        children.append(child)
    sys.exit(any(os.waitpid(child, 0)[1] for child in children))


if __name__ == "__main__":
    {"kill": die_in_the_middle, "fork": fork, "share": share}[sys.argv[1]](Path(sys.argv[2]))
