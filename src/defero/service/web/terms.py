"""The terms: the policy, previewed, versioned and restored; the models, compared and switched; and their pages."""

import pathlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from defero.data.tables.cells import text_of
from defero.service import Problem
from defero.service.access import LEAD, WITH_PROGRAMS
from defero.service.events import Compared, ModelChanged, PolicyChanged, to_json
from defero.service.flow.settings import ChangePolicy, LoadModel, SwitchModel, checked_policy
from defero.service.flow.what_if import MOST_CASES, last_cases, preview, preview_model
from defero.service.office import Office
from defero.service.store import log
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import MODES, MOST_NUMBER, Policy, PolicyIn, Strict, one_of
from defero.service.web.forms import Fields, scaled, text_at
from defero.service.web.requests import InOffice, Routes, caller_of, done, plain, the_office
from defero.service.web.schemas import ModelIn
from defero.service.web.sight import money, number, percent, render

policy_router = Routes("policy")
Version = Annotated[int, Path(ge=0, le=MOST_NUMBER, examples=[3])]


@policy_router.at("GET /v1/policy", WITH_PROGRAMS, response_model=Policy)
def get_policy(office: InOffice) -> dict[str, Any]:
    """Return the policy that holds now."""
    policy = office.views()[0].policy
    return {"version": policy.version, **policy.to_dict()}


@policy_router.at("PUT /v1/policy", LEAD, response_model=Policy)
async def put_policy(request: Request, body: PolicyIn, office: InOffice) -> Response:
    """Let another policy hold from here on; it gets the next version."""
    return plain(await done(office, ChangePolicy(body.model_dump(), caller_of(request).person)))


@policy_router.at("GET /v1/policies", LEAD)
def get_policies(office: InOffice) -> dict[str, Any]:
    """Return every version of the policy, with who set it and when."""
    with office.database.read() as connection:
        entries = list(log.read_log(connection, kinds=("policy_changed",)))
    return {"policies": [{"seq": one.seq, "at": one.at, **vars(one.fact)} for one in entries]}


@policy_router.at("POST /v1/policies/preview", LEAD)
def preview_policy(body: PolicyIn, office: InOffice) -> dict[str, Any]:
    """Replay the last 1,000 cases under another policy: who would be asked, load, expected cost, questions."""
    team = office.team
    with office.database.read() as connection:
        ledger, past = open_ledger(connection, now=office.clock()), last_cases(connection, most=MOST_CASES)
    policy = checked_policy(body.model_dump(), ledger.policy.version + 1, ledger.people, team)
    return preview(ledger, team, policy, past)


@policy_router.at("POST /v1/policies/{version}/restore", LEAD, 404, response_model=Policy)
async def restore_policy(request: Request, version: Version, office: InOffice) -> Response:
    """Let an earlier version hold again, as a new version; 0 is the default policy."""
    with office.database.read() as connection:
        facts = [entry.fact for entry in log.read_log(connection, kinds=("policy_changed",))]
    known = {fact.version: fact.policy for fact in facts if isinstance(fact, PolicyChanged)}
    values = Policy().to_dict() if version == 0 else known.get(version)
    if values is None:
        raise Problem(404, "There is no such version of the policy.", version=version)
    return plain(await done(office, ChangePolicy(values, caller_of(request).person)))


models_router = Routes("models")
ModelVersion = Annotated[str, Path(pattern=r"^[0-9a-z_-]{1,40}$", examples=["9f2b6c01d3aa"])]
_KINDS = ("model_loaded", "model_changed")


@models_router.at("GET /v1/models", LEAD)
def get_models(office: InOffice) -> dict[str, Any]:
    """Return the model that decides, the one beside it, and everything that was loaded or switched."""
    with office.database.read() as connection:
        ledger, entries = open_ledger(connection, now=office.clock()), list(log.read_log(connection, kinds=_KINDS))
    history = [one.to_dict() for one in entries]
    shown = {"model": ledger.model, "candidate": ledger.candidate}
    return {**{name: None if one is None else vars(one) for name, one in shown.items()}, "history": history}


