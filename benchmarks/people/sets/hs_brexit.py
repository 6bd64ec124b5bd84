"""Tweets about Brexit, all answered by the same six people; no truth."""

from benchmarks.people.crowd import Crowd, PeopleSet
from defero import ExpertTable
from defero.datasets import lewidi_hs_brexit


def load() -> Crowd:
    table = lewidi_hs_brexit(ties="drop").table
    texts = table.features[["text"]].reset_index(drop=True)
    return Crowd(
        ExpertTable(table.labels, table.answers, texts, classes=table.classes, expert_names=table.expert_names),
        text=("text",),
    )


SET = PeopleSet(
    "lewidi-hs-brexit",
    load,
    "1,036 tweets, hate speech or not, each answered by the same six people; 84 with even votes are left out. "
    "Features: the text, by TF-IDF. There is no truth: the label is the majority of these six.",
    agreement=True,
    most_splits=10,
    place=60,
)
