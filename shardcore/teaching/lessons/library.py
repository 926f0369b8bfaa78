"""The lessons that come with the program. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shardcore.errors import SourceError
from shardcore.sources.base import check_name
from shardcore.teaching import assets
from shardcore.teaching.lessons.lesson import MOST_LETTERS, Lesson, LessonError, line_of_fact, parse

FOLDER = "lessons"
MISSIONS = "missions"
NOTES = ".notes.md"
"""Ending of the notes for instructors beside a lesson."""


def lessons() -> tuple[Lesson, ...]:
    """Return all lessons: first that about shards, then those of the formats, in the order of their names.

    Raises:
        AssetMissingError: The resources are not there.
        LessonError: A text is no lesson.
    """
    return in_order(tuple(map(read_lesson, lesson_texts(assets.resources() / FOLDER))))


def missions() -> tuple[Lesson, ...]:
    """Return the missions: one on the damaged sample of each format, in the form of a lesson.

    Raises:
        AssetMissingError: The resources are not there.
        LessonError: A text is none.
    """
    found = map(read_lesson, lesson_texts(assets.resources() / MISSIONS))
    return tuple(replace(one, name=f"mission-{one.name}") for one in found)


def lesson_texts(folder: Path) -> list[Path]:
    """Return the texts of lessons in a folder, by name: not the notes beside them, and not a description."""
    texts = [path for path in folder.glob("*.md") if not path.name.endswith(NOTES) and path.name != "README.md"]
    return sorted(texts)


def in_order(found: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """Return lessons in the order in which they are given, each after those that it needs.

    Args:
        found: The lessons.

    Raises:
        LessonError: A lesson that is needed does not exist, or lessons need each other.
    """
    by_name = {one.name: one for one in found}
    placed: dict[str, Lesson] = {}

    def place(one: Lesson, below: tuple[str, ...]) -> None:
        if one.name in below:
            raise LessonError(f"lessons need each other: {', '.join((*below[below.index(one.name) :], one.name))}", 1)
        for need in one.needs:
            if need not in by_name:
                raise LessonError(f"{one.name} needs {need}, which does not exist", 1)
            if need not in placed:
                place(by_name[need], (*below, one.name))
        placed.setdefault(one.name, one)

    for one in found:
        place(one, ())
    return tuple(placed.values())


def notes_of(lesson: Lesson) -> str:
    """Return the notes for instructors beside a lesson, in Markdown; empty where there are none."""
    if lesson.path is None:
        return ""
    try:
        with lesson.path.with_name(f"{lesson.path.stem}{NOTES}").open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_LETTERS)
    except OSError:
        return ""


def read_lesson(path: Path) -> Lesson:
    """Return the lesson in a file. Its sample may lie beside it, too.

    Raises:
        OSError: It cannot be read.
        LessonError: It is no lesson.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise LessonError("the file is not UTF-8 text", 1) from error
    lesson = replace(parse(text, path.stem), path=path.absolute())
    if Path(lesson.sample).is_absolute() or ".." in Path(lesson.sample).parts:
        line = line_of_fact(text.splitlines(), "sample")
        raise LessonError("a sample is named by its path below this folder: relative, and without `..`", line)
    beside = path.parent / lesson.sample
    if lesson.sample and beside.exists():
        return replace(lesson, sample=str(beside.absolute()))
    if lesson.sample and not (assets.resources() / "samples" / lesson.sample).exists():
        line = line_of_fact(text.splitlines(), "sample")
        raise LessonError(f"there is no {lesson.sample}, neither beside this text nor among the samples", line)
    return lesson


def lessons_of(format: str) -> tuple[Lesson, ...]:
    """Return the lessons that teach a format on any of its files, in order; not those that build a new one."""
    return tuple(lesson for lesson in lessons() if lesson.format == format and lesson.steps[0].fresh is None)


def sample_key(lesson: Lesson) -> str:
    """Return the key of the lesson in its sample; empty where the sample names none.

    Raises:
        AssetMissingError: The resources are not there.
    """
    place = assets.resources() / "samples" / lesson.sample
    keys = [key for sample in assets.samples() if sample.path == place for key in sample.keys]
    return next((key.key for key in keys if key.role.value == lesson.key), "")


def beside(lesson: Lesson, link: str) -> Path | None:
    """Return the file that a relative link of a lesson leads to; None where it leads elsewhere, or to no file.

    Args:
        lesson: The lesson.
        link: The link as it is written, without what comes after `#`.
    """
    if lesson.path is None or not link:
        return None
    try:
        found = lesson.path.parent / check_name(link)
        inside = found.resolve().is_relative_to(lesson.path.parent.resolve())
        return found if inside and found.is_file() else None
    except (OSError, SourceError):
        return None
