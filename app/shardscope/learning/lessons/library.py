"""The lessons that come with the program. No Qt here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shardscope.learning.lessons.lesson import Lesson, LessonError, line_of_fact, parse
from shardscope.startup import assets

FOLDER = "lessons"
MISSIONS = "missions"


def lessons() -> tuple[Lesson, ...]:
    """Return all lessons: first that about shards, then those of the formats, in the order of their names.

    Raises:
        AssetMissingError: The resources are not there.
        LessonError: A text is no lesson.
    """
    return tuple(read_lesson(path) for path in sorted((assets.resources() / FOLDER).glob("*.md")))


def missions() -> tuple[Lesson, ...]:
    """Return the missions: one on the damaged sample of each format, in the form of a lesson.

    Raises:
        AssetMissingError: The resources are not there.
        LessonError: A text is none.
    """
    found = sorted((assets.resources() / MISSIONS).glob("*.md"))
    return tuple(parse(path.read_text("utf-8"), f"mission-{path.stem}") for path in found)


def read_lesson(path: Path) -> Lesson:
    """Return the lesson in a file. Its sample may lie beside it, too.

    Raises:
        OSError: It cannot be read.
        LessonError: It is no lesson.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise LessonError("the file is no text in UTF-8", 1) from error
    lesson = parse(text, path.stem)
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
    """Return the lessons that teach a format, in order."""
    return tuple(lesson for lesson in lessons() if lesson.format == format)


def sample_key(lesson: Lesson) -> str:
    """Return the key of the lesson in its sample; empty where the sample names none.

    Raises:
        AssetMissingError: The resources are not there.
    """
    place = assets.resources() / "samples" / lesson.sample
    keys = [key for sample in assets.samples() if sample.path == place for key in sample.keys]
    return next((key.key for key in keys if key.role.value == lesson.key), "")
