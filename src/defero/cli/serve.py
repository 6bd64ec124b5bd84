"""`defero serve`: a trained team at work."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from defero.cli.options import ENCODER, takes
from defero.cli.output import echo

INSTALL = "pip install 'defero[service]'"
Database = Annotated[
    str | None,
    typer.Option(
        envvar="DEFERO_DATABASE",
        help="File or URL of the database, such as postgresql+psycopg://user@host/name. Default: a file beside MODEL.",
    ),
]


@takes(loading=ENCODER)
def serve(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    database: Database = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65_535)] = 8000,
    models: Annotated[
        Path | None,
        typer.Option(help="Folder of model folders that the lead may load beside MODEL.", exists=True, file_okay=False),
    ] = None,
    link: Annotated[
        bool | None,
        typer.Option(
            help="Print a link and a token of the lead, which hold for one day. Default: on a terminal only, so that "
            "none gets into a journal."
        ),
    ] = None,
    *,
    loading: dict[str, Any],
) -> None:
    """Run a team as a service: an inbox for each expert, a console for the lead, and an API for programs.

    Every accepted request is on disk before its reply. Stop it with Ctrl+C; nothing is lost.

    Example:

    defero serve defero-demo/model
    """
    need_service()
    from defero.service.serve import LEAD_DAYS, address_of, check_free, open_office, run

    check_free(host, port)
    office = open_office(model, database, models=models, **loading)
    office.start()
    where = office.database.url.render_as_string(hide_password=True)
    shown = address_of(host, port)
    echo(f"Serving {model} on {shown}; cases are kept in {where}.")
    echo(f"Programs use the API, {shown}/openapi.json.")
    if link or (link is None and is_terminal()):
        path, token = office.lead_link(days=LEAD_DAYS), office.lead_token(days=LEAD_DAYS)
        echo(f"Console of the lead; open this link, it holds for one day:\n  {shown}{path}")
        echo("Experts get their links in the console under People; cases can be added under Cases.")
        echo(f"Token of the lead, for one day:\n  {token}")
    else:
        echo(f"A link of the lead: defero people add lead --role lead --url {shown} --database {where}")
    run(office, host=host, port=port)


def is_terminal() -> bool:
    """Whether somebody reads what is printed as it comes."""
    return sys.stdout.isatty()


def need_service() -> None:
    """Raise where the packages of the service are not installed."""
    from importlib.util import find_spec

    from defero.core.errors import InputError

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "sqlalchemy", "alembic", "jinja2")):
        raise InputError(f"the service needs more packages: {INSTALL}.")
