"""What `Study.fit` tells of a table: its parts, its columns, and what looks like a mistake."""

import re
from difflib import get_close_matches

from defero.core import ExpertTable
from defero.core.errors import Argument, Message
from defero.core.wording import join_names
from defero.data.answers.class_codes import NO_CLASS, matching_codes
from defero.data.cases import Cases
from defero.data.fingerprint import row_fingerprints
from defero.data.recipes.columns import CategoricalColumn
from defero.data.recipes.inputs import odd_cells
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.cells import row_number
from defero.data.tables.wide import plain_name
from defero.team import Team
from defero.team.rows import told_apart_by, with_answers

FEW_ROWS = 5
FEW_GROUPS = 5
"""Of fewer groups in a part one more may look quite different."""
MANY_ROWS = 50
COPY = 0.99
"""A feature that equals the label in this share of the rows looks like a copy of it."""
_ID = re.compile(r"(^|[_\W])([iI][dD]s?|[kK]ey|uuid|UUID|nr|no)$|[a-z]I[dD]s?$")
"""Names of columns of ids, such as patient_id, PatientID or id."""
LEAST_COPIES, COPIED = 2, 0.01
"""From so many rows, and from this share of all, rows that equal an earlier one are told."""


def sizes_sentence(cases: Cases, parts: tuple[ExpertTable, ...], *, calibrates_itself: bool) -> str:
    """Say how many cases there are, how they were split, and which columns have a role."""
    table = cases.table
    learn, held, panels, test = map(len, parts)
    first = f"{learn} to learn from, {held} to calibrate"
    if calibrates_itself and cases.spec.time is None:
        first = f"{learn + held} to learn from, calibrated across folds"
    how = {
        "groups": "no {} is in two parts",
        "time": "split by {}, the latest for the test",
        "split": "split as {} says",
    }
    cut = [how[name].format(column) for name, column in cases.spec.cuts.items() if column is not None]
    sizes = (
        f"{len(table)} cases of {cases.source}: {first}, {panels} to conformalize, "
        f"{test} for the test{''.join(f'; {one}' for one in cut)}."
    )
    label = "the majority of the answers" if cases.spec.label is None and cases.n_majority else cases.spec.label
    roles = [f"Label: {label}." if label else "Label: the ground truth.", f"Key: {cases.key}." if cases.key else ""]
    if table.n_experts:
        each = table.n_answers / len(table)
        roles.append(f"Experts: {table.n_experts}, of whom {each:.1f} answered a case on average.")
    return f"{sizes}\n{' '.join(role for role in roles if role)}"


def notes_on(cases: Cases, team: Team) -> list[str]:
    """Return a sentence for each thing that looks like a mistake."""
    table = cases.table
    return [
        *_rare_labels(table),
        *_odd_cells(cases, team),
        *_like_ids(table),
        *_like_labels(table, team),
        *_copied_rows(cases, team),
    ]


def few_groups(cases: Cases, parts: tuple[ExpertTable, ...], *, groups: str | None) -> list[str]:
    """Return a sentence if a part has few groups: its figures tell little of others."""
    if groups is None:
        return []
    names = [{*map(plain_name, cases.apart.loc[part.features.index, groups].tolist())} for part in parts]
    learn, held, panels, test = sizes = [len(one) for one in names]
    sentence = (
        f"there are {len(set().union(*names))} values of {groups}: {learn} in the cases to learn from, {held} to "
        f"calibrate, {panels} to conformalize and {test} in the test. With so few, the figures may not hold for "
        f"another {groups}."
    )
    return [sentence] if min(sizes) < FEW_GROUPS else []


def class_counts(table: ExpertTable) -> dict[str, int]:
    """Return how many cases each class has."""
    counts = [int((table.label_idx == k).sum()) for k in range(table.n_classes)]
    return dict(zip(map(str, table.classes.tolist()), counts, strict=True))


