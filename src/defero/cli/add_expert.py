"""`defero add-expert`: a new expert from a few dozen answers, in a copy of the model."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli.known_groups import seen_groups
from defero.cli.output import emit, percent
from defero.cli.pictures import Images, with_folder
from defero.cli.reading import Answers, ControlName, FileFormat, Given, Item, Key, Label, format_of, in_options
from defero.cli.remembered import remembered_key, with_joined, with_log_columns
from defero.cli.saved_team import replaced_sentence, saved_team

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.data.case_file import CaseFile, Cases
    from defero.router import Router


def add_expert(
    model: Annotated[Path, typer.Argument(help="A model folder; it stays as it is.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels, some of which the new expert answered.")],
    expert: Annotated[str, typer.Option(help="The new expert's name.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    answer: Annotated[
        str | None,
        typer.Option(help="The column of their answers; blank = not asked. Default: called as they are."),
    ] = None,
    label: Label = None,
    answers: Answers = None,
    item: Item = None,
    expert_column: Annotated[str | None, typer.Option(help="Its column of the expert. Default: found by name.")] = None,
    key: Key = None,
    file_format: FileFormat = None,
    control: ControlName = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(help="Taken by every command; nothing is drawn at random here.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Add an expert to a saved team, without a new training.

    What the known experts have in common is what is expected of a new one; their own answers then tell how they
    differ from it. Nobody else's probabilities change. The cases count as used: `evaluate` leaves them out. Whatever is
    not said here, such as the label's column, is as in `fit`.

    Example:

    defero add-expert model new_cases.csv --expert dr_d --out model_with_d
    """
    from defero.core.errors import InputError
    from defero.data.cases import read_cases
    from defero.data.model_folder import check_writable
    from defero.router.roster import check_name

    router = saved_team(model)
    with _named(expert):
        check_name(router, expert)
    check_writable(out)
    if out.exists() and out.samefile(model):
        raise InputError(f"--out {out}: is the model itself, which stays as it is; choose another name.")
    given = Given(label, answers, item, expert_column, answer, key, format=file_format, control=control, images=images)
    router = with_folder(router, images, table)
    with in_options(), _expert_column():
        cases = read_cases(_case_file(router, model, table, expert, with_log_columns(router, given)))
    joined, notes = _joined(router, expert, cases.table, first_row=cases.first_row, source=str(table))
    joined = replace(joined, seen=_with_groups(router, joined, cases), notes=with_joined(router, joined, expert))
    replaced = replaced_sentence(out)
    joined.save(out)
    told = _Newcomer.of(router, joined, expert, cases.table)
    said = [*cases.notes, *notes, *([cases.majority_sentence() or ""] if cases.n_majority else []), *replaced]
    if as_json:
        emit({"model": str(out), **told.to_dict(), "notes": said})
        return
    for sentence in told.words(table, out):
        typer.echo(sentence)
    for sentence in said:
        typer.echo(f"note: {sentence}", err=True)


