"""The page of the command line, written from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

import typer

_HEAD = """# Commands

Generated from the commands: `defero COMMAND --help` shows the same. Every command exits with 0 if all went well, with
2 if the input is wrong (one sentence says what and where), and with 1 if defero itself is at fault.
"""


def commands_page() -> str:
    """Return the page with a section for each command."""
    from defero.cli.main import app

    root = typer.main.get_command(app)
    return "\n\n".join([_HEAD.rstrip(), *(command_section(name, one) for name, one in commands(root))]) + "\n"


def commands(group: Any, path: str = "defero") -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, those of groups too, in the order of the help."""
    for name, command in group.commands.items():
        full = f"{path} {name}"
        if hasattr(command, "commands"):
            yield from commands(command, full)
        elif not command.hidden:
            yield full, command


def command_section(name: str, command: Any) -> str:
    """Return what a command does, its example, its arguments and its options."""
    text, _, example = (command.help or "").partition("Example:")
    usage = " ".join([name, *(argument_name(one) for one in command.params if one.param_type_name == "argument")])
    parts = [f"## {name}", *paragraphs(text), f"```\n{usage} [OPTIONS]\n```"]
    if example.strip():
        parts += [
            "For example:",
            *(f"```\n{one}\n```" if one.startswith("defero") else one for one in paragraphs(example)),
        ]
    for kind, head in (("argument", "argument"), ("option", "option")):
        rows = [row(one) for one in command.params if one.param_type_name == kind and not getattr(one, "hidden", False)]
        if rows:
            parts.append("\n".join([f"| {head} | meaning | default |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


def row(param: Any) -> str:
    """Return a row of a table for an argument or an option."""
    name = argument_name(param) if param.param_type_name == "argument" else ", ".join(param.opts)
    unset = param.default is None or param.default is False or callable(param.default)
    default = "required" if param.required else "" if unset else f"`{param.default}`"
    return f"| `{name}` | {cell(param.help or '')} | {default} |"


def argument_name(param: Any) -> str:
    """Return an argument as the usage names it."""
    return str(param.metavar or param.name).upper()


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, as Markdown that shows brackets and stars as they are."""
    return [cell(" ".join(one.split())) for one in re.split(r"\n\s*\n", text) if one.strip()]


def cell(text: str) -> str:
    r"""Return words for a table: no line breaks, no bars, no HTML; code stays code.

    >>> cell("A column p_<expert>, or\nx | y, as in `a<b`")
    'A column p_&lt;expert&gt;, or x \\| y, as in `a<b`'
    """
    pieces = " ".join(text.split()).replace("|", "\\|").split("`")
    pieces[::2] = [piece.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*") for piece in pieces[::2]]
    return "`".join(pieces)
