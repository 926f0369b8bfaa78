"""Man pages, written from the help of the commands: by `make man` into a folder, and into every wheel that is built."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHARED = "verify"
"""A command that has all groups of options that commands share."""

Rows = list[tuple[str, str]]


def write_pages(folder: Path) -> tuple[Path, ...]:
    """Write the pages into a folder; return their files."""
    pages = {"shardcore.1": shardcore_page(), "shardscope.1": shardscope_page()}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="ascii")
    return tuple(folder / name for name in pages)


def roff(text: str) -> str:
    """Return a text as roff shows it: ASCII, with no request in it."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    text = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


def shardcore_page() -> str:
    """Return the page of `shardcore`."""
    import typer

    from shardcore.cli.program import app, loaded

    group: Any = typer.main.get_command(app)
    lines = [*_head("shardcore", group.help), ".SH SYNOPSIS", ".B shardcore", "[OPTIONS] COMMAND [ARGS]..."]
    lines += [".SH DESCRIPTION", roff(group.help), ".SH OPTIONS"]
    lines += _entries(_panels(group)["Options"])
    shared = _panels(loaded(SHARED))
    groups = {name: rows for name, rows in shared.items() if name not in ("Arguments", "Options")}
    lines.append(".SH COMMANDS")
    for name in group.commands:
        lines += _command(name, loaded(name), groups)
    for name, rows in groups.items():
        lines += [f".SH OPTIONS: {name.upper()}", *_entries(rows)]
    codes = group.epilog.removeprefix("Exit codes: ").rstrip(".").split("; ")
    lines += [".SH EXIT STATUS", *_entries([tuple(one.split(" ", 1)) for one in codes])]  # type: ignore[misc]
    lines += [".SH SEE ALSO", ".BR shardscope (1)"]
    return "\n".join(lines) + "\n"


def shardscope_page() -> str:
    """Return the page of `shardscope`."""
    from shardscope.__main__ import parser

    made = parser()
    about = str(made.description)
    lines = [*_head("shardscope", about), ".SH SYNOPSIS", ".B shardscope", "[OPTIONS] [URI]..."]
    lines += [".SH DESCRIPTION", roff(about)]
    for title, rows in _groups(made):
        lines += [f".SH {title.upper()}", *_entries(rows)]
    lines += [".SH SEE ALSO", ".BR shardcore (1)"]
    return "\n".join(lines) + "\n"


def _head(name: str, about: str) -> list[str]:
    import shardcore

    title = f'.TH {name.upper()} 1 "" "Shardscope {shardcore.__version__}" "User Commands"'
    return [title, ".SH NAME", f"{name} \\- {roff(about[0].lower() + about[1:].rstrip('.'))}"]


def _panels(command: Any) -> dict[str, Rows]:
    """Return the arguments and options of a command, by the titles of its help."""
    from shardcore.cli.program import help_panels

    return help_panels(command, _context(command))


def _context(command: Any) -> Any:
    return command.context_class(command, info_name=command.name, **command.context_settings)


def _command(name: str, command: Any, groups: dict[str, Rows]) -> Iterator[str]:
    yield f".SS shardcore {name} {roff(' '.join(command.collect_usage_pieces(_context(command))))}"
    for number, paragraph in enumerate(command.help.split("\n\n")):
        if number:
            yield ".PP"
        yield roff(paragraph)
    named = []
    for title, rows in _panels(command).items():
        if groups.get(title) == rows:
            named.append(title)
        else:
            yield from _entries([row for row in rows if not row[0].startswith("-h,")])
    if named:
        yield ".PP"
        yield f"Also the options of these groups: {', '.join(named)}."
    yield ".PP"
    yield "Examples:"
    yield ".PP"
    yield ".nf"
    yield ".RS"
    yield from map(roff, command.examples)
    yield ".RE"
    yield ".fi"


def _entries(rows: Rows) -> Iterator[str]:
    for name, text in rows:
        yield ".TP"
        yield f".B {roff(name)}"
        yield roff(text)


def _groups(made: ArgumentParser) -> Iterator[tuple[str, Rows]]:
    """Yield the titles and options of the groups of an `argparse` parser."""
    for group in made._action_groups:
        rows = []
        for one in group._group_actions:
            if one.help == SUPPRESS:
                continue
            value = "" if one.nargs == 0 else one.metavar or "|".join(one.choices or ()) or one.dest.upper()
            names = ", ".join(one.option_strings)
            rows.append((f"{names} {value}".strip(), (one.help or "").replace("%%", "%")))
        if rows:
            yield group.title or "", rows


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for path in write_pages(target):
        print(path)
