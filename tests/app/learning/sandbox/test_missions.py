"""Every mission is found on its damaged sample, answered by its own solution, and mended as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.operations.recover import salvage
from shardcore.shards.salvage import Condition
from shardcore.sources.local import FileSource
from shardcore.sources.patched_source import Change, PatchedSource
from shardcore.teaching import resource_paths
from shardcore.teaching.change_impact import Fate, before, compare
from shardcore.teaching.lessons.answers import Given, judged, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson
from shardcore.teaching.lessons.lesson_list import missions, sample_key
from shardcore.teaching.lessons.lesson_step import staged
from shardcore.teaching.lessons.placeholders import LessonScene

MISSIONS = missions()

FLIPS = {"swh": (5052, 0), "bloscpack": (726, 4), "mdb": (1764, 0), "neuroglancer": (331, 0)}
"""The byte and the bit that each mission has turned back; the others end with what can be saved."""


def sample_of(mission: Lesson) -> Path:
    """The damaged file."""
    return resource_paths.resources() / "samples" / mission.sample


@pytest.mark.parametrize("mission", MISSIONS, ids=lambda mission: mission.format)
def test_every_step_is_there_and_its_solution_is_right(mission: Lesson) -> None:
    """Texts are filled, nodes found; *Show me* is judged right, each wrong answer has words, and hints are there."""
    with shardcore.open(str(sample_of(mission)), partial=True) as shard:
        key = sample_key(mission)
        for number in range(len(mission.steps)):
            stage = staged(mission, number, shard, key)
            assert not stage.missing, f"{mission.name}, line {stage.step.line}: {stage.missing}"
            question = stage.question
            assert question.hints or question.kind is Answer.CHOICE
            if question.kind is Answer.MENDED:
                assert not judged(question, Given(), stage.scene).right, "the damaged file counts as mended"
                continue
            assert judged(question, solution(question, stage.scene), stage.scene).right
            for choice, sentence in enumerate(question.choices):
                verdict = judged(question, Given(str(choice)), stage.scene)
                assert verdict.right is sentence.right
                assert verdict.text


@pytest.mark.parametrize("mission", MISSIONS, ids=lambda mission: mission.format)
def test_what_a_mission_says_mends_the_file(mission: Lesson) -> None:
    """The bit that it names makes the file sound, and loses nothing; or all that is whole is saved."""
    path = sample_of(mission)
    if mission.format not in FLIPS:
        done = salvage(path, None)
        # Nothing in a DES file vouches for contents: they can be taken out, and are unchecked.
        assert done.count(Condition.UNCHECKED if mission.format == "des" else Condition.WHOLE) == 5
        return
    offset, bit = FLIPS[mission.format]
    with shardcore.open(str(path), partial=True) as shard:
        was = before(shard)
    with FileSource(path) as file:
        change = Change.flip(offset, bit, file.read(offset, offset + 1)[0])
        with shardcore.open(PatchedSource(file, [change])) as shard:
            asked = mission.steps[-1].question
            assert asked.kind is Answer.MENDED
            assert judged(asked, Given(), LessonScene(shard)).right
            impact = compare(was, shard)
    assert impact.gone
    assert bool(impact.counts.get(Fate.MENDED)) == (mission.format in ("swh", "mdb"))
    assert not impact.counts.get(Fate.LOST)
    assert not impact.counts.get(Fate.REFUSED)
