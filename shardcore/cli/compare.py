"""The command that packs the same objects into every format, and says what each makes of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import Force, Json, one_of, only, progress_bar, size_from
from shardcore.cli.output import print_json, print_line, printable, warn, write_whole_to
from shardcore.errors import UsageError

if TYPE_CHECKING:
    from shardcore.teaching.comparison.comparison import Comparison


def compare(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="Files and folders; default: ten built-in objects."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-O",
            metavar="FORMAT.NAME=VALUE",
            help="An option of a format, such as des.codec=zstd; -O help lists the main ones.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", min=1, help="Use N objects; variants are added where there are fewer."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="BYTES", help="Size of each (1K, 1M); default: as it is.", parser=size_from),
    ] = None,
    codec: Annotated[
        str,
        typer.Option(
            "--codec",
            metavar="NAME",
            help="Codec of all formats that have it: none, zstd, or usual (the default of each); default: none.",
            autocompletion=one_of("none", "zstd", "usual"),
        ),
    ] = "none",
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write the table.")] = None,
    force: Force = False,
    json: Json = False,
) -> int:
    from shardcore.teaching.comparison.comparison import compare, to_csv, to_json
    from shardcore.teaching.comparison.contents import BUILT_IN, files_of

    if option == ["help"]:
        return _tell_dials()
    only("with --csv FILE", csv not in (None, "-"), force=force)
    contents = files_of(inputs) if inputs else BUILT_IN
    with progress_bar("comparing") as progress:
        found = compare(
            contents,
            count=count,
            size=size,
            options=_by_format(option),
            codec=codec,
            progress=progress,
        )
    if csv is not None:
        write_whole_to(csv, to_csv(found), force=force)
    if json:
        print_json(to_json(found))
    elif csv is None:
        _print_table(found)
    for note in (*found.notes, *(f"{row.format}: {note}" for row in found.rows for note in row.notes)):
        warn(note)
    return 0


def _by_format(option: list[str] | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in option or ():
        name, equals, value = one.partition("=")
        format, dot, inner = name.partition(".")
        if not (equals and dot and format and inner):
            raise UsageError(f"-O takes FORMAT.NAME=VALUE, not {one}")
        found.setdefault(format, {})[inner] = value
    return found


def _tell_dials() -> int:
    from shardcore.shards.registry import format_of, writes_of
    from shardcore.teaching.comparison.comparison import compared_formats

    for name in compared_formats():
        dial = writes_of(format_of(name)).dial
        if dial is None:
            print_line(f"{name}: no parameter changes much")
        else:
            print_line(f"{name}.{dial.name}  {dial.help} One of {', '.join(dial.values)}; default: {dial.usual}.")
    return 0


def _print_table(found: Comparison) -> None:
    from shardcore.teaching.comparison.comparison import HEADINGS, cells

    print_line(found.about)
    lines = [HEADINGS, *((row.format, *cells(row)) for row in found.rows)]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*HEADINGS[:-1], box=None, padding=(0, 2, 0, 0))
        for line in lines[1:]:
            table.add_row(*(Text(printable(text)) for text in line[:-1]))
        console = Console(file=sys.stdout, highlight=False)
        console.print(table)
        for line in lines[1:]:
            console.print(Text(printable(f"{line[0]}: {line[-1]}")))
        return
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEADINGS) - 1)]
    for line in lines:
        told = [text.ljust(width) for text, width in zip(line, widths, strict=False)]
        print_line("  ".join((*told, line[-1])))