@dataclass(frozen=True)
class _Newcomer:
    """What is known of the new expert now; means are over the cases of the table."""

    name: str
    others: tuple[str, ...]
    rows: int
    answers: int
    right: int
    believed: tuple[float, float]
    population: tuple[float, float]
    least: int
    panel_dropped: bool

    @classmethod
    def of(cls, before: "Router", after: "Router", name: str, table: "ExpertTable") -> "_Newcomer":
        asked = int(table.answer_counts[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anybody = before.add_expert(name, None, None, None)
        return cls(
            name=name,
            others=before.expert_names,
            rows=len(table),
            answers=asked,
            right=round(asked * float(table.expert_accuracy[0])) if asked else 0,
            believed=_last(after, table.features),
            population=_last(anybody, table.features),
            least=after.min_answers,
            panel_dropped=before.panel is not None,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "expert": self.name,
            "rows": self.rows,
            "answers": self.answers,
            "right": self.right,
            "believed": dict(zip(("mean", "sd"), self.believed, strict=True)),
            "population": dict(zip(("mean", "sd"), self.population, strict=True)),
            "asked_alone": self.answers >= self.least,
            "panel_dropped": self.panel_dropped,
            "used": self.answers,
        }

    def words(self, table: Path, out: Path) -> list[str]:
        from defero.core.wording import join_names

        beside = f" joins {join_names(self.others, most=6)}" if self.others else " joins"
        share = f", {self.right} of them right ({percent(self.right / self.answers)})" if self.answers else ""
        gave = "1 answer" if self.answers == 1 else f"{self.answers} answers"
        known = f"{self.name}{beside}: {gave} to the {self.rows} cases of {table}{share}."
        there, anywhere = (f"{mean:.2f}, give or take {sd:.2f}" for mean, sd in (self.believed, self.population))
        believed = (
            f"On these cases the model takes them to be right with probability {there} a case; somebody of whom "
            f"nothing is known, {anywhere}."
        )
        if self.answers >= self.least:
            alone = "They can be asked from now on."
        else:
            alone = f"With fewer than {self.least} answers they are not asked alone; add more to change that."
        lines = [known, believed, alone, *self._used()]
        if self.panel_dropped:
            lines.append(
                "The panels are dropped, as their promise was for the experts before: call conformalize in Python on "
                "other cases, or go on without panels."
            )
        return [*lines, f"\nSaved in {out}. Next: defero route {out} NEW_CASES --out decisions.csv"]

    def _used(self) -> list[str]:
        """Say which cases cannot judge them, and warn of somebody who was never wrong."""
        if not self.answers:
            return []
        cases, count = ("case", "counts") if self.answers == 1 else ("cases", "count")
        used = (
            f"{self.answers} {cases} that they answered now {count} as used, and evaluate and report leave them out: "
            f"keep other answers of {self.name} back to judge them by."
        )
        most = f"All their answers were right, so {self.name} may get most of the work: judge them on others first."
        return [used, *([most] if self.right == self.answers >= self.least else [])]


def _last(router: "Router", features: Any) -> tuple[float, float]:
    """Return the mean probability of the last expert's being right, and its mean standard deviation."""
    proba, sd = router.scores(features).expert_proba[:, -1], router.expert_sd(features)[:, -1]
    return float(proba.mean()), float(sd.mean())


def _joined(
    router: "Router", name: str, table: "ExpertTable", *, first_row: int, source: str
) -> "tuple[Router, list[str]]":
    """Return the router with the new expert, and what there is to say; that panels are dropped is told elsewhere."""
    from defero.data.recipes.picture_recipe import PictureRecipe

    asked = table.take(table.answered > 0)
    # A bad cell is told with its row in the file, and so is a picture that cannot be read.
    features = router.features(asked.features, source=source, first_row=first_row)
    if isinstance(router.recipe, PictureRecipe):
        features.check()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said = asked.classes[asked.answer_idx[:, 0]] if len(asked) else None
        joined = router.add_expert(name, asked.features, asked.labels, said)
    return joined, [str(one.message) for one in caught if "drops the panel" not in str(one.message)]


def _with_groups(before: "Router", after: "Router", cases: "Cases") -> "dict[str, Any]":
    """Return what has been seen, with the groups of the newcomer's cases where `fit` kept groups apart."""
    import numpy as np

    group = before.notes.get("group")
    if group is None or group not in cases.apart.columns:
        return dict(after.seen)
    named = cases.table.take((cases.table.answered > 0) & cases.apart[group].notna().to_numpy())
    found = seen_groups(cases, [named], group=group) if len(named) else {}
    return {**after.seen, **{name: np.union1d(rows, after.seen.get(name, rows[:0])) for name, rows in found.items()}}


def _case_file(router: "Router", model: Path, table: Path, expert: str, given: Given) -> "CaseFile":
    """Describe the file as `fit` was told to read its own, where nothing else is said now."""
    from defero.core.errors import InputError
    from defero.data.case_file import CaseFile
    from defero.data.exports.export import takes_control

    notes = router.notes
    if router.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its add_expert in Python.")
    kind = format_of(table, given.format, remembered=notes.get("format"))
    label = given.label
    if label is None and (kind == "table") == (notes.get("format", "table") == "table"):
        label = notes.get("label")
    wide = kind == "table" and given.answers is None
    # One person's own majority is always right: of a wide table, which shows nobody else, there must be a label.
    majority = label is None and not wide and bool(notes.get("majority_label"))
    if label is None and not majority and kind == "table":
        raise InputError(
            f"{table}: without labels nobody can say which answers are right; name the column with the truth with "
            "--label."
        )
    group, key = notes.get("group"), given.key
    if key is None and given.answers is not None:
        key = remembered_key(notes.get("key"), table)
    return CaseFile(
        path=table,
        format=kind,
        label=label,
        majority=majority,
        experts=((given.answer or expert) if wide else expert,),
        answers=given.answers,
        item=given.item,
        annotator=given.expert,
        answer=None if wide else given.answer,
        features=router.recipe.inputs,
        text=router.recipe.text,
        key=key,
        beside=() if group is None else (group,),
        control=given.control or ((notes.get("control") or {}).get("from_name") if takes_control(kind) else None),
        classes=router.classes,
    )


@contextmanager
def _named(expert: str) -> Iterator[None]:
    """Let a message name the option."""
    from defero.core.errors import InputError

    try:
        yield
    except InputError as error:
        told, again, _ = str(error).partition(", or call remove_expert")
        more = (
            ". To give more answers of theirs, start again from the model before they joined, with all their answers; "
            "in Python: remove_expert, then add_expert"
            if again
            else ""
        )
        raise InputError(f"--expert {expert}: {told.rstrip('.')}{more}.") from error


@contextmanager
def _expert_column() -> Iterator[None]:
    """Let a message name this command's option for the column of the experts, as --expert is somebody's name here."""
    from defero.core.errors import InputError

    try:
        yield
    except InputError as error:
        raise type(error)(str(error).replace("with annotator=", "with --expert-column")) from error
