"""A list of questions, each answered with yes or no, and why not."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


class No(Exception):  # noqa: N818 - it is an answer
    """The answer to a question is no; the text says why."""


@dataclass
class Checklist:
    """Questions in the order in which they were asked, with their answers.

    Attributes
    ----------
    answers : {question: (yes, what was seen)}
    """

    answers: dict[str, tuple[bool, str]] = field(default_factory=dict)

    def ask(self, question: str, check: Callable[[], object]) -> bool:
        """Run a check, which returns what was seen or raises; print and remember the answer."""
        start = time.monotonic()
        try:
            seen = check()
            yes, text = True, "" if seen is None else str(seen)
        except No as error:
            yes, text = False, str(error)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            yes, text = False, f"{type(error).__name__}: {error}"
        self.answers[question] = (yes, text)
        first, *rest = text.splitlines() or [""]
        print(f"{'yes' if yes else 'NO ':3}  {question}  [{time.monotonic() - start:.0f} s]", flush=True)
        for line in [first, *rest] if text else []:
            print(f"       {line}", flush=True)
        return yes

    @contextmanager
    def only_after(self, *questions: str) -> Iterator[Callable[[str, Callable[[], object]], bool]]:
        """Give a way to ask that answers no at once where one of the questions before was answered with no."""
        failed = [one for one in questions if not self.answers[one][0]]

        def ask(question: str, check: Callable[[], object]) -> bool:
            return self.ask(question, check if not failed else lambda: refuse([f"not tried: {failed[0]}"]))

        yield ask

    @property
    def all_yes(self) -> bool:
        """Was every answer a yes?"""
        return all(yes for yes, _ in self.answers.values())


def refuse(faults: list[str], *, most: int = 8) -> None:
    """Answer no if there are faults, with the first ones."""
    if faults:
        more = [f"... {len(faults) - most} more"] if len(faults) > most else []
        raise No("\n".join([*faults[:most], *more]))
