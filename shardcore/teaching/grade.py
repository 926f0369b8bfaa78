"""Table of the files that a class handed in; answers of exercises are judged again from their seeds. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from shardcore.errors import FormatError, ShardError, SourceError, reason_of
from shardcore.model.text import visible
from shardcore.progress import Progress, no_progress
from shardcore.teaching.charts.export import csv_text
from shardcore.teaching.exercises.exercise import ExerciseName
from shardcore.teaching.exercises.sheet import SheetQuestion, opened_sheet
from shardcore.teaching.hand_in import EXAM, SEEDED, HandedAnswer, HandIn, read_hand_in

MOST_FILES = 1000
MOST_EXERCISES = 50
"""Exercises whose files are made again; one class has a few."""

HEADINGS = (
    "file",
    "name",
    "kind",
    "title",
    "questions",
    "first try",
    "later",
    "shown",
    "wrong",
    "open",
    "minutes",
    "judged",
    "checksum",
    "version",
    "error",
)


@dataclass(frozen=True, slots=True)
class GradeRow:
    """One file that was handed in.

    Attributes:
        file: Its name.
        handed: Its content; None where it cannot be read.
        questions: Number of them.
        first: Right answers at the first try, without hints.
        later: Right answers after hints or more tries.
        shown: Questions whose solution was shown.
        wrong: Questions whose last answer is wrong.
        judged: Whether the answers were judged again.
        error: Reason why the file cannot be judged; empty for none.
    """

    file: str
    handed: HandIn | None = None
    questions: int = 0
    first: int = 0
    later: int = 0
    shown: int = 0
    wrong: int = 0
    judged: bool = False
    error: str = ""

    @property
    def cells(self) -> tuple[str | int, ...]:
        """Return its cells, as `HEADINGS` name them; control characters of a stranger are shown as escapes."""
        file, error = visible(self.file), visible(self.error)
        if self.handed is None:
            return (file, *("",) * (len(HEADINGS) - 2), error)
        one = self.handed
        unanswered = max(self.questions - self.first - self.later - self.shown - self.wrong, 0)
        counts = (self.questions, self.first, self.later, self.shown, self.wrong, unanswered)
        checks = ("again" if self.judged else "as written", "ok" if one.intact else "edited")
        about = (visible(one.name), one.kind, visible(one.title))
        return (file, *about, *counts, round(one.seconds / 60), *checks, visible(one.version), error)


def grade(folder: Path, progress: Progress = no_progress) -> tuple[GradeRow, ...]:
    """Judge what is in a folder: a row for each `.json` in it, in the order of their names.

    Raises:
        SourceError: The folder cannot be read, or has too many files.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".json" and path.is_file())
    except OSError as error:
        raise SourceError(f"cannot read {folder}: {reason_of(error)}") from error
    if len(paths) > MOST_FILES:
        raise SourceError(f"{folder} has over {MOST_FILES} files: grade them in parts")
    rows: list[GradeRow] = []
    with ExitStack() as sheets:
        judge = _Judge(sheets)
        for number, path in enumerate(paths):
            progress(number, len(paths))
            rows.append(judge.row(path))
    return tuple(rows)


def grade_csv(rows: Sequence[GradeRow]) -> str:
    """Return the table as comma-separated values; names that a spreadsheet would take for formulas are quoted."""
    return csv_text(HEADINGS, [row.cells for row in rows])


class _Judge:
    """Judges answers; exercises are made once each.

    Args:
        sheets: Keeps their files open.
    """

    def __init__(self, sheets: ExitStack) -> None:
        self._sheets = sheets
        self._made: dict[tuple[ExerciseName, str], tuple[SheetQuestion, ...]] = {}

    def row(self, path: Path) -> GradeRow:
        """Return the row of a file."""
        try:
            handed = read_hand_in(path)
        except ShardError as error:
            return GradeRow(path.name, error=error.message)
        if handed.kind not in SEEDED:
            return _counted(path.name, handed, handed.questions)
        try:
            if handed.seed is None:
                raise FormatError(f"an {handed.kind} without its seed: not judged again")
            questions = self._questions(ExerciseName(handed.format, handed.seed, handed.keys).checked(), handed.kind)
        except ShardError as error:
            return replace(_counted(path.name, handed, handed.questions), error=error.message)
        answers = tuple(_judged_again(answer, questions) for answer in handed.answers)
        return replace(_counted(path.name, replace(handed, answers=answers), len(questions)), judged=True)

    def _questions(self, name: ExerciseName, kind: str) -> tuple[SheetQuestion, ...]:
        if (name, kind) not in self._made:
            if len(self._made) >= MOST_EXERCISES:
                raise SourceError(f"over {MOST_EXERCISES} different exercises: not judged again")
            sheet = self._sheets.enter_context(opened_sheet(name, exam=kind == EXAM))
            self._made[name, kind] = sheet.questions
        return self._made[name, kind]


def _judged_again(answer: HandedAnswer, questions: Sequence[SheetQuestion]) -> HandedAnswer:
    if not 1 <= answer.question <= len(questions):
        return replace(answer, right=False)
    return replace(answer, right=bool(answer.given) and questions[answer.question - 1].judge(answer.given).right)


def _counted(file: str, handed: HandIn, questions: int) -> GradeRow:
    tried = [answer for answer in handed.answers if 1 <= answer.question <= questions]
    own = [answer for answer in tried if not answer.shown]
    right = [answer for answer in own if answer.right]
    first = sum(answer.attempts <= 1 and not answer.hints for answer in right)
    wrong = sum(not answer.right and bool(answer.given) for answer in own)
    return GradeRow(file, handed, questions, first, len(right) - first, len(tried) - len(own), wrong)


__all__ = ["HEADINGS", "GradeRow", "grade", "grade_csv"]
