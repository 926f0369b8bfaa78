"""The command for lessons: install, list, remove, export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import Force, Json, one_of, only
from shardcore.cli.output import print_json, print_line, warn, write_text_to
from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.model.number_words import plural
from shardcore.model.text import short

if TYPE_CHECKING:
    from shardcore.teaching.lessons.lesson import Lesson
    from shardcore.teaching.lessons.packs import LessonPack


_TAKES = {
    "list": (0, "lesson list"),
    "install": (1, "lesson install FOLDER|ZIP"),
    "remove": (1, "lesson remove PACK"),
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
            help="install: a folder or zip; remove: a pack; export: a lesson (its name, its file, or `all`), and OUT.",
            show_default=False,
        ),
    ] = None,
    solutions: Annotated[bool, typer.Option("--solutions", help="export: hints and answers are unfolded.")] = False,
    without_answers: Annotated[
        bool, typer.Option("--without-answers", help="export: leave out hints and answers.")
    ] = False,
    notes: Annotated[bool, typer.Option("--notes", help="export: begin with the notes for instructors.")] = False,
    force: Force = False,
    json: Json = False,
) -> int:
    """List lessons and missions, install and remove packs of them, export one as an HTML page.

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
    only("with lesson export", exports, solutions=solutions, without_answers=without_answers, notes=notes)
    only("with lesson list and install", action in ("list", "install"), json=json)
    only("with lesson install and export", exports or action == "install", force=force)
    if action == "list":
        _list(json=json)
    elif action == "install":
        from shardcore.teaching.lessons.packs import install

        _tell_pack(install(Path(given[0]), replaced=force), json=json)
    elif action == "remove":
        from shardcore.teaching.lessons.packs import remove

        remove(given[0])
    else:
        if solutions and without_answers:
            raise UsageError("--solutions and --without-answers exclude each other")
        answers = "open" if solutions else "none" if without_answers else "folded"
        _export(given[0], given[1], answers, notes=notes, force=force)
    return 0


def _list(*, json: bool) -> None:
    from shardcore.teaching.lessons.library import lessons, missions
    from shardcore.teaching.lessons.packs import packs

    own, found = (*lessons(), *missions()), packs()
    if json:
        print_json({"lessons": list(map(_lesson_json, own)), "packs": list(map(_pack_json, found))})
        return
    for one in own:
        _tell_lesson(one)
    for pack in found:
        _tell_pack(pack, json=False)


def _tell_pack(pack: LessonPack, *, json: bool) -> None:
    if json:
        print_json(_pack_json(pack))
        return
    print_line(f"{pack.name}: {pack.title}, {plural(len(pack.lessons), 'lesson')}, from {pack.origin or 'unknown'}")
    for one in pack.lessons:
        _tell_lesson(one, "  ")
    if pack.problem:
        warn(f"{pack.name}: {pack.problem}")


def _tell_lesson(one: Lesson, indent: str = "") -> None:
    after = f" (after: {', '.join(one.needs)})" if one.needs else ""
    print_line(f"{indent}{one.name}: {one.title}, {one.minutes} min{after}")


def _lesson_json(one: Lesson) -> dict[str, Any]:
    about = {"name": one.name, "title": one.title, "about": one.about, "format": one.format or None}
    return about | {"minutes": one.minutes, "steps": len(one.steps), "needs": list(one.needs)}


def _pack_json(pack: LessonPack) -> dict[str, Any]:
    about = {"name": pack.name, "title": pack.title, "origin": pack.origin, "problem": pack.problem or None}
    return about | {"lessons": list(map(_lesson_json, pack.lessons))}


def _export(name: str, target: str, answers: str, *, notes: bool, force: bool) -> None:
    from shardcore.teaching.lessons.page import PageAnswers, lesson_page
    from shardcore.writing.temporary import write_whole

    found = _found(name)
    folder = Path(target) if name == "all" or target.endswith(("/", "\\")) or Path(target).is_dir() else None
    for one in found:
        page = lesson_page(one, answers=PageAnswers(answers), notes=notes)
        if target == "-" and folder is None:
            write_text_to(target, page)
            continue
        if folder is not None:
            _make_folder(folder)
        stem = one.path.stem if one.path is not None else re.sub(r"[^\w.-]", "_", one.name)
        out = folder / f"{stem}.html" if folder is not None else Path(target)
        write_whole(out, [page.encode()], force=force)
        print_line(f"{out}: {one.title}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot create {folder}: {reason_of(error)}") from error


def _found(name: str) -> tuple[Lesson, ...]:
    """Return a lesson by its name or its file, those of a pack, or all that come with the program."""
    from shardcore.teaching.lessons.lesson import LessonError
    from shardcore.teaching.lessons.library import lessons, missions, read_lesson
    from shardcore.teaching.lessons.packs import packs

    if name == "all":
        return (*lessons(), *missions())
    if name.endswith(".md"):
        try:
            return (read_lesson(Path(name)),)
        except LessonError as error:
            raise UsageError(f"{name} is not a lesson: {error}") from error
        except OSError as error:
            raise SourceError(f"cannot read {name}: {reason_of(error)}") from error
    there = [*lessons(), *missions(), *(one for pack in packs() for one in pack.lessons)]
    found = [one for one in there if one.name == name]
    if not found:
        raise UsageError(f"unknown lesson {short(name)}; see shardcore lesson list")
    return tuple(found)
