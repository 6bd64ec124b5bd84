"""Round by round: the answers so far to the cases of a file, from a log."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from defero.core.checks.arrays import IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import MISSING
from defero.core.wording import did_you_mean, join_names
from defero.data.answers.read_log import join_answers, long_columns
from defero.data.answers.spellings import missing_answers_note, without_missing_answers
from defero.data.case_file import TableSource
from defero.data.tables.read import NoRowsError
from defero.router import Router
from defero.study.team_cases import Reading


@dataclass(frozen=True, eq=False)
class AnswersSoFar:
    """Answers to the cases of a file as class numbers (n, J), -1 where there is none, and notes on the log."""

    answer_idx: IntArray
    notes: tuple[str, ...] = ()


def answers_so_far(
    router: Router, pieces: Iterable[pd.DataFrame], reading: Reading, *, key: str | None, source: str, first_row: int
) -> AnswersSoFar:
    """Return the answers of a log to the cases of a file.

    Of several answers of one person to one case the last counts. Unknown names and cases are errors. A log without
    rows is the first round.

    Parameters
    ----------
    router : Router
    pieces : tables
        The cases, piece by piece; only their key is kept.
    reading : Reading
        With the log, one answer per row, and the names of its columns; else they are as in `fit`, or found by name.
    key : str, optional
        The column that names the cases; else found by name.
    source, first_row
        What a message calls the cases, and the number of their first row.
    """
    assert reading.answers is not None
    log, spellings = TableSource.of(reading.answers, name="answers"), reading.spellings(router.facts)
    keys = pd.concat([piece[[key]] if key is not None else piece for piece in pieces])
    answer_idx = np.full((len(keys), len(router.expert_names)), MISSING)
    known = router.facts.log_columns or {}
    try:
        head = log.columns()
    except NoRowsError:  # the first round: nobody has answered yet
        return AnswersSoFar(answer_idx)
    item, annotator, answer = (
        given or (known[role] if known.get(role) in head else None)
        for role, given in (("item", reading.item), ("annotator", reading.annotator), ("answer", reading.answer))
    )
    columns = long_columns(
        pd.DataFrame(columns=head), item=item, annotator=annotator, answer=answer, time=None, source=log.name
    )
    frame = log.read(as_text=[columns.item, columns.annotator, columns.answer])
    frame = spellings.apply_to(frame, [columns.answer])
    frame, missing = without_missing_answers(frame, [columns.answer], router.classes)
    joined = join_answers(
        keys,
        frame,
        key=key,
        item=columns.item,
        annotator=columns.annotator,
        answer=columns.answer,
        source=log.name,
        items_source=source,
        first_row=log.first_row,
        items_first_row=first_row,
    )
    strangers = [name for name in joined.expert_names if name not in router.expert_names]
    if strangers:
        hint = did_you_mean(strangers[0], router.expert_names)
        raise InputError(
            Argument("answers", log.name),
            f": no expert {join_names(strangers)}{hint} The model knows {join_names(router.expert_names)}.",
        )
    place = np.array([router.expert_names.index(name) for name in joined.expert_names], dtype=np.int64)
    if len(joined):
        with spellings.in_errors():
            answer_idx[joined.item_idx, place[joined.expert_idx]] = joined.class_idx(router.classes)
    return AnswersSoFar(answer_idx, (*missing_answers_note(missing, source=log.name), *joined.notes()))
