"""Film review sentences, answered by 203 people on Mechanical Turk."""

from benchmarks.people.crowd import Crowd, PeopleSet
from defero.datasets import sentiment_polarity_crowd


def load() -> Crowd:
    words = sentiment_polarity_crowd().features["text"].to_numpy(dtype=object)
    return Crowd(sentiment_polarity_crowd(features="minilm"), words=words)


SET = PeopleSet(
    "sentiment-polarity-crowd",
    load,
    "4,999 film review sentences, positive or negative, each answered by 5.6 of 203 people. Features: MiniLM "
    "embeddings; ours read the text too, unless said. Truth: the review's own verdict.",
    place=10,
)
