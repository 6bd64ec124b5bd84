"""`defero people`: who may use a service, and their tokens."""

import time
from typing import Annotated

import typer

from defero.cli.options import AsJson
from defero.cli.output import echo, emit
from defero.cli.serve import need_service

app = typer.Typer(
    name="people", help="Add and list the people who may use a service, and revoke their access.", no_args_is_help=True
)

_DATABASE = typer.Option("--database", envvar="DEFERO_DATABASE", help="File or URL of the database of the service.")
Where = Annotated[str, _DATABASE]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the person or program; an expert's as in the model.")],
    database: Where,
    role: Annotated[str, typer.Option(help="lead, expert or machine.")] = "expert",
    days: Annotated[float, typer.Option(help="How long the token holds.", min=0.01, max=3_660)] = 90.0,
    url: Annotated[str, typer.Option(help="Address of the service, for the link.")] = "http://127.0.0.1:8000",
    as_json: AsJson = False,
) -> None:
    """Give somebody a token, and add them if they are new. The token is shown this once.

    Experts and leads also get a link that opens their inbox or console in a browser.

    Example:

    defero people add triage-system --role machine --database defero-demo/model.sqlite
    """
    need_service()
    from defero.service.office import add_with_token, link_of

    person, token = add_with_token(database, name, role, days=days, now=time.time())
    link = None if role == "machine" else url.rstrip("/") + link_of(database, person, days=days, now=time.time())
    if as_json:
        emit({"person": person, "role": role, "token": token, "link": link})
        return
    echo(f"{name} ({person}, {role}) has a token for {days:g} days; it is not shown again:\n  {token}")
    if link is not None:
        echo(f"Link to open in a browser, for {name} alone:\n  {link}")


@app.command("list")
def list_people(database: Where, as_json: AsJson = False) -> None:
    """Show everybody, and how many valid tokens they have."""
    need_service()
    from defero.service.office import people_with_tokens

    people = people_with_tokens(database, now=time.time())
    if as_json:
        emit({"people": people})
        return
    for one in people:
        left = " (left)" if one["removed"] else "" if one["available"] else " (not available)"
        echo(f"{one['person']:>5}  {one['role']:<8} {one['name']}{left}: valid tokens: {one['tokens']}")


@app.command()
def revoke(name: Annotated[str, typer.Argument(help="Name or id.")], database: Where, as_json: AsJson = False) -> None:
    """Make every token of somebody invalid, and with them their links and sessions."""
    need_service()
    from defero.service.office import revoke_all

    revoked = revoke_all(database, name, now=time.time())
    if as_json:
        emit({"revoked": revoked})
        return
    echo(f"{name}: {revoked} tokens revoked.")