def _rare_labels(table: ExpertTable) -> list[str]:
    """Return a sentence for each label that a few rows have: a typo makes a class of its own."""
    counts = class_counts(table)
    sentences = []
    for name, count in counts.items():
        if count < FEW_ROWS:
            others = {other.casefold().strip(): other for other in counts if counts[other] > count}
            near = get_close_matches(name.casefold().strip(), others, n=1, cutoff=0.75)
            hint = f"; did you mean {others[near[0]]!r}?" if near else "."
            sentences.append(f"label {name!r} occurs in {count} of {len(table)} rows, too few to learn from{hint}")
    return sentences


def _odd_cells(cases: Cases, team: Team) -> list[str]:
    """Return a sentence for each column of numbers that a few cells keep from being read as such."""
    if not isinstance(team.recipe, FeatureRecipe):
        return []
    frame, sentences = cases.table.features, list[str]()
    categories = {one.name: one for one in team.recipe.columns if isinstance(one, CategoricalColumn)}
    for name in (*categories, *team.recipe.dropped):
        odd, read = odd_cells(frame[name]), categories.get(name)
        if odd is None:
            continue
        row = row_number(frame, odd.place, first_row=cases.first_row)
        what = "is not used" if read is None else "is read as categories"
        sentences.append(Message(f"column {name} {what}: ", odd.clause(row), "."))
    return sentences


def _like_ids(table: ExpertTable) -> list[str]:
    """Return a sentence for each column of whole numbers that differs in every row, or is called an id."""
    frame = table.features
    notes: list[str] = []
    for name in frame.columns:
        if frame[name].dtype.kind not in "iu" or len(frame) < MANY_ROWS:
            continue
        if frame[name].nunique() == len(frame):
            notes.append(Message(f"{name} differs in every row; if it names the cases, pass {Argument('key', name)}."))
        elif _ID.search(str(name)):
            notes.append(
                Message(
                    f"{name} looks like an id and is used as a number; if its rows belong together, pass "
                    f"{Argument('groups', name)}, else leave it out with {Argument('features')}."
                )
            )
    return notes


def _copied_rows(cases: Cases, team: Team) -> list[str]:
    """Return a sentence if many rows equal an earlier one in all columns but the key, in their label and all answers.

    Columns that are not used tell cases apart as well: few others can. Rows of one group are never in two parts: they
    count once.
    """
    table, groups = cases.table, cases.spec.groups
    recipe = None if isinstance(team.recipe, FeatureRecipe) else team.recipe
    features = row_fingerprints(told_apart_by(table.features, recipe))
    rows = with_answers(features, table.label_idx, table.coded).tolist()
    units = range(len(rows)) if groups is None else map(plain_name, cases.apart[groups].tolist())
    n_copies = len(set(zip(rows, units, strict=True))) - len(set(rows))
    if n_copies < max(LEAST_COPIES, COPIED * len(rows)):
        return []
    other = "" if groups is None else f" of another {groups}"
    instead = f", or name a column with {Argument('groups')}" if groups is None else ""
    return [
        Message(
            f"{n_copies:,} of {len(rows):,} rows equal an earlier one{other}: if they are copies, the held-out figures "
            f"are too good; drop them{instead}."
        )
    ]


def _like_labels(table: ExpertTable, team: Team) -> list[str]:
    """Return a sentence for each copy of the truth, and one for all experts whom nobody named."""
    recipe, copies, answers = team.recipe, list[str](), list[str]()
    for name in [] if recipe is None else [one.name for one in recipe.columns if one.name not in recipe.text]:
        codes = matching_codes(table.features[name], table.classes)
        equal = float((codes == table.label_idx).mean())
        if equal >= COPY:
            copies.append(
                Message(
                    f"{name} equals the label in {100 * equal:.3g} % of the rows and is used as a feature; if it "
                    "is a copy of the truth, every figure here is too good: leave it out with "
                    f"{Argument('features')}."
                )
            )
        elif not (codes == NO_CLASS).any():
            answers.append(name)
    if not answers:
        return copies
    one = len(answers) == 1
    verb, used, them = ("holds", "is used as a feature", "it") if one else ("hold", "are used as features", "them")
    sentence = Message(
        f"{join_names(answers)} {verb} labels and {used}; name an expert's column in {Argument('expert_names')}, or "
        f"leave {them} out with {Argument('features')}."
    )
    return [*copies, sentence]
