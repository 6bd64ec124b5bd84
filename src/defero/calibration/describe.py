"""What a calibration did, in words."""

from collections.abc import Sequence

from defero.calibration.choice import FEWEST_ANSWERS, FEWEST_LABELS
from defero.core.wording import join_names

_WORDS = {
    "platt": "Platt's map for {}",
    "isotonic": "isotonic steps for {}",
    "none": "{} left alone",
}


def calibration_sentences(
    temperature: float,
    methods: Sequence[str],
    expert_names: Sequence[str],
    *,
    n_labels: int | None,
    n_answers: Sequence[int] | None,
) -> list[str]:
    """Return one sentence on the model and, with experts, one on them.

    Parameters
    ----------
    temperature : float
    methods, expert_names : J each
    n_labels : int, optional
    n_answers : J ints, optional

    >>> calibration_sentences(1.0, ["platt", "none"], ["ann", "bob"], n_labels=90, n_answers=[90, 40])
    ['Looked at 90 cases. The model: left alone.',
     "Experts: Platt's map for ann; bob left alone; 40 to 90 answers each."]
    >>> calibration_sentences(1.0, ["none"], ["ann"], n_labels=9, n_answers=[5])
    ['Looked at 9 cases, too few to judge by. The model: left alone.',
     'Experts: ann left alone, for want of answers to judge by; 5 answers.']
    """
    begin = "" if n_labels is None else f"Looked at {n_labels} cases. "
    if n_labels is not None and n_labels < FEWEST_LABELS and temperature == 1:
        begin = f"Looked at {n_labels} cases, too few to judge by. "
    why = "it claimed too much" if temperature > 1 else "it claimed too little"
    model = "left alone" if temperature == 1 else f"its class probabilities get temperature {temperature:.2f} ({why})"
    sentences = [f"{begin}The model: {model}."]
    if expert_names:
        parts = [_part(method, methods, expert_names) for method in _WORDS if method in methods]
        if n_answers is not None:
            if sum(n_answers) < FEWEST_ANSWERS and set(methods) == {"none"}:
                parts[-1] += ", for want of answers to judge by"
            parts.append(_range(n_answers))
        sentences.append(f"Experts: {'; '.join(parts)}.")
    return sentences


def _part(method: str, methods: Sequence[str], expert_names: Sequence[str]) -> str:
    who = [name for name, one in zip(expert_names, methods, strict=True) if one == method]
    if len(who) == len(methods) > 1:
        return _WORDS[method].format(f"all {len(who)}")
    return _WORDS[method].format(join_names(who))


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    if low == high:
        return f"{low} answers each" if len(counts) > 1 else f"{low} answers"
    return f"{low} to {high} answers each"
