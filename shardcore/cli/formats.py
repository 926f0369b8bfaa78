"""Commands `formats` and `help`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import REMOTE_PANEL, Json, format_argument
from shardcore.cli.output import print_json, print_line
from shardcore.model.finding import Depth
from shardcore.model.options import Option, OptionPurpose
from shardcore.model.text import visible
from shardcore.shards.registry import CONTAINERS, FORMATS, all_formats, format_of

if TYPE_CHECKING:
    from shardcore.shards.format import Format

_OPTIONS = {
    OptionPurpose.OPEN: "open with",
    OptionPurpose.WRITE: "write with",
    OptionPurpose.LOCATE: "locate with",
    OptionPurpose.REKEY: "rekey with",
}
"""Label of each kind of options in the list of formats."""


def formats(
    name: Annotated[str, format_argument("One format; default: all.", *FORMATS, *CONTAINERS)] = "",
    json: Json = False,
) -> int:
    """List the formats: specification, file names, magic, operations and options.

    Examples:
        shardcore formats
        shardcore formats des --json
    """
    found = (format_of(name),) if name else all_formats()
    if json:
        for one in found:
            print_json(format_json(one))
        return 0
    for one in found:
        print_line(f"{one.name}: {one.title}")
        for label, text in _rows(one):
            print_line(f"  {label:<13}  {text}")
    if not name:
        print_line(f"Also opened, as files or inside a shard: {', '.join(CONTAINERS)}")
    return 0


def help(
    topic: Annotated[
        str,
        typer.Argument(metavar="COMMAND|remote", help="A command; remote: the options for S3, Google Cloud and HTTP."),
    ] = "",
) -> int:
    """Print the help of a command, or the options for remote files.

    Examples:
        shardcore help verify
        shardcore help remote
    """
    from shardcore.cli.program import help_panels, loaded, run

    if topic != "remote":
        return run([*filter(None, [topic]), "--help"])
    context = loaded("info").make_context("info", ["URI"])
    formatter = context.make_formatter()
    with formatter.section("Options for remote files, in every command that opens or writes an address"):
        formatter.write_dl(help_panels(context.command, context)[REMOTE_PANEL])
    for line in formatter.getvalue().splitlines():
        print_line(line)
    return 0


def format_json(one: Format) -> dict[str, Any]:
    return {
        "format": one.name,
        "title": one.title,
        "specification": one.specification or None,
        "suffixes": list(one.suffixes),
        "magic": [magic.hex() for magic in (*one.begins, *one.marks)],
        "data_set": one.open_folder is not None,
        "writes": [] if one.writes is None else _targets(one),
        "edits": list(one.edits),
        "verifies": [depth.value for depth in Depth],
        "locates": one.locate is not None,
        "options": [
            {
                "name": option.name,
                "purpose": option.purpose.value,
                "type": option.type.value,
                "choices": list(option.choices),
                "help": option.help,
            }
            for purpose in _OPTIONS
            for option in _shown(one, purpose)
        ],
    }


def _rows(one: Format) -> Iterator[tuple[str, str]]:
    if one.specification:
        yield "specification", one.specification
    magic = " or ".join(visible(mark.decode("latin-1")) for mark in (*one.begins, *one.marks))
    names = ", ".join(f"*{suffix}" for suffix in one.suffixes)
    yield "files", f"{names}; magic {magic}" if magic else f"{names}; no magic"
    yield "data set", "yes, in a folder" if one.open_folder is not None else "no"
    work = ["read", "verify"]
    if one.writes is not None:
        work.append(f"write a {' or a '.join(_targets(one))}")
    if one.locate is not None:
        work.append("locate")
    yield "operations", ", ".join((*work, *one.edits))
    for purpose, label in _OPTIONS.items():
        if options := _shown(one, purpose):
            yield label, ", ".join(option.name for option in options)


def _targets(one: Format) -> list[str]:
    assert one.writes is not None
    return [name for name, there in (("file", one.writes.file), ("folder", one.writes.folder)) if there]


def _shown(one: Format, purpose: OptionPurpose) -> list[Option]:
    return [option for option in one.options_for(purpose) if not option.hidden or option.flag is not None]
