"""Commands that write: pack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shardcore
from shardcore.cli.options import Force, Json, format_options, progress_bar
from shardcore.cli.output import print_json, print_line, tell_json, tell_line
from shardcore.errors import SourceError
from shardcore.progress import Progress
from shardcore.words import plural

if TYPE_CHECKING:
    from shardcore.writing.plan import Plan, PlannedFile
    from shardcore.writing.writer import Writer


def pack(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="The format to write.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The shard to write.", show_default=False)],
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Files, folders; - reads names from standard input."),
    ],
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be written, and write nothing.")] = False,
    option: Annotated[
        list[str] | None, typer.Option("-O", metavar="NAME=VALUE", help="An option of the format, such as seed=1.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> int:
    """Pack files into a new shard; it appears when it is complete."""
    files = list(_input_files(inputs))
    options = format_options(option)
    from shardcore.writing.output import taken

    if plan and os.path.lexists(out) and not force:
        raise taken(out)
    with (
        shardcore.create(None if plan else out, format=format_name, force=force, **options) as writer,
        progress_bar("packing") as progress,
    ):
        _add_files(writer, files, progress)
        if plan:
            _print_plan(writer.plan(), out, as_json=json)
    for written in writer.written:
        line = {
            "path": str(written.path),
            "objects": written.objects,
            "size": written.size,
            "sha256": written.sha256,
        }
        if json:
            tell_json(line)
        else:
            tell_line("  ".join(str(value) for value in line.values()))
    return 0


COMMANDS = (pack,)


def _input_files(inputs: list[str]) -> Iterator[Path]:
    """The files named, those in folders sorted by name.

    Raises:
        SourceError: A name is neither a file nor a folder.
    """
    for name in inputs:
        if name == "-":
            yield from _input_files([line for line in sys.stdin.read().splitlines() if line])
            continue
        path = Path(name)
        # Path.is_dir and is_file raise for names that are too long, and where looking is not allowed.
        if os.path.isdir(path):  # noqa: PTH112
            yield from sorted(inner for inner in path.rglob("*") if inner.is_file() and not inner.is_symlink())
        elif os.path.isfile(path):  # noqa: PTH113
            yield path
        else:
            there = os.path.exists(path)  # noqa: PTH110
            raise SourceError(f"{path} is not a regular file" if there else f"there is no file {path}")


def _add_files(writer: Writer, files: list[Path], progress: Progress) -> None:
    for number, path in enumerate(files):
        progress(number, len(files))
        try:
            with path.open("rb") as stream:
                writer.add(None, stream, label=str(path))
        except OSError as error:
            raise SourceError(f"cannot read {path}: {error.strerror}") from error


def _print_plan(plan: Plan, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"files": [_planned_json(file, out) for file in plan.files]})
        return
    for file in plan.files:
        print_line(f"{_planned_path(file, out)}: {plural(file.size, 'byte')}, {plural(len(file.objects), 'object')}")
        for section in file.sections:
            print_line(f"  {section.name:<16} {section.start:>14} .. {section.stop}")
        for size, key in zip(file.objects[:].size.tolist(), file.objects.keys[:], strict=True):
            print_line(f"  {size:>12}  {key}")


def _planned_path(file: PlannedFile, out: Path) -> str:
    return str(out.parent / (file.name or out.name))


def _planned_json(file: PlannedFile, out: Path) -> dict[str, Any]:
    columns = file.objects[:]
    places = zip(columns.size.tolist(), columns.start.tolist(), columns.stop.tolist(), strict=True)
    objects = [
        {"key": key, "size": size, "start": start if start >= 0 else None, "stop": stop if stop >= 0 else None}
        for key, (size, start, stop) in zip(file.objects.keys[:], places, strict=True)
    ]
    sections = [{"name": s.name, "role": s.role.value, "start": s.start, "stop": s.stop} for s in file.sections]
    return {"path": _planned_path(file, out), "size": file.size, "sections": sections, "objects": objects}