@models_router.at("POST /v1/models", LEAD, 404, 409)
async def load_model(request: Request, body: ModelIn, office: InOffice) -> Response:
    """Load a model beside the one that decides, from the folder of models that the service was started with."""
    team = await run_in_threadpool(office.shelf.load, body.folder)
    known = office.shelf.teams.get(team.version)
    # The next commit compares by it, and must not read it again.
    office.shelf.keep(team if known is None else known, folder=body.folder)
    try:
        return plain(await done(office, LoadModel(team, body.folder, caller_of(request).person)))
    except Problem:
        if known is None:
            office.shelf.teams.pop(team.version, None)
        raise


@models_router.at("GET /v1/models/comparison", LEAD, 404)
def compare(office: InOffice) -> dict[str, Any]:
    """Decide the last 1,000 cases by both models: who would be asked, load, expected cost, right answers."""
    with office.database.read() as connection:
        ledger, past = open_ledger(connection, now=office.clock()), last_cases(connection, most=MOST_CASES)
    if ledger.candidate is None or ledger.model is None:
        raise Problem(404, "There is no model beside the one that decides.")
    team, candidate = office.shelf.team(ledger.model), office.shelf.team(ledger.candidate)
    return {"model": team.version, "candidate": candidate.version, **preview_model(ledger, team, candidate, past)}


@models_router.at("POST /v1/models/{version}/switch", LEAD, 404)
async def switch_model(request: Request, version: ModelVersion, office: InOffice) -> Response:
    """Let another model decide from the next commit on: the one beside, or an earlier one to roll back."""
    known = await run_in_threadpool(_known_model, office, version)
    return plain(await done(office, SwitchModel(known, caller_of(request).person)))


def _known_model(office: Office, version: str) -> ModelChanged:
    """Return the last entry of a model; it is loaded here, so that the switch itself takes no time."""
    with office.database.read() as connection:
        facts = [entry.fact for entry in log.read_log(connection, kinds=_KINDS)]
    known = [fact for fact in facts if isinstance(fact, ModelChanged) and fact.version == version]
    if not known:
        raise Problem(404, "There is no such model; load it first.", model=version)
    office.shelf.team(known[-1])
    return known[-1]


pages = Routes()
PAGE = "/console/policy"
MODELS_PAGE = "/console/models"
MOST_EXAMPLES = 10
MOST_VERSIONS = 50
MOST_CLASSES = 8
"""With more, the cost matrix is not in the form, and stays as it is."""
EMPTY_RULES = 2
"""Empty lines below the rules that are there; a preview adds new ones."""
UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
Saved = Annotated[int | None, Query(ge=0, le=MOST_NUMBER)]


@pages.at("GET /console/policy", LEAD)
def policy_shown(request: Request, office: InOffice, saved: Saved = None) -> Response:
    """Show the policy that holds now, to be changed."""
    return policy_page(request, office, saved=saved)


def policy_page(
    request: Request,
    office: Office,
    values: Mapping[str, Any] | None = None,
    *,
    reply: dict[str, Any] | None = None,
    problem: Problem | None = None,
    saved: int | None = None,
) -> Response:
    """Return the page: the form as it was sent, or the policy of now; a preview; every version."""
    ledger, names = office.views()
    current, classes = ledger.policy, [text_of(value) for value in office.team.class_values]
    experts = [
        (one.person, names.get(one.person, one.person))
        for one in ledger.people.values()
        if one.role == "expert" and (not one.removed or one.person in current.people)
    ]
    shown = current.to_dict() if values is None else values
    recipe = office.team.router.recipe
    return render(
        request,
        "policy.html",
        status=200 if problem is None else problem.status,
        values=shown,
        within=_in_unit(shown.get("answer_within")),
        rules=[one for one in shown.get("rules") or () if isinstance(one, Mapping)] + EMPTY_RULES * [{}],
        current=current,
        classes=classes,
        most_classes=MOST_CLASSES,
        experts=experts,
        names=names,
        columns=() if recipe is None else recipe.inputs,
        units=UNITS,
        preview=None if reply is None else {**reply, "examples": reply["examples"][:MOST_EXAMPLES]},
        problem=problem,
        saved=saved,
        versions=versions(office, names),
    )


