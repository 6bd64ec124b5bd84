"""Posts for the whole loop: what was learned from, what comes in, and what each of eight people answers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from defero.datasets import keswani_toxicity

N_PEOPLE, N_NEW, N_LATER = 8, 300, 40


@dataclass(frozen=True, eq=False)
class Posts:
    """Posts of keswani-toxicity.

    Attributes
    ----------
    past, new, later : tables
        Posts to learn from, with answers; posts that come in; posts that come in beside the next model.
    answers : (post id, person) -> class
        Recorded, or drawn where a person did not see the post: right as often as that person is on past posts
        of the same class.
    names : people
        The eight who answered most.
    """

    past: pd.DataFrame
    new: pd.DataFrame
    later: pd.DataFrame
    answers: dict[tuple[str, str], int]
    names: list[str]

    @property
    def truth(self):
        """The class of every post."""
        every = pd.concat([self.past, self.new, self.later])
        return dict(zip(every["id"], every["gold"].tolist(), strict=True))


def toxic_posts(seed=0):
    table = keswani_toxicity()
    given = np.asarray(table.answer_idx)
    observed = given >= 0
    chosen = np.sort(np.argsort(-observed.sum(axis=0), kind="stable")[:N_PEOPLE])
    names = [table.expert_names[j] for j in chosen]
    labels = np.asarray(table.labels)
    order, rng = np.random.default_rng(seed).permutation(len(labels)), np.random.default_rng(seed + 1)
    frame = pd.DataFrame(
        {
            "id": [f"post-{i}" for i in range(len(labels))],
            "text": table.features["text"].to_numpy(),
            "dialect": table.features["dialect"].to_numpy(),
            "gold": labels,
        }
    )
    new, later, past = order[:N_NEW], order[N_NEW : N_NEW + N_LATER], order[N_NEW + N_LATER :]
    answers = {}
    for name, j in zip(names, chosen, strict=True):
        frame[name] = pd.Series(given[:, j]).astype("Int64").mask(~observed[:, j])
        seen = past[observed[past, j]]
        skill = np.array([(given[seen, j] == k)[labels[seen] == k].mean() for k in (0, 1)])
        drawn = np.where(rng.random(len(labels)) < skill[labels], labels, 1 - labels)
        for i in (*new, *later):
            answers[f"post-{i}", name] = int(given[i, j] if observed[i, j] else drawn[i])
    return Posts(*(frame.iloc[part].reset_index(drop=True) for part in (past, new, later)), answers, names)
