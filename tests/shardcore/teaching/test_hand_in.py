"""Hand-ins are counted and judged again, and a file of a stranger does no harm."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardcore.errors import ShardError
from shardcore.teaching.exercises.exercise import ExerciseName
from shardcore.teaching.exercises.sheet import opened_sheet
from shardcore.teaching.grade import HEADINGS, grade, grade_csv
from shardcore.teaching.hand_in import MOST_BYTES, NOTE, HandIn, Work, read_hand_in, write_hand_in
from shardcore.teaching.lessons.library import lessons, missions

NAME = ExerciseName("xorb", 3)


def handed(name: str = "Ada", exam: bool = False) -> HandIn:
    """Two questions right at first, one after a hint, one shown, one wrong, the others open."""
    with opened_sheet(NAME, exam=exam) as sheet:
        work = Work(sheet.lesson)
        for question in sheet.questions[:2]:
            work.tried(question.number, question.solution, right=True)
        work.hinted(3)
        for text in ("absent", "present"):
            work.tried(3, text, right=sheet.questions[2].judge(text).right)
        work.showed(4)
        work.tried(5, "12", right=False)
        return work.hand_in(name)


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes what is in a file, and not its checksum."""
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


def row(folder: Path, file: str) -> dict[str, object]:
    """The row of a file, by the headings."""
    (found,) = [one for one in grade(folder) if one.file == file]
    return dict(zip(HEADINGS, found.cells, strict=True))


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Written and read it is equal, the checksum fits, and the file says what that proves; it replaces nothing."""
    path, one = tmp_path / "ada.json", handed()
    write_hand_in(path, one)
    assert read_hand_in(path) == one
    found = json.loads(path.read_text())
    assert found["note"] == NOTE
    assert (found["attempts"], found["hints"], found["shown"]) == (5, 1, 1)
    assert {"name", "kind", "title", "format", "seed", "answers", "seconds", "version", "checksum"} <= found.keys()
    with pytest.raises(ShardError):
        write_hand_in(path, one)


def test_the_kinds() -> None:
    """A lesson, a mission, an exercise and an exam each say what they are."""
    kinds = [Work(lesson).hand_in("A").kind for lesson in (lessons()[0], missions()[0])]
    assert [*kinds, handed().kind, handed(exam=True).kind] == ["lesson", "mission", "exercise", "exam"]


def test_a_table_of_the_class(tmp_path: Path) -> None:
    """First try, later, shown, wrong and open are counted for each; files that are none are rows with an error."""
    write_hand_in(tmp_path / "ada.json", handed())
    (tmp_path / "none.json").write_text("{")
    (tmp_path / "notes.txt").write_text("not looked at")
    assert [one.file for one in grade(tmp_path)] == ["ada.json", "none.json"]
    ada = row(tmp_path, "ada.json")
    assert [ada[name] for name in ("first try", "later", "shown", "wrong")] == [2, 1, 1, 1]
    assert ada["open"] == int(str(ada["questions"])) - 5
    assert (ada["judged"], ada["checksum"], ada["error"]) == ("again", "ok", "")
    assert row(tmp_path, "none.json")["error"] == "no JSON"


def test_editing_is_told_and_does_not_count(tmp_path: Path) -> None:
    """An answer that is called right is judged again from the seed, with or without a fitting checksum."""
    path, one = tmp_path / "ada.json", handed()
    write_hand_in(path, one)
    edited(path, lambda found: found["answers"][4].update(right=True))
    assert (row(tmp_path, "ada.json")["wrong"], row(tmp_path, "ada.json")["checksum"]) == (1, "edited")
    one.answers[4].right = True
    write_hand_in(path, one, force=True)
    assert (row(tmp_path, "ada.json")["wrong"], row(tmp_path, "ada.json")["checksum"]) == (1, "ok")


def test_the_table_says_what_was_not_judged_again(tmp_path: Path) -> None:
    """Answers of lessons are counted as written; so are those of an exam without its seed, which is an error."""
    write_hand_in(tmp_path / "lesson.json", Work(lessons()[0]).hand_in("Ada"))
    write_hand_in(tmp_path / "exam.JSON", handed(exam=True))
    assert row(tmp_path, "exam.JSON")["judged"] == "again"
    edited(tmp_path / "exam.JSON", lambda found: found.update(seed=None))
    for file, error in (("lesson.json", ""), ("exam.JSON", "an exam without its seed: not judged again")):
        assert (row(tmp_path, file)["judged"], row(tmp_path, file)["error"]) == ("as written", error)


def test_an_exam_is_judged_by_its_own_questions(tmp_path: Path) -> None:
    """The exam has more questions than the exercise of the same seed: absent keys have all of them."""
    with opened_sheet(NAME, exam=True) as sheet:
        work = Work(sheet.lesson)
        for question in sheet.questions:
            work.tried(question.number, question.solution, right=False)
    write_hand_in(tmp_path / "exam.json", work.hand_in("Ada"))
    assert row(tmp_path, "exam.json")["first try"] == len(sheet.questions)


def test_no_cell_moves_a_terminal(tmp_path: Path) -> None:
    """Control characters and marks of direction of a stranger are escapes in every cell."""
    write_hand_in(tmp_path / "a\x1b[2J.json", handed("\x1b[31m\u202egnp\0"))
    edited(tmp_path / "a\x1b[2J.json", lambda found: found.update(version="\x9b2J", title="\x07"))
    assert grade_csv(grade(tmp_path)).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"kind": "exam"}',
        b'{"kind": "exam", "name": "a", "title": "b", "answers": 5}',
        b'{"kind": "exam", "name": "a", "title": "b", "answers": [{"question": -1}]}',
        b'{"kind": "exam", "name": "a", "title": "b", "answers": [{"question": 1}, {"question": 1}]}',
        b'{"kind": "exam", "name": "a", "title": "b", "answers": [], "seed": 1e400}',
        b'{"kind": ["exam"], "name": "a"}',
        b'{"kind": "exam", "name": "a", "title": "b", "answers": [], "seed": ' + b"9" * 5000 + b"}",
        b" " * (MOST_BYTES + 1),
        b'{"kind": "exam", "name": "a", "title": "b", "answers": [], "seed": 1, "keys": 999999999, "format": "swh"}',
        b'{"kind": "exam", "name": "a", "title": "b", "answers": [], "seed": 1, "keys": 5, "format": "\\u001b[2J"}',
    ],
    ids=range(14),
)
def test_files_of_strangers_are_rows_with_an_error(tmp_path: Path, text: bytes) -> None:
    """Whatever is in a file: it is one row, says what is wrong, and the others are judged."""
    (tmp_path / "a.json").write_bytes(text)
    (found,) = grade(tmp_path)
    assert found.error
    assert "\x1b" not in found.error


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    """A later version may say more; an answer to a question that is none counts nowhere."""
    path = tmp_path / "ada.json"
    write_hand_in(path, handed())
    edited(path, lambda found: found.update(mood="good", answers=[*found["answers"], {"question": 900, "right": True}]))
    assert (row(tmp_path, "ada.json")["first try"], row(tmp_path, "ada.json")["error"]) == (2, "")


def test_no_name_is_a_formula(tmp_path: Path) -> None:
    """In the CSV a name that a spreadsheet would compute is quoted; commas and lines stay in their cell."""
    for number, name in enumerate(("=1+1", "@SUM(A1)", "-2", "\tx", 'a,"b\nc')):
        write_hand_in(tmp_path / f"{number}.json", handed(f"{name}"))
    edited(tmp_path / "3.json", lambda found: found.update(name="\t=x"))
    lines = list(csv.reader(io.StringIO(grade_csv(grade(tmp_path)))))
    assert [line[1] for line in lines[1:]] == ["'=1+1", "'@SUM(A1)", "'-2", "\\t=x", 'a,"b\\nc']
    assert all(len(line) == len(HEADINGS) for line in lines)