def _in_unit(seconds: Any) -> tuple[str, str]:
    """Return the time to answer in the largest unit in which it is whole, and that unit.

    >>> _in_unit(7_200.0), _in_unit("90"), _in_unit(None), _in_unit("soon")
    (('2', 'hours'), ('90', 'seconds'), ('', 'hours'), ('soon', 'hours'))
    """
    try:
        unit = next((unit for unit, size in UNITS.items() if float(seconds) % size == 0), "seconds")
        return text_of(float(seconds) / UNITS[unit]), unit
    except (TypeError, ValueError):
        return text_at(seconds), "hours"


def read_policy(request: Request, fields: Fields) -> Fields:
    """Return the form in the units of the API. A line of the rules without a choice is none."""
    office = the_office(request)
    matrix = office.views()[0].policy.cost_matrix
    lines = {name.split("/")[1] for name, value in fields.items() if name.endswith("/do") and value}
    asking = {line for line in lines if fields[f"rules/{line}/do"] == "ask"}  # its field for a person means nothing
    read = {
        name: value
        for name, value in fields.items()
        if not name.startswith("rules/")
        or (name.split("/")[1] in (lines - asking if name.endswith("/person") else lines))
    }
    read |= {"explore": scaled(fields.get("explore"), "0.01")}
    unit = UNITS.get(fields.get("answer_unit", "seconds"), 1)
    read |= {"answer_within": scaled(fields.get("answer_within"), str(unit))}
    return read | ({"cost_matrix": to_json(matrix)} if matrix and len(office.team.class_values) > MOST_CLASSES else {})


class ModeIn(Strict):
    """Whether people are asked."""

    mode: Annotated[str, one_of(MODES)]


async def switch_mode(request: Request, body: ModeIn, office: InOffice) -> Response:
    """Switch shadow mode on or off; everything else stays, as the next version."""
    current = await run_in_threadpool(get_policy, office)
    values = {name: current[name] for name in PolicyIn.model_fields}
    return await put_policy(request, PolicyIn(**{**values, "mode": body.mode}), office)


_SAVED = PAGE + "?saved={version}"
pages.form("POST /console/policy", LEAD, put_policy, _SAVED, read=read_policy, again=policy_page)
pages.form("POST /console/policy/preview", LEAD, preview_policy, policy_page, read=read_policy, again=policy_page)
pages.form("POST /console/policy/mode", LEAD, switch_mode, _SAVED)
pages.form("POST /console/policy/{version}/restore", LEAD, restore_policy, _SAVED)


