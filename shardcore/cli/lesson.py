"""Command `lesson`, which lists lessons or exports them as HTML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import Force, Json, one_of, only
from shardcore.cli.output import print_json, print_line, write_text_to
from shardcore.errors import UsageError, reported_as
from shardcore.model.text import plural, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardcore.teaching.lessons.lesson import Lesson


_TAKES = {
    "list": (0, "lesson list"),
    "export": (2, "lesson export NAME|FILE OUT.html|FOLDER"),
}


def lesson(
    action: Annotated[
        str,
        typer.Argument(metavar="|".join(_TAKES), help="The action.", autocompletion=one_of(*_TAKES)),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="For export: name or file of a lesson, or `all`; then OUT.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> int:
    """List lessons and missions with their numbers of steps, or export one as an HTML page.

    Examples:
        shardcore lesson list
        shardcore lesson export swh-2-find-a-key lesson.html
    """
    if action not in _TAKES:
        raise UsageError(f"the action must be one of {', '.join(_TAKES)}, not {short(action)}")
    given, (count, usage) = list(names or ()), _TAKES[action]
    if len(given) != count:
        raise UsageError(f"usage: shardcore {usage}")
    exports = action == "export"
    only("with lesson list", not exports, json=json)
    only("with lesson export", exports, force=force)
    if action == "list":
        _list(json=json)
    else:
        _export(given[0], given[1], force=force)
    return 0


def _list(*, json: bool) -> None:
    from shardcore.teaching.lessons.lesson_list import lessons, missions

    own = (*lessons(), *missions())
    total = {name: sum(one.counts[name] for one in own) for name in own[0].counts}
    if json:
        print_json({"lessons": list(map(_lesson_json, own)), "total": total})
        return
    for one in own:
        after = f" (after: {', '.join(one.needs)})" if one.needs else ""
        print_line(f"{one.name}: {one.title}, {_counted(one.counts)}{after}")
    print_line(f"{len(own)} lessons and missions: {_counted(total)}")


def _counted(counts: Mapping[str, int]) -> str:
    names = ("step", "question", "picture", "click", "number")
    return ", ".join([*(plural(counts[f"{name}s"], name) for name in names), f"{counts['minutes']} min"])


def _lesson_json(one: Lesson) -> dict[str, Any]:
    about = {"name": one.name, "title": one.title, "about": one.about, "format": one.format or None}
    return about | one.counts | {"needs": list(one.needs)}


def _export(name: str, target: str, *, force: bool) -> None:
    from shardcore.teaching.lessons.html_page import lesson_page
    from shardcore.writing.temporary import write_whole

    found = _found(name)
    folder = Path(target) if name == "all" or target.endswith(("/", "\\")) or Path(target).is_dir() else None
    for one in found:
        page = lesson_page(one)
        if target == "-" and folder is None:
            write_text_to(target, page)
            continue
        if folder is not None:
            with reported_as(f"cannot create {folder}"):
                folder.mkdir(parents=True, exist_ok=True)
        stem = one.path.stem if one.path is not None else re.sub(r"[^\w.-]", "_", one.name)
        out = folder / f"{stem}.html" if folder is not None else Path(target)
        write_whole(out, [page.encode()], force=force)
        print_line(f"{out}: {one.title}")


def _found(name: str) -> tuple[Lesson, ...]:
    from shardcore.teaching.lessons.lesson import LessonError
    from shardcore.teaching.lessons.lesson_list import lessons, missions, read_lesson

    if name == "all":
        return (*lessons(), *missions())
    if name.endswith(".md"):
        try:
            with reported_as(f"cannot read {name}"):
                return (read_lesson(Path(name)),)
        except LessonError as error:
            raise UsageError(f"{name} is not a lesson: {error}") from error
    found = [one for one in (*lessons(), *missions()) if one.name == name]
    if not found:
        raise UsageError(f"unknown lesson {short(name)}; see shardcore lesson list")
    return tuple(found)
