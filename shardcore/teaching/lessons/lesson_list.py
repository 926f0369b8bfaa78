"""Finding the lessons that are included in the program, and reading lessons of the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shardcore.dataclasses import replace
from shardcore.errors import SourceError
from shardcore.sources.base import check_name
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson import MOST_LETTERS, Lesson, LessonError, line_of_fact, parse

FOLDER = "lessons"
MISSIONS = "missions"
NOTES = ".notes.md"


def lessons() -> tuple[Lesson, ...]:
    """Return the lessons of the program, each after the lessons that it needs."""
    return in_order(tuple(map(read_lesson, lesson_texts(resource_paths.resources() / FOLDER))))


def missions() -> tuple[Lesson, ...]:
    """Return the missions of the program, whose names begin with `mission-`."""
    found = map(read_lesson, lesson_texts(resource_paths.resources() / MISSIONS))
    return tuple(replace(one, name=f"mission-{one.name}") for one in found)


def lesson_texts(folder: Path) -> list[Path]:
    texts = [path for path in folder.glob("*.md") if not path.name.endswith(NOTES) and path.name != "README.md"]
    return sorted(texts)


def in_order(found: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """Sort lessons so that each comes after the lessons in its `needs`.

    Raises:
        LessonError: A needed lesson does not exist, or the dependencies form a cycle.
    """
    by_name = {one.name: one for one in found}
    placed: dict[str, Lesson] = {}

    def place(one: Lesson, below: tuple[str, ...]) -> None:
        if one.name in below:
            raise LessonError(f"circular dependency: {', '.join((*below[below.index(one.name) :], one.name))}", 1)
        for need in one.needs:
            if need not in by_name:
                raise LessonError(f"lesson {one.name} needs the lesson {need}, which does not exist", 1)
            if need not in placed:
                place(by_name[need], (*below, one.name))
        placed.setdefault(one.name, one)

    for one in found:
        place(one, ())
    return tuple(placed.values())


def notes_of(lesson: Lesson) -> str:
    if lesson.path is None:
        return ""
    try:
        with lesson.path.with_name(f"{lesson.path.stem}{NOTES}").open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_LETTERS)
    except OSError:
        return ""


def read_lesson(path: Path) -> Lesson:
    """Parse a lesson file; a sample in its folder takes precedence over a sample of the program.

    Raises:
        LessonError: Syntax error, or the sample is absolute, outside the folder or missing.
        OSError: The file cannot be read.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise LessonError("the file is not UTF-8 text", 1) from error
    lesson = replace(parse(text, path.stem), path=path.absolute())
    if Path(lesson.sample).is_absolute() or ".." in Path(lesson.sample).parts:
        line = line_of_fact(text.splitlines(), "sample")
        raise LessonError("a sample must be a path relative to this folder, without `..`", line)
    beside = path.parent / lesson.sample
    if lesson.sample and beside.exists():
        return replace(lesson, sample=str(beside.absolute()))
    if lesson.sample and not (resource_paths.resources() / "samples" / lesson.sample).exists():
        line = line_of_fact(text.splitlines(), "sample")
        raise LessonError(f"{lesson.sample} not found in the folder of the lesson or among the samples", line)
    return lesson


def lessons_of(format: str) -> tuple[Lesson, ...]:
    return tuple(lesson for lesson in lessons() if lesson.format == format)


def sample_key(lesson: Lesson) -> str:
    """Return the key of the lesson's sample that has the role `lesson.key`; empty if there is none."""
    place = resource_paths.resources() / "samples" / lesson.sample
    keys = [key for sample in resource_paths.samples() if sample.path == place for key in sample.keys]
    return next((key.key for key in keys if key.role.value == lesson.key), "")


def beside(lesson: Lesson, link: str) -> Path | None:
    """Return the file of a link in the lesson's folder; None if it is outside that folder, even by symbolic links."""
    if lesson.path is None or not link:
        return None
    try:
        found = lesson.path.parent / check_name(link)
        inside = found.resolve().is_relative_to(lesson.path.parent.resolve())
        return found if inside and found.is_file() else None
    except (OSError, SourceError):
        return None
