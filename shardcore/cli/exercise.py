"""The commands of a course: exercise and grade."""

from __future__ import annotations

import json as json_text
import re
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import Force, Json, format_argument, only, progress_bar
from shardcore.cli.output import print_json, print_line, warn, write_whole_to
from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.model.number_words import plural
from shardcore.shards.registry import FORMATS

if TYPE_CHECKING:
    from shardcore.teaching.exercises.sheet import ExerciseSheet, SheetQuestion
    from shardcore.teaching.grade import GradeRow
    from shardcore.teaching.hand_in import Work
    from shardcore.teaching.lessons.answers import AnswerVerdict
    from shardcore.teaching.lessons.calculator import Calculator

_MOST_ANSWERS = 256 << 10
_WIDEST = 40
_HINT, _SHOW, _END = "?", "!", "q"


def exercise(
    format: Annotated[str, format_argument("The format.", *FORMATS)] = "",
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Which exercise; default: any.")] = None,
    keys: Annotated[int, typer.Option("--keys", metavar="N", help="How many keys are placed, 2 to 10.")] = 5,
    questions: Annotated[bool, typer.Option("--questions", help="Print the questions as JSON, and end.")] = False,
    answers: Annotated[
        str, typer.Option("--answers", metavar="FILE|-", help="Judge these answers: a JSON list, in order.")
    ] = "",
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FOLDER", help="Keep the file of the exercise in this folder.")
    ] = None,
    exam: Annotated[bool, typer.Option("--exam", help="No verdicts, hints or solutions before the end.")] = False,
    minutes: Annotated[int, typer.Option("--minutes", metavar="N", min=0, help="How long the exam may take.")] = 0,
    hand_in: Annotated[
        Path | None, typer.Option("--hand-in", metavar="FILE", help="Write what was answered, for `grade`.")
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Who hands it in.")] = "",
    from_damage: Annotated[
        tuple[str, str, str] | None,
        typer.Option(
            "--from-damage",
            metavar="ORIGINAL DAMAGED OUT",
            help="Make a mission of a damaged copy: OUT is a folder, or a .zip.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> int:
    """Place keys of a fresh file by hand, and check every step.

    Examples:
        shardcore exercise swh --seed 7 --questions
        shardcore exercise swh --exam --minutes 20 --hand-in work/ada.json --name 'Ada L.'
    """
    from shardcore.teaching.exercises.exercise import MOST_SEED, ExerciseName
    from shardcore.teaching.exercises.sheet import opened_sheet

    only("with --answers", answers, json=json)
    only("with --hand-in and --from-damage", hand_in or from_damage, force=force)
    if from_damage is not None:
        return _make_mission(*from_damage, force=force)
    if (hand_in is None) != (not name.strip()):
        raise UsageError("--hand-in FILE and --name NAME go together")
    if minutes and not exam:
        raise UsageError("--minutes is the clock of an exam: add --exam")
    if hand_in is not None and hand_in.exists() and not force:
        raise UsageError(f"{hand_in} exists already; --force replaces it")
    chosen = ExerciseName(format, secrets.randbelow(MOST_SEED) if seed is None else seed, keys).checked()
    texts = _read_answers(answers) if answers else None
    if save is not None:
        _make_folder(save)
    with opened_sheet(chosen, save, exam=exam, minutes=minutes) as sheet:
        if questions:
            print_json(_sheet_json(sheet, chosen.seed, saved=save is not None))
            return 0
        work = _judge_all(sheet, texts, as_json=json) if texts is not None else _ask_all(sheet, minutes)
    if hand_in is not None:
        from shardcore.teaching.hand_in import write_hand_in

        write_hand_in(hand_in, work.hand_in(name), force=force)
        warn(f"handed in: {hand_in}")
    right = sum(answer.right and not answer.shown for answer in work.answers.values())
    return 0 if right == len(sheet.questions) else 1


def grade(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files are that were handed in.")],
    csv: Annotated[str, typer.Option("--csv", metavar="FILE|-", help="Write the table.")] = "",
    force: Force = False,
    json: Json = False,
) -> int:
    """Judge what was handed in, and print a table: a row for each file.

    Examples:
        shardcore grade work --csv grades.csv
    """
    from shardcore.teaching.grade import HEADINGS, grade_csv
    from shardcore.teaching.grade import grade as judge

    only("with --csv FILE", csv not in ("", "-"), force=force)
    with progress_bar("judging") as progress:
        rows = judge(folder, progress)
    if csv:
        write_whole_to(csv, grade_csv(rows), force=force)
    if json:
        print_json([dict(zip(HEADINGS, row.cells, strict=True)) for row in rows])
    elif not csv:
        _print_rows(rows)
    return 1 if any(row.error for row in rows) else 0


def _print_rows(rows: tuple[GradeRow, ...]) -> None:
    from shardcore.teaching.grade import HEADINGS

    lines = [HEADINGS, *((*(str(cell)[:_WIDEST] for cell in row.cells[:-1]), row.error) for row in rows)]
    widths = [max(len(str(line[at])) for line in lines) for at in range(len(HEADINGS))]
    for line in lines:
        print_line("  ".join(str(cell).ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


# --- answers from a file ---


def _read_answers(place: str) -> list[str]:
    """Return the answers in a file: a list, in the order of the questions."""
    try:
        if place == "-":
            data = sys.stdin.buffer.read(_MOST_ANSWERS + 1)
        else:
            with open(place, "rb") as file:
                data = file.read(_MOST_ANSWERS + 1)
    except OSError as error:
        raise SourceError(f"cannot read {place}: {reason_of(error)}") from error
    try:
        found = json_text.loads(data) if len(data) <= _MOST_ANSWERS else None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: the answers are not JSON") from error
    if not isinstance(found, list) or not all(isinstance(one, (str, int)) or one is None for one in found):
        raise UsageError(f"{place}: the answers are a JSON list of texts and numbers, in the order of the questions")
    return ["" if one is None else str(one) for one in found]


def _judge_all(sheet: ExerciseSheet, texts: list[str], *, as_json: bool) -> Work:
    from shardcore.teaching.hand_in import Work

    if len(texts) > len(sheet.questions):
        raise UsageError(f"{plural(len(texts), 'answer')}, and {plural(len(sheet.questions), 'question')}")
    work = Work(sheet.lesson)
    for question, text in zip(sheet.questions, texts, strict=False):
        if not text.strip():
            continue
        verdict = question.judge(text)
        work.tried(question.number, text, right=verdict.right)
        if as_json:
            print_json({"question": question.number, "right": verdict.right, "text": plain(verdict.text)})
        else:
            _tell_verdict(question, verdict)
    _sum_up(sheet, work)
    return work


def _sheet_json(sheet: ExerciseSheet, seed: int, *, saved: bool) -> dict[str, Any]:
    return {
        "format": sheet.lesson.format,
        "seed": seed,
        "file": str(sheet.path) if saved else None,
        "text": plain(sheet.text),
        "keys": list(dict.fromkeys(one.scene.key for one in sheet.questions)),
        "questions": [
            {
                "question": one.number,
                "title": one.title,
                "text": plain(one.text),
                "ask": plain(one.question.prompt),
                "kind": one.question.kind.value,
                "choices": [choice.text for choice in one.question.choices],
            }
            for one in sheet.questions
        ],
    }


# --- one question after the other ---


def _ask_all(sheet: ExerciseSheet, minutes: int) -> Work:
    from shardcore.teaching.hand_in import Work
    from shardcore.teaching.lessons.calculator import Calculator

    exam = sheet.lesson.exam
    print_line(sheet.lesson.title)
    print_line(f"The file: {sheet.path}")
    _print_text(sheet.text)
    helps = "" if exam else "? gives a hint, ! shows the answer, "
    print_line(f"{helps}= a >> 13 computes, an empty answer skips, q ends.")
    work = Work(sheet.lesson)
    calculator = Calculator(sheet.bits)
    before = ""
    for question in sheet.questions:
        if question.text != before:
            print_line()
            print_line(f"{question.title}")
            _print_text(question.text)
            before = question.text
        if not _ask(sheet, question, work, calculator, minutes):
            break
    _sum_up(sheet, work)
    return work


def _ask(sheet: ExerciseSheet, question: SheetQuestion, work: Work, calculator: Calculator, minutes: int) -> bool:
    """Ask until the answer is right, or was shown or skipped; in an exam, once. False when it is over."""
    exam = sheet.lesson.exam
    hints = list(question.question.hints)
    words = [choice.text for choice in question.question.choices]
    choices = f" ({' or '.join(words)})" if words else ""
    print_line(f"{question.number}/{len(sheet.questions)}  {plain(question.question.prompt)}{choices}")
    while True:
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline(1000)
        text = line.strip()
        if not line or text == _END:
            if not line:
                print_line()
            return False
        if minutes and work.seconds > 60 * minutes:
            print_line("The time is over: this answer does not count.")
            return False
        if not text:
            return True
        if text.startswith("="):
            _compute(calculator, text[1:].strip())
        elif text in (_HINT, _SHOW) and exam:
            print_line("Hints and solutions are not available in an exam.")
        elif text == _HINT:
            if hints:
                work.hinted(question.number)
                print_line(plain(hints.pop(0)))
            else:
                print_line("No more hints.")
        elif text == _SHOW:
            work.showed(question.number)
            print_line(f"The answer: {question.solution}")
            return True
        elif words and text.lower() not in words:
            print_line(f"Type {' or '.join(words)}.")
        else:
            verdict = question.judge(text)
            work.tried(question.number, text, right=verdict.right)
            if exam:
                return True
            print_line(plain(verdict.text))
            if verdict.right:
                return True


def _compute(calculator: Calculator, text: str) -> None:
    from shardcore.teaching.lessons.calculator import CalculatorError

    try:
        name, value = calculator.compute(text)
    except CalculatorError as error:
        print_line(error.message)
    else:
        print_line(f"{name or ''} = {value}  {value:#x}".strip())


def _tell_verdict(question: SheetQuestion, verdict: AnswerVerdict) -> None:
    sign = "✓" if verdict.right else "✗"
    print_line(f"{sign} {question.number}  {question.title}: {plain(verdict.text)}")


def _sum_up(sheet: ExerciseSheet, work: Work) -> None:
    if sheet.lesson.exam:
        for question in sheet.questions:
            answer = work.answers.get(question.number)
            if answer is not None and not answer.right:
                _tell_verdict(question, question.judge(answer.given))
    right = sum(answer.right and not answer.shown for answer in work.answers.values())
    warn(f"{right} of {plural(len(sheet.questions), 'question')} right (seed {sheet.lesson.seed})")


def plain(text: str) -> str:
    """Return a text of a lesson without the signs of Markdown."""
    bare = re.sub(r"\\(.)|[*`]|\u200b", lambda found: found[1] or "", text)
    return " ".join(bare.split())


def _print_text(text: str) -> None:
    for line in text.split("\n"):
        if line.strip():
            print_line(plain(line))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: an exercise needs an empty folder")
    except OSError as error:
        raise SourceError(f"cannot write {folder}: {reason_of(error)}") from error


def _make_mission(original: str, damaged: str, out: str, *, force: bool) -> int:
    from shardcore.teaching.exercises.mission import make_mission

    print_line(str(make_mission(Path(original), Path(damaged), Path(out), force=force)))
    return 0
