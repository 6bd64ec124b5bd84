"""What the words of the reproduction's page mean, half a line each."""

TERMS = (
    (
        "OvA, softmax, mixture",
        "explanation/losses.md",
        "the paper's two losses, and the baseline that shares 1 among all",
    ),
    ("decoupled", "explanation/losses.md", "one loss for the classes, one for each expert, in one network"),
    ("asymmetric", "explanation/losses.md", "the same, with experts measured against all classes but the best"),
    ("two-stage", "howto/few_answers.md", "a finished classifier first; who is right is learned beside it"),
    ("one classifier", "howto/deep.md", "the same network without experts; it never asks anybody"),
    ("frozen", "howto/deep.md", "learned from what a finished network sees or says; it stays as it is"),
    ("tuned", "howto/deep.md", "a network that starts from the weights of a finished one, and learns on"),
    ("tfidf", "howto/tables.md", "weights of words, in place of a network that reads the text"),
    ("calibrated", "explanation/calibration.md", "probabilities corrected on held-out items"),
    ("any-correct", "explanation/panels.md", "a set of experts with at least one right one, in nine items of ten"),
    ("all-correct", "explanation/panels.md", "a set with every right expert, in nine items of ten"),
    ("missed-share", "explanation/panels.md", "a set that leaves out a tenth of the right experts at most, on average"),
    ("Bayes vote", "explanation/votes.md", "answers weighed by how likely each expert is right, with the model's view"),
    ("provisional", "", "of one seed: another may say otherwise"),
)
"""Word, page of docs/ that has more, meaning."""


def terms(docs: str) -> tuple[str, ...]:
    """Return a line for each word, with links into a folder.

    >>> terms("docs")[1]
    '[decoupled](docs/explanation/losses.md): one loss for the classes, one for each expert, in one network.'
    """
    return tuple(
        f"[{word}]({docs}/{page}): {meaning}." if page else f"{word}: {meaning}." for word, page, meaning in TERMS
    )
