"""Real people: laypeople on defendants, radiologists and networks on films, crowds on posts, reviews and scenes."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd

from benchmarks.field.problem import FieldSet
from benchmarks.people.crowd import Crowd
from benchmarks.people.sets import labelme, recidivism, sentiment, toxicity
from benchmarks.tables.sets.classics import draw_chexpert
from benchmarks.tables.split import Rows, Split, cut

MOST_PEOPLE = 60


@cache
def rows_of(load: Callable[[], Crowd], n_people: int, logs: bool) -> tuple[Rows, int]:
    """Return the cases of those who answered most, and K; cases that none of them answered are left out."""
    table = load().table
    answers = table.answer_idx
    most = np.sort(np.argsort(-(answers >= 0).sum(axis=0), kind="stable")[:n_people])
    answers = answers[:, most]
    shown = np.flatnonzero((answers >= 0).any(axis=1))
    features = table.features
    if not isinstance(features, pd.DataFrame):
        numbers = np.asarray(features, dtype=np.float64)
        features = pd.DataFrame(np.log1p(numbers) if logs else numbers).add_prefix("x")
    return Rows(features, table.label_idx, answers).take(shown), table.n_classes


def draw(load: Callable[[], Crowd], n_people: int, logs: bool, seed: int) -> Split:
    """Return a split: only people who answered a case can be asked about it."""
    rows, n_classes = rows_of(load, n_people, logs)
    first, second = cut(rows, seed=seed)
    return Split(rows.take(first), rows.take(second), n_classes=n_classes, seed=seed)


SETS = (
    FieldSet(
        "recidivism-people",
        partial(draw, recidivism.load, MOST_PEOPLE, False),
        f"Defendants, each judged by 3 of {MOST_PEOPLE} laypeople (of 400) without the race; truth: arrested again.",
        "people",
    ),
    FieldSet(
        "chexpert-readers",
        draw_chexpert,
        "Findings on chest films, three radiologists and eight networks, all on every row; split by film.",
        "people",
    ),
    FieldSet(
        "keswani-toxicity",
        partial(draw, toxicity.load, MOST_PEOPLE, False),
        f"Posts, toxic or not, the {MOST_PEOPLE} of 170 people who answered most; MiniLM, 24 main directions.",
        "people",
        directions=24,
    ),
    FieldSet(
        "sentiment-polarity",
        partial(draw, sentiment.load, MOST_PEOPLE, False),
        f"Film review sentences, the {MOST_PEOPLE} of 203 people who answered most; MiniLM, 24 main directions.",
        "people",
        directions=24,
    ),
    FieldSet(
        "labelme-crowd",
        partial(draw, labelme.load, MOST_PEOPLE, True),
        "Pictures of eight kinds of scenes, 59 people, 2.5 answers each; VGG features, 24 main directions.",
        "people",
        directions=24,
    ),
)
