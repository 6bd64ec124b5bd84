"""A saved team and the cases of a file that its training did not see."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defero.cli.cautions import with_cautions
from defero.cli.expert_evidence import mean_sd, record_dict
from defero.cli.fresh_cases import fresh_cases
from defero.cli.known_groups import no_groups_sentence, of_seen_groups
from defero.cli.pictures import with_folder
from defero.cli.reading import Given, format_of, in_options
from defero.cli.remembered import columns_of, remembered_key, with_log_columns, with_silent, without_column
from defero.cli.saved_team import saved_team

if TYPE_CHECKING:
    from defero.core import ExpertTable
    from defero.core.trial import Trial
    from defero.data.case_file import CaseFile
    from defero.metrics.record.team import TeamRecord
    from defero.router import Router


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A team on the fresh rows of a table.

    Attributes
    ----------
    model, table : Path
    router : Router
    cases : ExpertTable
        The fresh rows.
    rows, left_out : int
        Of the whole table, and how many of them training had seen.
    of_seen_groups : int
        How many more were left out: new, but of a group, such as a patient, that training had seen.
    trial : Trial
        What the team did there.
    seed : int
        Settles the draws of the intervals.
    majority : sentence, optional
        What a majority for a truth does to every figure.
    notes : sentences
        What was left out or filled in while reading.
    """

    model: Path
    table: Path
    router: "Router"
    cases: "ExpertTable"
    rows: int
    left_out: int
    of_seen_groups: int
    trial: "Trial"
    seed: int
    majority: str | None
    notes: tuple[str, ...] = ()

    @cached_property
    def record(self) -> "TeamRecord":
        """How good that was; made when it is asked for, as a rival's never is."""
        from defero.router import record_of

        found = record_of(self.router, self.trial, random_state=self.seed)
        return with_cautions(found, self.router, majority=self.majority)

    @cached_property
    def expert_sd(self) -> tuple[float, ...]:
        """How unsure each expert's probability is, (J,): the mean over these cases; nan where nobody knows."""
        return mean_sd(self.router, self.cases.features)

    def left_out_sentence(self) -> str:
        """Say how many rows were left out, and why; nothing where all are judged."""
        who, group = _learners(self.router), self.router.notes.get("group")
        seen = f"{self.left_out} of {self.rows} rows were seen by {who} and are left out."
        alike = f"{self.of_seen_groups} of {self.rows} rows are of a {group} that {who} saw and are left out."
        return " ".join([seen] * (self.left_out > 0) + [alike] * (self.of_seen_groups > 0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "model": str(self.model),
            "rows": self.rows,
            "seen_by_fit": self.left_out,
            "of_seen_groups": self.of_seen_groups,
            "notes": list(self.notes),
            "answering": self.router.notes.get("answering"),
            "shared_errors": self.router.notes.get("shared_errors"),
            "test": record_dict(self.record, self.router, sd=self.expert_sd),
        }


def judge_held_out(model: Path, table: Path, *, given: Given, seed: int) -> HeldOut:
    """Judge a saved team on the rows of a table that `fit` did not see; refuse a table of nothing else."""
    from defero.core.errors import TableError
    from defero.data.cases import read_cases
    from defero.router.judge import try_out

    router = with_folder(saved_team(model), given.images, table)
    with in_options():
        file = _case_file(router, model, table, with_log_columns(router, given))
        silent = tuple(name for name in router.expert_names if name not in (file.team or ()))
        cases = with_silent(read_cases(file), router, silent, table=table)
    found = fresh_cases(router, cases, source=str(table), key=_key_column(router, given))
    fresh = found.rows
    judged = fresh & ~of_seen_groups(router, cases)
    if not judged.any():
        how = (
            f"were seen by {_learners(router)}, or are of a {router.notes.get('group')} that it saw,"
            if fresh.any()
            else f"were seen by {_learners(router)},"
        )
        raise TableError(
            f"{table}: all {len(cases.table)} rows {how} and a team cannot be judged on what it learned from; pass "
            "other cases."
        )
    test = cases.table.take(judged)
    trial = try_out(
        router, test.features, test.labels, test.answers, source=str(table), first_row=cases.first_row, disjoint=True
    )
    return HeldOut(
        model=model,
        table=table,
        router=router,
        cases=test,
        rows=len(cases.table),
        left_out=int((~fresh).sum()),
        of_seen_groups=int((fresh & ~judged).sum()),
        trial=trial,
        seed=seed,
        majority=cases.majority_sentence(),
        notes=(
            *cases.notes,
            *no_groups_sentence(router, cases, table=str(table)),
            *_alike_sentence(router, found.alike),
            *gaps(router, test.features),
        ),
    )


def _alike_sentence(router: "Router", n_alike: int) -> tuple[str, ...]:
    """Say that cases with other keys have the features of rows that were seen."""
    if not n_alike:
        return ()
    equal = "1 case equals a row" if n_alike == 1 else f"{n_alike} cases equal rows"
    return (
        f"{equal} that {_learners(router)} saw in every feature, but not in the key, and are judged as other cases: "
        "if they are the same, the figures flatter.",
    )


def _key_column(router: "Router", given: Given) -> str | None:
    """Return the column that names the cases: what is said now, else what `fit` was told."""
    return given.key or router.notes.get("key")


def _learners(router: "Router") -> str:
    """Name the commands that have used rows."""
    from defero.router.roster import STAGE

    return "fit or add-expert" if STAGE in router.seen else "fit"


def gaps(router: "Router", features: Any) -> tuple[str, ...]:
    """Say where cells are blank, or hold something that training has not seen."""
    remarks = {} if router.recipe is None else router.recipe.remarks(features)
    return tuple(f"{clause}, in {count} rows." for clause, count in remarks.items())


def _case_file(router: "Router", model: Path, table: Path, given: Given) -> "CaseFile":
    """Describe a file to be judged as `fit` was told to read its own, where nothing else is said now."""
    from defero.core.errors import InputError
    from defero.data.case_file import CaseFile
    from defero.data.exports.export import takes_control

    notes = router.notes
    kind = format_of(table, given.format, remembered=notes.get("format"))
    majority = given.majority or (given.label is None and bool(notes.get("majority_label")))
    label = given.label
    if label is None and (kind == "table") == (notes.get("format", "table") == "table"):
        label = notes.get("label")
    if router.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its score in Python.")
    if label is None and not majority and kind == "table":
        how = "on an export" if "format" in notes else "in Python"
        raise InputError(f"{model}: was fitted {how} and does not know the label's column; name it with --label.")
    if kind == "table" and given.answers is None and notes.get("answers") == "long":
        _check_wide(router, model, table)
    wide = kind == "table" and given.answers is None
    silent = without_column(router, table) if wide else ()
    control = given.control
    if control is None and takes_control(kind):
        control = (notes.get("control") or {}).get("from_name")
    beside = tuple(name for name in (notes.get("group"), _key_column(router, given)) if name is not None)
    key = given.key
    if key is None and given.answers is not None:
        key = remembered_key(notes.get("key"), table)
    return CaseFile(
        path=table,
        format=kind,
        label=label,
        majority=majority,
        team=tuple(name for name in router.expert_names if name not in silent),
        answers=given.answers,
        item=given.item,
        annotator=given.expert,
        answer=given.answer,
        features=router.recipe.inputs,
        text=router.recipe.text,
        key=key,
        beside=beside,
        control=control,
        classes=router.classes,
    )


def _check_wide(router: "Router", model: Path, table: Path) -> None:
    """Ask for the log of answers, unless this table has the experts' columns itself."""
    from defero.core.errors import InputError

    if router.expert_names and set(columns_of(table)).isdisjoint(router.expert_names):
        raise InputError(
            f"{model}: was fitted with --answers, and {table} has no column of an expert; pass --answers FILE, with "
            "one row per answer."
        )