def versions(office: Office, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the last versions with what each changed, the last one first; the API has all of them."""
    rows, before = [], Policy().to_dict()
    for one in get_policies(office)["policies"]:
        by = names.get(one["by"], one["by"])
        rows.append(
            {"version": one["version"], "at": one["at"], "by": by, "changes": changes(before, one["policy"], names)}
        )
        before = one["policy"]
    return rows[: -MOST_VERSIONS - 1 : -1]


WORDS = {
    "error_cost": "cost of an error",
    "answer_within": "seconds to answer",
    "on_drift": "on drift",
    "asking": "asking",
    "panel_size": "size of a panel",
    "explore": "exploration",
    "mode": "mode",
    "shadow_answer": "answer in shadow mode",
}


def changes(before: Mapping[str, Any], after: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Return a phrase for each member that differs.

    >>> changes({"fees": {}, "explore": 0.0}, {"fees": {"p1": 2.5}, "explore": 0.05}, {"p1": "ann"})
    ['fee of ann: none, now 2.50', 'exploration: 0 %, now 5 %']
    """
    phrases = []
    for name, what, shown in (("fees", "fee", money), ("capacity", "questions a day", number)):
        phrases += _by_person(before.get(name) or {}, after.get(name) or {}, what, shown, names)
    for name, what in WORDS.items():
        old, new = before.get(name), after.get(name)
        if old != new:
            phrases.append(f"{what}: {_plain(name, old)}, now {_plain(name, new)}")
    if (before.get("cost_matrix") or None) != (after.get("cost_matrix") or None):
        phrases.append("cost matrix: none" if not after.get("cost_matrix") else "cost matrix: changed")
    if list(before.get("rules") or ()) != list(after.get("rules") or ()):
        phrases.append(f"rules: {len(before.get('rules') or ())}, now {len(after.get('rules') or ())}")
    return phrases


def _by_person(
    old: Mapping[str, Any], new: Mapping[str, Any], what: str, shown: Any, names: Mapping[str, str]
) -> list[str]:
    people = [person for person in {**old, **new} if old.get(person) != new.get(person)]
    text = {True: lambda value: "none", False: shown}
    return [
        f"{what} of {names.get(person, person)}: {text[person not in old](old.get(person))}, "
        f"now {text[person not in new](new.get(person))}"
        for person in people
    ]


def _plain(name: str, value: Any) -> str:
    if name == "explore":
        return percent(value)
    return "no limit" if value is None else number(value)


MOST_COMPARED = 1_000
Beside = Annotated[Literal["yes"] | None, Query(alias="compare")]


@pages.at("GET /console/models", LEAD)
def models_shown(request: Request, office: InOffice, beside: Beside = None) -> Response:
    """Show the model that decides and the one beside it; `compare`: decide the last cases by both."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        entries = list(log.read_log(connection, kinds=("model_loaded", "model_changed")))
        facts = [one.fact for one in log.last_of_kinds(connection, kinds=("compared",), limit=MOST_COMPARED)]
    comparison = compare(office) if beside and ledger.candidate is not None else None
    if comparison is not None:
        comparison["examples"] = comparison["examples"][:MOST_EXAMPLES]
    history = [{"at": one.at, "kind": one.fact.kind, "fact": one.fact} for one in reversed(entries)]
    return render(
        request,
        "models.html",
        model=ledger.model,
        candidate=ledger.candidate,
        agreement=agreement(facts, ledger.candidate),
        comparison=comparison,
        earlier=earlier(history, ledger.model),
        history=history,
        names=names,
        folders=folders(office.shelf.directory),
        with_folder=office.shelf.directory is not None,
    )


pages.form("POST /console/models", LEAD, load_model, MODELS_PAGE)
pages.form("POST /console/models/{version}/switch", LEAD, switch_model, MODELS_PAGE)


def agreement(facts: list[Any], candidate: ModelChanged | None) -> dict[str, int] | None:
    """Return how often both models agreed on new cases since the candidate was loaded."""
    if candidate is None:
        return None
    own = [fact for fact in facts if isinstance(fact, Compared) and fact.model == candidate.version]
    return {
        "n": len(own),
        "same_label": sum(fact.same_label for fact in own),
        "same_step": sum(fact.same_step for fact in own),
        "asks": sum(fact.asks is not None for fact in own),
    }


def earlier(history: list[dict[str, Any]], model: ModelChanged | None) -> list[ModelChanged]:
    """Return the models that decided before, the last one first, each once."""
    seen: dict[str, ModelChanged] = {}
    for line in history:
        if line["kind"] == "model_changed" and (model is None or line["fact"].version != model.version):
            seen.setdefault(line["fact"].version, line["fact"])
    return list(seen.values())


def folders(directory: pathlib.Path | None) -> list[str]:
    """Return the model folders that can be loaded."""
    if directory is None or not directory.is_dir():
        return []
    return sorted(one.name for one in directory.iterdir() if (one / "model.json").is_file() and not one.is_symlink())
