"""Exercises: the same for a seed everywhere, solved by lookups; wrong answers say which step went wrong."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.shards.practice import Slip
from shardcore.shards.registry import FORMATS, format_of
from shardcore.teaching.exercises.exercise import ABSENT, ExerciseName, chosen_keys, exercise_formats, make_exercise
from shardcore.teaching.exercises.mistakes import WrongAnswer, wrong_answers
from shardcore.teaching.exercises.sheet import opened_sheet
from shardcore.teaching.lessons.answers import AnswerVerdict, number_of
from shardcore.teaching.lessons.lesson import Answer
from tests.shardcore.teaching.exercises.solved import keys_of, solve

SEEDS = range(10)
"""`tests/bench/bench_exercises.py` solves 200."""

DIGESTS = {
    "swh": "f60a9ed89323ac63",
    "bloscpack": "5b0f6a5d4c8b4f22",
    "des": "06a95ba8962b60f7",
    "mdb": "b88d5f327e464dd3",
    "xorb": "85ca8448fe812b99",
    "neuroglancer": "520575cc4dac4ca8",
}
"""Of the file of exercise 7, wherever it is made. Others would make grades of older exercises wrong."""

EVERYWHERE = set(Slip) - {Slip.NO_REMAINDER}
"""Kinds of mistakes that every format has; not every lookup takes a remainder."""


def test_every_format_that_is_written_has_exercises() -> None:
    """All formats whose files are made from objects are practised."""
    assert exercise_formats() == tuple(name for name in FORMATS if format_of(name).practice is not None)
    assert set(exercise_formats()) >= {"swh", "mdb", "bloscpack", "des", "neuroglancer", "xorb"}


@pytest.mark.parametrize("format", exercise_formats())
def test_the_lookups_solve_it(format: str) -> None:
    """Every question of ten exercises is right with the value of `trace` as the answer; 1 or 2 keys are absent."""
    wrong = [line for seed in SEEDS for line in solve(ExerciseName(format, seed))[1]]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("format", exercise_formats())
def test_a_seed_is_one_exercise(format: str, tmp_path: Path) -> None:
    """On every machine an exercise has the same bytes, keys and questions; another seed has others."""
    made = []
    for number, seed in enumerate((7, 7, 8)):
        folder = tmp_path / str(number)
        folder.mkdir()
        lesson, path = make_exercise(ExerciseName(format, seed), folder)
        made.append((lesson, hashlib.sha256(path.read_bytes()).hexdigest()))
        assert not (folder / "objects").exists(), "the contents are in the file alone"
    assert made[0] == made[1]
    assert made[0][1].startswith(DIGESTS[format])
    assert made[0][1] != made[2][1]
    assert made[0][0].steps != made[2][0].steps


def test_seeds_vary_what_a_format_varies() -> None:
    """Among the first seeds are both hashes of neuroglancer, BigFiles of des, and Bloscpack files with metadata."""
    for format, varied in (("neuroglancer", "identity"), ("des", "`hash`"), ("bloscpack", "`next`")):
        found = set()
        for seed in range(5):
            with opened_sheet(ExerciseName(format, seed)) as sheet:
                said = " ".join([sheet.text, *(question.question.prompt for question in sheet.questions)])
                found.add(varied in said)
        assert found == {True, False}, format


@pytest.mark.parametrize("format", exercise_formats())
def test_typical_mistakes_are_told_with_the_right_step(format: str) -> None:
    """Answers of the eight kinds are wrong, say what went wrong, and name the step that is right instead."""
    told: Counter[Slip] = Counter()
    with opened_sheet(ExerciseName(format, 3)) as sheet:
        shard = sheet.questions[0].scene.shard
        traces = {key: shard.trace(key) for key in keys_of(sheet)}
        practice = format_of(format).practice
        assert practice is not None
        asks = (*practice().before, *practice().after)
        for question in sheet.questions:
            if question.question.kind is Answer.CHOICE or not question.question.answer.startswith("{"):
                continue
            trace = traces[question.scene.key]
            named = question.question.answer.strip("{}").partition(" in ")
            step = next(one for one in trace.steps if one.title == named[2])
            ask = next(one for one in asks if one.value == named[0] and one.step.split("*")[0] in step.title)
            neighbours = {
                key: found.values[ask.value]
                for key, other in traces.items()
                if key != question.scene.key
                for found in other.steps
                if found.title == step.title and ask.value in found.values
            }
            for wrong in wrong_answers(ask, step, trace, shard.sections, neighbours):
                _check(question.judge(wrong.answer), wrong, ask.step)
                told[wrong.slip] += 1
    assert told.keys() >= EVERYWHERE, EVERYWHERE - told.keys()
    if format in ("swh", "neuroglancer", "bloscpack"):
        assert told[Slip.NO_REMAINDER]


def _check(verdict: AnswerVerdict, wrong: WrongAnswer, title: str) -> None:
    assert not verdict.right, wrong
    said = verdict.text.replace("\\", "")
    assert wrong.text.split("`")[0].replace("*", "") in said.replace("*", ""), (wrong, said)
    assert f"The right step, *{title.replace('*', '…')}*: " in said


@pytest.mark.parametrize("format", exercise_formats())
def test_no_question_states_its_answer(format: str) -> None:
    """Neither title, text nor question of a step contains the number or text that is asked."""
    with opened_sheet(ExerciseName(format, 5)) as sheet:
        for question in sheet.questions:
            if question.question.kind is Answer.CHOICE:
                continue
            told = f"{question.title} {question.text} {question.question.prompt}".replace("\u200b", "")
            words = {word.strip(".,:;`()").replace(",", "") for word in told.split()}
            answer = question.solution
            number = number_of(answer) if question.question.kind is Answer.NUMBER else None
            assert number is None or number < 10 or str(number) not in words, question.question.prompt
            assert number is not None or answer not in told


def test_an_exam_does_not_give_absent_keys_away() -> None:
    """Keys of the same depth have the same number of questions; `absent` is the answer to those that have none."""
    with opened_sheet(ExerciseName("xorb", 4), exam=True) as sheet:
        keys = keys_of(sheet)
        counts = Counter(question.scene.key for question in sheet.questions)
        assert {counts[key] for key in keys[:2]} == {7}
        assert {counts[key] for key in keys[2:]} == {4}
        absent = [one for one in sheet.questions if one.solution == ABSENT]
        assert {one.question.kind for one in absent} == {Answer.CHOICE, Answer.NUMBER, Answer.TEXT}
        assert ABSENT in sheet.text
        for one in absent:
            assert one.judge(f" {ABSENT.title()} ").right
            assert not one.judge("5").right


def test_what_is_no_exercise_is_refused(tmp_path: Path) -> None:
    """Other formats, seeds and numbers of keys are errors in plain words, before anything is made."""
    for format, seed, keys in (("zip", 1, 5), ("swh", -1, 5), ("swh", 1, 1), ("swh", 1, 99)):
        with pytest.raises(UsageError):
            make_exercise(ExerciseName(format, seed, keys), tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_exam_gives_no_hints(tmp_path: Path) -> None:
    """The questions are those of the exercise, without hints; so are keys and file."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    plain, path = make_exercise(ExerciseName("des", 2), folders[0])
    exam, other = make_exercise(ExerciseName("des", 2), folders[1], exam=True, minutes=30)
    assert path.read_bytes() == other.read_bytes()
    assert {step.title for step in plain.steps} == {step.title for step in exam.steps}
    assert any(step.question.hints for step in plain.steps if step.question is not None)
    assert not any(step.question.hints for step in exam.steps if step.question is not None)
    with shardcore.open(str(path)) as shard:
        assert chosen_keys(shard, ExerciseName("des", 2)) == tuple(dict.fromkeys(step.lookup for step in exam.steps))
