"""Posts, toxic or not, answered by 170 people."""

from benchmarks.people.crowd import Crowd, PeopleSet
from defero.datasets import keswani_toxicity


def load() -> Crowd:
    words = keswani_toxicity().features["text"].to_numpy(dtype=object)
    return Crowd(keswani_toxicity(features="minilm"), words=words)


SET = PeopleSet(
    "keswani-toxicity",
    load,
    "1,471 posts, toxic or not, each answered by 8.4 of 170 people. Features: MiniLM embeddings; ours read the text "
    "too, unless said. Truth: the source's.",
    place=20,
)
