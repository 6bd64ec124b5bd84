"""Questions as tasks of Label Studio, and answers from its annotations. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from defero.data.tables.cells import text_of
from defero.service.events import Label
from defero.service.flow.team import Row
from defero.service.outward.chat import cells_of, lines_of

EXPERT, CASE, PERSON, LINK, TEXT = "defero_expert", "defero_case", "defero_person", "defero_link", "defero_text"
"""Members of a task's data that are ours."""

Question = tuple[str, str]
"""Case and person."""


@dataclass(frozen=True)
class Annotation:
    """What somebody did with a task.

    Attributes
    ----------
    author : int
        Number of the account.
    choice : str, optional
        What they chose; None where they chose nothing.
    skipped : bool
        They gave it back.
    """

    author: int
    choice: str | None
    skipped: bool


def label_config(classes: Sequence[Label], control: str) -> str:
    """Return the labelling interface of a new project: the case as text, one choice among the classes.

    >>> "ill &amp; well" in label_config(["ill & well"], "answer")
    True
    """
    choices = "".join(f"<Choice value={quoteattr(text_of(label))}/>" for label in classes)
    return (
        f'<View><Text name="case" value="${TEXT}"/>'
        f'<Choices name={quoteattr(control)} toName="case" choice="single" required="true">{choices}</Choices></View>'
    )


def task_data(question: Question, row: Row, *, link: str, name: str) -> dict[str, Any]:
    """Return the data of a task: the cells of the case by column, and for whom it is.

    >>> data = task_data(("c7", "p1"), {"age": 41, "scan": "data:image/png;base64,AAAA"}, link="s1", name="ann")
    >>> data["age"], data["defero_text"], data["defero_expert"]
    (41, 'age: 41', 'ann')
    """
    cells, (case, person) = cells_of(row), question
    return {**cells, CASE: case, PERSON: person, EXPERT: name, LINK: link, TEXT: lines_of(cells)}


def question_of(task: Mapping[str, Any], link: str) -> Question | None:
    """Return the question behind a task; None where it is not one of ours."""
    data = task.get("data")
    if not isinstance(data, Mapping) or data.get(LINK) != link:
        return None
    case, person = data.get(CASE), data.get(PERSON)
    return (case, person) if isinstance(case, str) and isinstance(person, str) else None


def annotations_of(task: Mapping[str, Any], control: str) -> list[Annotation]:
    """Return what was done with a task, the oldest first."""
    made = [one for one in task.get("annotations") or [] if isinstance(one, Mapping)]
    made.sort(key=lambda one: (str(one.get("created_at", "")), str(one.get("id", ""))))
    return [_annotation(one, control) for one in made]


def _annotation(values: Mapping[str, Any], control: str) -> Annotation:
    author = values.get("completed_by")
    number = author.get("id") if isinstance(author, Mapping) else author
    return Annotation(
        author=number if isinstance(number, int) else 0,
        choice=_choice(values.get("result"), control),
        skipped=bool(values.get("was_cancelled")),
    )


def _choice(result: Any, control: str) -> str | None:
    """Return the one choice of a control; None where there is none, or more than one."""
    for part in result if isinstance(result, list) else []:
        if isinstance(part, Mapping) and part.get("from_name") == control and isinstance(part.get("value"), Mapping):
            choices = part["value"].get("choices")
            if isinstance(choices, list) and len(choices) == 1:
                return str(choices[0])
    return None
