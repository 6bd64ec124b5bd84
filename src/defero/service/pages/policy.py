"""The policy, previewed and versioned, and the models, compared and switched."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from defero.data.tables.cells import text_of
from defero.service.api import terms as api
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, form_of, needed
from defero.service.api.schemas import MOST_NUMBER, ModelIn, PolicyIn
from defero.service.events import Compared, ModelChanged
from defero.service.flow.terms import ChangePolicy
from defero.service.office import Office
from defero.service.pages.forms import (
    MOST_CLASSES,
    UNITS,
    Fields,
    fields_of,
    money,
    n_rules,
    number,
    percent,
    policy_of,
)
from defero.service.pages.sight import render
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import MODES, Policy

router = APIRouter(route_class=GuardedRoute)
PAGE = "/console/policy"
MODELS_PAGE = "/console/models"
MOST_EXAMPLES = 10
MOST_VERSIONS = 50
Saved = Annotated[int | None, Query(ge=0, le=MOST_NUMBER)]


@router.get(PAGE)
def policy(request: Request, office: InOffice, saved: Saved = None) -> Response:
    """Show the policy that holds now, to be changed."""
    return policy_page(request, office, saved=saved)


@router.post(PAGE)
async def save(request: Request, office: InOffice) -> Response:
    """Let the policy of the form hold from here on, as the next version; a form that is wrong comes back."""
    fields = await form_of(request)
    try:
        values = await run_in_threadpool(read_form, office, fields)
        reply = await done(office, ChangePolicy(values, caller_of(request).person))
    except Problem as problem:
        return await run_in_threadpool(policy_page, request, office, fields=fields, problem=problem)
    return RedirectResponse(f"{PAGE}?saved={reply['version']}", 303)


@router.post(PAGE + "/preview")
async def preview(request: Request, office: InOffice) -> Response:
    """Decide the last 1,000 cases by the policy of the form; nothing changes."""
    fields = await form_of(request)
    try:
        values = await run_in_threadpool(read_form, office, fields)
        result = await run_in_threadpool(api.preview_policy, PolicyIn(**values), office)
    except Problem as problem:
        return await run_in_threadpool(policy_page, request, office, fields=fields, problem=problem)
    return await run_in_threadpool(policy_page, request, office, fields=fields, preview=result)


@router.post(PAGE + "/mode")
async def mode(request: Request, office: InOffice) -> Response:
    """Switch shadow mode on or off; everything else stays, as the next version."""
    wanted = needed(await form_of(request), "mode")
    if wanted not in MODES:
        raise Problem(422, f"mode: must be one of {', '.join(MODES)}.")
    current = await run_in_threadpool(_current, office)
    reply = await done(office, ChangePolicy({**current.to_dict(), "mode": wanted}, caller_of(request).person))
    return RedirectResponse(f"{PAGE}?saved={reply['version']}", 303)


@router.post(PAGE + "/{version}/restore")
async def restore(request: Request, version: api.Version, office: InOffice) -> Response:
    """Let an earlier version hold again, as a new version."""
    await api.restore_policy(request, version, office)
    current = await run_in_threadpool(_current, office)
    return RedirectResponse(f"{PAGE}?saved={current.version}", 303)


def read_form(office: Office, fields: Fields) -> dict[str, Any]:
    """Return the policy of a form."""
    return policy_of(fields, _classes(office), _current(office))


def policy_page(
    request: Request,
    office: Office,
    *,
    fields: Fields | None = None,
    preview: dict[str, Any] | None = None,
    problem: Problem | None = None,
    saved: int | None = None,
) -> Response:
    """Return the page: the form as it was sent, or the policy of now; a preview; every version."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
    current, classes = ledger.policy, _classes(office)
    experts = [
        (one.person, names.get(one.person, one.person))
        for one in ledger.people.values()
        if one.role == "expert" and (not one.removed or one.person in current.people)
    ]
    shown = fields_of(current, classes) if fields is None else fields
    recipe = office.team.router.recipe
    return render(
        request,
        "policy.html",
        status=200 if problem is None else problem.status,
        fields=shown,
        rule_lines=range(n_rules(shown)),
        current=current,
        classes=classes,
        with_matrix=len(classes) <= MOST_CLASSES,
        matrix_open=any(name.startswith("cost_") and value for name, value in shown.items()),
        experts=experts,
        names=names,
        columns=() if recipe is None else recipe.inputs,
        units=UNITS,
        preview=None if preview is None else {**preview, "examples": preview["examples"][:MOST_EXAMPLES]},
        problem=problem,
        saved=saved,
        versions=versions(office, names),
    )


def versions(office: Office, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the last versions with what each changed, the last one first; the API has all of them."""
    rows, before = [], Policy().to_dict()
    for one in api.get_policies(office)["policies"]:
        by = names.get(one["by"], one["by"])
        rows.append(
            {"version": one["version"], "at": one["at"], "by": by, "changes": changes(before, one["policy"], names)}
        )
        before = one["policy"]
    return rows[: -MOST_VERSIONS - 1 : -1]


def _current(office: Office) -> Policy:
    with office.database.read() as connection:
        return open_ledger(connection, now=office.clock()).policy


def _classes(office: Office) -> list[str]:
    return [text_of(value) for value in office.team.class_values]


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
Compare = Annotated[Literal["yes"] | None, Query()]


@router.get(MODELS_PAGE)
def models(request: Request, office: InOffice, compare: Compare = None) -> Response:
    """Show the model that decides and the one beside it; `compare`: decide the last cases by both."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        entries = list(log.read_log(connection, kinds=("model_loaded", "model_changed")))
        facts = [one.fact for one in log.last_of_kinds(connection, kinds=("compared",), limit=MOST_COMPARED)]
    comparison = api.compare(office) if compare and ledger.candidate is not None else None
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


@router.post(MODELS_PAGE)
async def load(request: Request, office: InOffice) -> Response:
    """Load a model beside the one that decides."""
    folder = needed(await form_of(request), "folder")
    try:
        body = ModelIn(folder=folder)
    except ValidationError as error:
        raise Problem(422, "folder: must be the name of a folder in the folder of models.") from error
    await api.load_model(request, body, office)
    return RedirectResponse(MODELS_PAGE, 303)


@router.post(MODELS_PAGE + "/{version}/switch")
async def switch(request: Request, version: api.ModelVersion, office: InOffice) -> Response:
    """Let another model decide from the next commit on."""
    await api.switch_model(request, version, office)
    return RedirectResponse(MODELS_PAGE, 303)


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


def folders(directory: Path | None) -> list[str]:
    """Return the model folders that can be loaded."""
    if directory is None or not directory.is_dir():
        return []
    return sorted(one.name for one in directory.iterdir() if (one / "model.json").is_file() and not one.is_symlink())
