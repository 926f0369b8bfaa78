"""exercise and grade: in batch, one question after the other, as an exam, and handed in."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.teaching.exercises.exercise import ExerciseName
from shardcore.teaching.exercises.sheet import opened_sheet
from shardcore.teaching.hand_in import read_hand_in

ASKED = ["exercise", "xorb", "--seed", "3"]


@pytest.fixture(scope="module")
def solutions() -> list[str]:
    """The right answers, in order."""
    with opened_sheet(ExerciseName("xorb", 3)) as sheet:
        return [question.solution for question in sheet.questions]


def typing(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Lines that are typed from now on."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_questions_and_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], solutions: list[str]
) -> None:
    """The questions are JSON without their answers, the file is kept; right answers are judged right, one by one."""
    assert run([*ASKED, "--questions", "--save", str(tmp_path / "kept")]) == 0
    sheet: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert len(sheet["questions"]) == len(solutions)
    assert not any("answer" in question for question in sheet["questions"])
    with shardcore.open(sheet["file"]) as shard:
        assert shard.format == "xorb"
    assert run([*ASKED, "--questions", "--save", str(tmp_path / "kept")]) == 2, "a file is there"
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps(solutions))
    assert run([*ASKED, "--answers", str(answers)]) == 0
    answers.write_text(json.dumps([*solutions[:1], "1", None]))
    capsys.readouterr()
    assert run([*ASKED, "--answers", str(answers), "--json"]) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["question"], one["right"]) for one in told] == [(1, True), (2, False)]
    assert "The right step, Find the info block: " in told[1]["text"]
    for text in ("{", "[[1]]", json.dumps(["1"] * 500)):
        answers.write_text(text)
        assert run([*ASKED, "--answers", str(answers)]) == 2


def test_one_question_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], solutions: list[str]
) -> None:
    """Wrong answers are explained and asked again, `?` hints, `!` shows, `=` computes; what was done is handed in."""
    target = tmp_path / "ada.json"
    typing(monkeypatch, "77", "?", "= 1 << 4", "= 1 +", solutions[0], "!", "", "q")
    assert run([*ASKED, "--hand-in", str(target), "--name", "Ada"]) == 1
    out = capsys.readouterr().out
    for part in ("Not yet.", "read from the end", "= 16  0x10", f"The answer: {solutions[1]}", "? gives a hint"):
        assert part in out
    one = read_hand_in(target)
    assert [(each.attempts, each.hints, each.shown, each.right) for each in one.answers] == [
        (2, 1, False, True),
        (0, 0, True, False),
    ]
    assert run([*ASKED, "--hand-in", str(target), "--name", "Ada"]) == 2, "nothing is replaced"
    assert run(["grade", str(tmp_path)]) == 0
    assert "Ada" in capsys.readouterr().out
    assert run(["grade", str(tmp_path), "--csv", str(tmp_path / "class.csv")]) == 0
    assert (tmp_path / "class.csv").read_text().count("\n") == 2


def test_an_exam(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], solutions: list[str]) -> None:
    """No verdict, hint or solution before the end; then the wrong ones are told."""
    typing(monkeypatch, "?", "!", solutions[0], "77", "yes")
    assert run([*ASKED, "--exam", "--minutes", "30"]) == 1
    out, error = capsys.readouterr()
    assert out.count("Hints and solutions are not available in an exam.") == 2
    before, _, after = out.partition("3/")
    assert "Not yet" not in before
    assert "Is the key in the file? (present or absent)" in out
    assert "> Type present or absent.\n> \n" in out, "what is not a choice is not an answer"
    assert after.count("✗ 2") == 1
    assert solutions[1] not in out.replace("1,", "")
    assert "1 of" in error


def test_what_does_not_go_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Wrong usage is one line that says what helps."""
    wrong = {
        ("exercise", "zip"): "no exercises about",
        ("exercise",): "no exercises about",
        (*ASKED, "--name", "Ada"): "go together",
        (*ASKED, "--minutes", "4"): "add --exam",
        ("exercise", "swh", "--keys", "50"): "2 to 10 keys",
        ("grade", str(tmp_path / "none")): "cannot read",
    }
    for line, text in wrong.items():
        assert run(list(line)) in (2, 4)
        assert text in capsys.readouterr().err
