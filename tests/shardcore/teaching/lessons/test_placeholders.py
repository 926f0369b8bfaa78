"""Values in braces are read from the file; what is not in it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore import Span
from shardcore.teaching.lessons.answers import Given, judged
from shardcore.teaching.lessons.lesson import Answer, Question
from shardcore.teaching.lessons.placeholders import LessonScene, NotHereError

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@pytest.fixture
def scene(data: Path) -> Iterator[LessonScene]:
    """A lookup in a small shard."""
    with shardcore.open(data / "swh/small.shard") as shard:
        yield LessonScene(shard, KEY, shard.trace(KEY))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{key}", KEY),
        ("{value of header/objects_count} of {count of objects}", "12 of 13"),
        ("{start of index}..{stop of index/[3]}", "4465..4625"),
        ("{slot in The slot}", "12"),
        ("{value of index/slot {slot in The slot}/key}", KEY),
        ("{= {start of index} + 40 * {slot in The slot}}", "4945"),
        ("{n in Bucket, *}", "13"),
        ("{size of file}", "5064"),
    ],
)
def test_braces_are_filled(scene: LessonScene, text: str, filled: str) -> None:
    """Nodes by their paths, values of the lookup by their step, sums; braces may stand in braces."""
    assert scene.fill(text) == filled


@pytest.mark.parametrize("text", ["{value of header/nothing}", "{nothing in The slot}", "{a in No step}", "{what}"])
def test_what_is_not_in_the_file_is_told(scene: LessonScene, text: str) -> None:
    """On another file a step may have nothing to say; it says what is not there."""
    with pytest.raises(NotHereError, match=r"has no|unknown value"):
        scene.fill(text)


def test_a_value_is_no_markup(scene: LessonScene) -> None:
    """A key that looks like a picture is shown as it is written."""
    odd = LessonScene(scene.shard, "![x](file:///etc/passwd) `")
    assert "![" not in odd.prose("key {key}")
    assert odd.prose("`{key}`").count("`") == 2
    assert odd.fill("{key}") == odd.key
    assert scene.prose("`{key}`") == f"`{KEY}`", "it can be copied"


def test_numbers_count_as_people_type_them(scene: LessonScene) -> None:
    """With commas, in hexadecimal; a known mistake has its own sentence."""
    question = Question("?", Answer.NUMBER, "{start of index}", wrong=(("512", "those are the objects"), ("", "no")))
    assert all(judged(question, Given(text), scene).right for text in ("4465", " 4,465 ", "0x1171"))
    assert judged(question, Given("512"), scene).text == "those are the objects"
    assert judged(question, Given("1"), scene).text == "no"


def test_any_byte_of_a_node_is_an_answer(scene: LessonScene) -> None:
    """A click on one of its bytes, or all of them selected; bytes of another source are others."""
    question = Question("?", Answer.NODE, "header/version")
    assert judged(question, Given(span=Span("", 39, 40)), scene).right
    assert judged(question, Given(span=Span("", 32, 40)), scene).right
    for span in (Span("", 31, 33), Span("", 40, 40), Span("@0-100", 33, 34)):
        assert not judged(question, Given(span=span), scene).right
    part = Question("?", Answer.NODE, "{start of header/version}..34")
    assert [judged(part, Given(span=Span("", at, at + 1)), scene).right for at in (31, 32, 33, 34)] == [0, 1, 1, 0]
