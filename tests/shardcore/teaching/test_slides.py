"""Slides of lectures: sentences one at a time, walks stage by stage, questions before their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.model.drawing import Drawing, Item, Link, Ruler
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson_list import lessons, sample_key
from shardcore.teaching.lessons.lesson_step import staged
from shardcore.teaching.slides import Slide, lesson_slide, section_slides, sentences, trace_slides
from shardcore.testing import FULL

KEY = "a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda"


def test_one_sentence_at_a_time() -> None:
    """A text is told sentence by sentence; a number with a point, and an entry of a list, are not cut."""
    text = "The **first** is 1.5. So\nit goes: on. `Code` follows.\n\n- one. Two\n- three"
    assert sentences(text) == ("The **first** is 1.5.", "So it goes: on.", "`Code` follows.", "- one. Two", "- three")
    assert sentences("") == ()


def test_stages_of_a_drawing() -> None:
    """The sentence of a stage is that of its arrow, or of its first item; an arrow comes no earlier than its ends."""
    one, two = Item("a", name="a"), Item("b", at=1, name="b", stage=1, doc="To b.")
    items = (one, two, Item("c", at=2, stage=2, doc="C."))
    drawing = Drawing("", (Ruler("", 0, 3, items),), (Link("a", "b", doc="Jump.", stage=1),))
    assert drawing.stages == ("Jump.", "C.")
    assert drawing.stage_of(Link("a", "b")) == 1
    with pytest.raises(ValueError, match="no sentence"):
        Drawing("", (Ruler("", 0, 3, (Item("c", stage=2, doc="C."),)),))


def test_a_lookup_step_by_step(data: Path) -> None:
    """Each step is a slide; a walk comes before the sentence that tells where it ends, and nothing else is drawn."""
    with shardcore.open(str(data / "swh" / "small.shard")) as shard:
        trace = shard.trace(KEY)
    slides = trace_slides(trace)
    assert [slide.title for slide in slides] == [step.title for step in trace.steps]
    walk = next(slide for slide in slides if slide.title == "The slot")
    stages = walk.drawing.stages
    assert [beat.stage for beat in walk.beats] == [0, *range(1, len(stages) + 1), None, None]
    assert "slot 4" in stages[-1]
    assert "= 4" in walk.beats[-2].text
    assert all(not slide.drawing.title and not slide.drawing.caption for slide in slides if slide.drawing is not None)


WALKS = {
    "swh/small.shard": (KEY, "The slot", 5),
    "des/archive": ("2090", "Walk", 6),
    "mdb/cache/b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb": (
        "2e23645bee32feaf2bf292076f8d0aedc232ec2e282fd42e494587d50bc29c67",
        "Search the file lookup table",
        3,
    ),
    "neuroglancer/worked": ("9", "Keys", 2),
    "neuroglancer/volume": ("3", "Meaning", 4),
    "xorb/chunks.xorb": ("3", "Locate the record", 4),
}


def test_every_format_walks() -> None:
    """Jumps, walks, halves, sums and curves have a stage each, and the last one shows the result of the lookup."""
    for place, (key, title, count) in WALKS.items():
        with shardcore.open(str(resource_paths.resources() / "samples" / place)) as shard:
            step = next(step for step in shard.trace(key).steps if step.title == title)
        assert len(step.drawing.stages) == count, place
        assert len(set(step.drawing.stages)) == count, place


def test_sections_one_by_one(data: Path) -> None:
    """Without lesson and lookup each section is a slide, with its sentence and its bytes; of a folder, each member."""
    with shardcore.open(str(data / "swh" / "small.shard")) as shard:
        slides = section_slides(shard)
        assert [slide.title for slide in slides] == [section.name for section in shard.sections if section.size]
        assert [slide.spans[0].size for slide in slides] == [section.size for section in shard.sections if section.size]
        assert slides[0].beats[0].text.startswith("Contains the offsets of the sections")
    with shardcore.open(str(resource_paths.resources() / "samples" / "des" / "archive")) as archive:
        assert section_slides(archive)[0].title == "20260105_2A_0000.des"


def test_fields_are_beside_each_other(data: Path) -> None:
    """Short fields are columns of one row; long ones are below each other."""
    with shardcore.open(str(data / "swh" / "small.shard")) as shard:
        drawn = {slide.title: slide.drawing for slide in section_slides(shard) if slide.drawing is not None}
    wide, high = drawn["header"].figures[0], drawn["index"].figures[0]
    assert (len(wide.rows), wide.headings[:2]) == (1, ("magic", "version"))
    assert (len(high.rows), high.headings) == (6, ("name", "value"))


def _slides(number: int) -> list[Slide]:
    lesson = lessons()[number]
    found = []
    with shardcore.open(str(resource_paths.resources() / "samples" / lesson.sample)) as shard:
        for at in range(len(lesson.steps)):
            if any(step.fresh is not None for step in lesson.steps[: at + 1]):
                break
            found.append(lesson_slide(staged(lesson, at, shard, sample_key(lesson))))
    return found


@pytest.mark.thorough
def test_questions_before_answers() -> None:
    """In every lesson each slide has a drawing and its sentences; a question is a beat, and its answer the last one."""
    for number in range(len(lessons())) if FULL else (0, 1):
        for slide in _slides(number):
            assert slide.drawing is not None, slide.title
            assert all(beat.text for beat in slide.beats), slide.title
            asked = [at for at, beat in enumerate(slide.beats) if beat.asks]
            if asked:
                stages = [beat for beat in slide.beats if beat.stage]
                assert asked == [len(slide.beats) - 2 - len(stages)], slide.title


def test_an_answer_is_drawn_at_its_step() -> None:
    number = [lesson.name for lesson in lessons()].index("neuroglancer-1-meet-the-file")
    assert "found" in {item.name for item in _slides(number)[4].beats[-1].drawing.items}
