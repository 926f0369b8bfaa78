"""Files that are built by hand: what is missing next, until readers accept them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched import Change, PatchedSource
from shardcore.teaching.build import building_options, new_file, next_missing
from shardcore.teaching.lessons.answers import Given, judged, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, built_before
from shardcore.teaching.lessons.library import lessons
from shardcore.teaching.lessons.stage import staged

LESSONS = {lesson.format: lesson for lesson in lessons() if lesson.name.endswith("-build-one")}


def built(lesson: Lesson) -> bytes:
    """The file that the steps of a lesson build."""
    data = b""
    for offset, part in built_before(lesson, len(lesson.steps)):
        assert offset == len(data)
        data += part
    return data


def missing(data: bytes, format: str) -> tuple[int, str]:
    """Sentence on the next missing part of a file; empty where the reader accepts it."""
    with shardcore.open(data, format=format, partial=True, **building_options(format)) as shard:
        found = next_missing(shard)
    return (found.offset, found.text) if found is not None else (-1, "")


@pytest.mark.parametrize("format", LESSONS)
def test_each_byte_of_a_file_is_asked_for_until_it_is_complete(format: str) -> None:
    """Whatever is typed so far, the next byte is named with its offset; the whole file is accepted."""
    data = built(LESSONS[format])
    for size in range(len(data)):
        at, text = missing(data[:size], format)
        assert at == size
        assert re.search(rf"needs \d+ bytes?: byte {size:#x}\b.* is next", text)
    assert missing(data, format) == (-1, "")


def test_the_fields_are_those_of_the_layout() -> None:
    """The sentence has the name of the record and the field, and what the field is."""
    assert missing(b"blpk", "bloscpack") == (
        4,
        "The header needs 32 bytes: byte 0x4, `format_version`, is next. 3 in this layout.",
    )
    assert missing(b"blpk\3\1\0\1\4", "bloscpack")[1].startswith(
        "The header needs 32 bytes: byte 0x9 is next, of the last 3 bytes of `chunk_size`, the lowest first."
    )
    text = missing(bytes([11, *bytes(7), 59, *bytes(23)]) + bytes(11), "neuroglancer")[1]
    assert "`chunk_ids`, is next: 16 bytes, numbers of 8, the lowest first." in text


@pytest.mark.parametrize("format", LESSONS)
def test_wrong_bytes_are_told_with_their_offset(format: str) -> None:
    """A byte of a magic, an offset, a size: no file with one of them wrong is accepted."""
    data = built(LESSONS[format])
    places = {"bloscpack": (0, 4, 32, 60), "neuroglancer": (0, 24, 43, 75)}[format]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 0xFF
        assert missing(bytes(changed), format)[1], place


@pytest.mark.parametrize("format", LESSONS)
def test_a_lesson_judges_what_is_in_the_file(format: str, tmp_path: Path) -> None:
    """Each step is wrong before its bytes are there, says what is missing, and is right with them."""
    lesson = LESSONS[format]
    path, numbers = new_file(format, tmp_path), list[int]()
    for number, step in enumerate(lesson.steps):
        assert step.question is not None
        for written in built_before(lesson, number), built_before(lesson, number + 1):
            changes = [Change.overwrite(*part) for part in written]
            source = PatchedSource(BytesSource(path.read_bytes(), path.name), changes)
            with shardcore.open(source, format=format, partial=True, **building_options(format)) as shard:
                stage = staged(lesson, number, shard, "")
                assert not stage.missing
                assert stage.question is not None
                if stage.question.kind is Answer.BYTES:
                    verdict = judged(stage.question, Given(), stage.scene)
                    assert verdict.right is (written == built_before(lesson, number + 1))
                    assert verdict.right or f"byte {source.size:#x}" in verdict.text
                else:
                    numbers.append(int(solution(stage.question, stage.scene).text))
    assert set(numbers) == {"bloscpack": {len("SHARDED")}, "neuroglancer": {9 % 2, 32 + len("two")}}[format]


def test_only_an_empty_file_grows() -> None:
    """Over an empty source bytes follow the last one; over any other nothing is written past the end."""
    source = PatchedSource(BytesSource(b""), [Change.overwrite(0, b"abc"), Change.overwrite(2, b"xyz")])
    assert source.read(0, source.size) == b"abxyz"
    assert source.new_ranges == ((0, 5),)
    cut = PatchedSource(BytesSource(b""), [*source.changes, Change.cut(1, 3), Change.overwrite(3, b"!")])
    assert cut.read(0, cut.size) == b"ayz!"
    with pytest.raises(UsageError):
        PatchedSource(BytesSource(b"a"), [Change.overwrite(1, b"b")])
    with pytest.raises(UsageError):
        PatchedSource(BytesSource(b""), [Change.overwrite(1, b"b")])
