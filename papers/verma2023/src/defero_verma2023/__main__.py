"""`python -m defero_verma2023` is the command `defero reproduce`, also where nothing is installed."""

import sys

import typer

from defero import InputError
from defero_verma2023.command import reproduce


def main() -> None:
    """Run the command; wrong input is one line and exit status 2."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)
    app.command()(reproduce)
    try:
        app(prog_name="python -m defero_verma2023")
    except (InputError, OSError, ImportError) as error:
        typer.echo(f"defero: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
