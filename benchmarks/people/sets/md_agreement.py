"""Tweets, each answered by five of 819 people; no truth."""

from benchmarks.people.crowd import Crowd, PeopleSet
from defero import ExpertTable
from defero.datasets import lewidi_md_agreement


def load() -> Crowd:
    table = lewidi_md_agreement().table
    shown = table.features[["text", "domain"]].reset_index(drop=True)
    return Crowd(
        ExpertTable(table.labels, table.answers, shown, classes=table.classes, expert_names=table.expert_names),
        text=("text",),
    )


SET = PeopleSet(
    "lewidi-md-agreement",
    load,
    "10,753 tweets, offensive or not, each answered by five of 819 people. Features: the text, by TF-IDF, and its "
    "subject. There is no truth: the label is the majority of these five.",
    agreement=True,
    most_splits=5,
    place=70,
)
