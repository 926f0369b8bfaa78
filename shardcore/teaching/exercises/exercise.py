"""An exercise, made from a seed: a lesson about a fresh file, whose questions and answers come from the lookups. No Qt.

The same format, seed and number of keys give the same file, keys and questions on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random

import shardcore
from shardcore.errors import UsageError
from shardcore.model.number_words import plural
from shardcore.model.text import visible
from shardcore.shards.practice import Ask, Practice
from shardcore.shards.registry import FORMATS, format_of
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Step, Trace
from shardcore.teaching.exercises.mistakes import as_number, content_mistakes, wrong_answers
from shardcore.teaching.lessons.calculator import CalculatorSetup
from shardcore.teaching.lessons.fresh import make_fresh
from shardcore.teaching.lessons.lesson import Answer, Choice, Fresh, Lesson, LessonStep, Question
from shardcore.teaching.lessons.values import code, literal

KEYS = 5
MOST_KEYS = 10
MOST_SEED = 1_000_000
PRESENT, ABSENT = "present", "absent"
_COMPARE = "Look at the keys that are stored where this one would be, and compare all of it."
_ALL_QUESTIONS = f"Every key has the same questions; answer `{ABSENT}` to those about a key that is not in the file."
LAST = 8
"""Bytes of the content that are asked."""

_THOROUGH_KEYS = 2
"""Keys whose every step is asked; of the others what follows from several steps."""


def exercise_formats() -> tuple[str, ...]:
    """Return the names of the formats that have exercises."""
    return tuple(name for name in FORMATS if format_of(name).practice is not None)


@dataclass(frozen=True, slots=True)
class ExerciseName:
    """Identity of an exercise: equal ones have the same file, keys and questions.

    Attributes:
        format: The name of the format.
        seed: A number.
        keys: Number of keys placed.
    """

    format: str
    seed: int
    keys: int = KEYS

    def checked(self) -> ExerciseName:
        """Return it.

        Raises:
            UsageError: There is no such exercise.
        """
        if self.format not in exercise_formats():
            there = ", ".join(exercise_formats())
            raise UsageError(f"no exercises about {visible(self.format)[:40]!r}; there are: {there}")
        if not 0 <= self.seed < MOST_SEED:
            raise UsageError(f"a seed is a number from 0 to {MOST_SEED - 1}")
        if not 2 <= self.keys <= MOST_KEYS:
            raise UsageError(f"an exercise has 2 to {MOST_KEYS} keys")
        return self


def make_exercise(name: ExerciseName, folder: Path, *, exam: bool = False, minutes: int = 0) -> tuple[Lesson, Path]:
    """Make the file of an exercise, and the lesson about it.

    Args:
        name: Name of the exercise.
        folder: An empty folder; the file is made in it.
        exam: Whether it is an exam: without hints and solutions.
        minutes: Time limit of the exam in minutes; 0 without a clock.

    Raises:
        UsageError: There is no such exercise.
        ShardError: It cannot be made.
    """
    path = make_file(name, folder)
    with shardcore.open(str(path), format=name.format) as shard:
        return written(name, shard, exam=exam, minutes=minutes)[0], path


def make_file(name: ExerciseName, folder: Path) -> Path:
    """Make the file of an exercise in an empty folder; as `make_exercise`."""
    name = name.checked()
    return make_fresh(_fresh(name), name.format, folder, Random())


def written(
    name: ExerciseName, shard: Shard, *, exam: bool = False, minutes: int = 0
) -> tuple[Lesson, Mapping[str, Trace]]:
    """Return the lesson about the file of an exercise, and the lookups of its keys; as `make_exercise`."""
    shard.load_index()
    writer = _ExerciseWriter(name, _practice(name), shard, exam=exam)
    lesson = Lesson(
        name=f"exercise-{name.format}-{name.seed}-{name.keys}",
        title=f"{'Exam' if exam else 'Exercise'} {name.seed}: {format_of(name.format).title}",
        about="Place keys of a fresh file by hand, from its bytes alone.",
        format=name.format,
        sample="",
        key="",
        minutes=minutes if exam else 5 * name.keys,
        steps=writer.steps(_fresh(name)),
        seed=name.seed,
        exam=exam,
    )
    return lesson, writer.traces


def _practice(name: ExerciseName) -> Practice:
    practice = format_of(name.format).practice
    assert practice is not None
    return practice()


def _fresh(name: ExerciseName) -> Fresh:
    practice, seed = _practice(name), f"{name.format} {name.seed}"
    random = Random(f"options {seed}")
    options = {option: random.choice(values) for option, values in practice.options.items()}
    options.update(random.choice(practice.variants))
    return Fresh(random.randint(*practice.objects), options=tuple(options.items()), seed=seed)


def chosen_keys(shard: Shard, name: ExerciseName) -> tuple[str, ...]:
    """Return the keys of an exercise, one or two of which are absent, in an order of their own."""
    random = Random(f"keys {name.format} {name.seed}")
    kinds = shard.objects.kinds
    there = sorted({str(key) for key in shard.objects.keys[:] if key and str(key).partition(":")[0] not in kinds})
    absent = 1 if name.keys < 4 else random.randint(1, 2)
    present = random.sample(there, min(name.keys - absent, len(there)))
    keys = [*present, *_absent_keys(there, name.keys - len(present), random)]
    first = keys.pop(0)  # the first key is walked step by step to its content
    random.shuffle(keys)
    return (first, *keys)


def _absent_keys(there: Sequence[str], count: int, random: Random) -> list[str]:
    """Return keys that are not there, of the same form: hashes, numbers in a row, or any numbers."""
    if not all(key.isdecimal() for key in there):
        return [random.randbytes(len(there[0]) // 2).hex() for _ in range(count)]
    numbers = sorted(map(int, there))
    if numbers == list(range(len(numbers))):
        return [str(len(numbers) + more) for more in random.sample(range(len(numbers)), count)]
    free = [number for number in range(numbers[0] + 1, numbers[-1]) if str(number) not in there]
    return [str(number) for number in random.sample(free, count)]


class _ExerciseWriter:
    """Writes the steps of the lesson.

    Args:
        name: Name of the exercise.
        practice: Questions of its format.
        shard: The file.
        exam: Whether hints are left out.
    """

    def __init__(self, name: ExerciseName, practice: Practice, shard: Shard, *, exam: bool) -> None:
        self._practice, self._shard, self._exam = practice, shard, exam
        self.keys = chosen_keys(shard, name)
        self.traces: Mapping[str, Trace] = {key: shard.trace(key) for key in self.keys}
        present = (key for key, trace in self.traces.items() if trace.ref is not None)
        self._contents = {key: bytes(shard.read(shard.find(key))) for key in present}

    def steps(self, fresh: Fresh) -> tuple[LessonStep, ...]:
        """Return all steps: the file first, then key by key."""
        listed = "\n".join(f"{number}. {code(key)}" for number, key in enumerate(self.keys, 1))
        text = (
            f"A fresh file of {{size of file}} bytes. Place these keys by hand, from the bytes alone; one or two "
            f"of them are absent.\n\n{listed}\n\n{self._practice.given}"
        )
        if self._exam:
            text = f"{text.strip()}\n\n{_ALL_QUESTIONS}"
        first = LessonStep("The file", text.strip(), lookup=self.keys[0], fresh=fresh)
        asked = (step for number, key in enumerate(self.keys) for step in self._key(number, key))
        return (first, *asked)

    def _key(self, number: int, key: str) -> Iterator[LessonStep]:
        title = f"Key {number + 1} of {len(self.keys)}"
        skipped: list[str] = []
        before, after = self._asked(key, self._practice.before), self._asked(key, self._practice.after)
        for ask, step, last in before:
            yield from self._one(title, key, ask, step, last, skipped, thorough=number < _THOROUGH_KEYS)
        yield self._step(title, key, self._presence(key, skipped))
        if key not in self._contents:
            yield from self._about_absent(title, key, thorough=number < _THOROUGH_KEYS)
            return
        skipped.clear()
        for ask, step, last in after:
            yield from self._one(title, key, ask, step, last, skipped, thorough=number < _THOROUGH_KEYS)
        yield self._step(title, key, self._content(key, skipped))

    def _about_absent(self, title: str, key: str, *, thorough: bool) -> Iterator[LessonStep]:
        """Yield, in an exam, the questions that follow for a key that is there: their number says nothing then."""
        if not self._exam:
            return
        there = self._asked(self.keys[0], self._practice.after)
        asked = [self._value(self.keys[0], *each, ()) for each in there if thorough or not each[0].detail]
        for question in (*asked, self._content(self.keys[0], ())):
            absent = replace(question, answer=ABSENT, wrong=(("", "The key is not in the file."),), right="")
            yield self._step(title, key, absent)

    def _asked(self, key: str, asks: Sequence[Ask]) -> list[tuple[Ask, Step, bool]]:
        """Return what the lookup of a key has, and whether it is the last one that is asked of its step."""
        there = [(ask, step) for ask in asks if (step := _step_of(self.traces[key], ask)) is not None]
        steps = [step.title for _, step in there]
        return [(ask, step, step.title not in steps[at + 1 :]) for at, (ask, step) in enumerate(there)]

    def _one(
        self, title: str, key: str, ask: Ask, step: Step, last: bool, skipped: list[str], *, thorough: bool
    ) -> Iterator[LessonStep]:
        """Yield the step that asks a value, if it is asked of this key; else keep it for what follows from it."""
        if ask.detail and not thorough:
            skipped.append(_what(ask, step))
            return
        yield self._step(title, key, self._value(key, ask, step, last, skipped), ask.given)
        skipped.clear()

    def _step(self, title: str, key: str, question: Question, given: str = "") -> LessonStep:
        text = f"The key is {code(key)}."
        whole = f"{text}\n\n{given}" if given else text
        calculator = CalculatorSetup(self._practice.bits) if question.kind is Answer.NUMBER else None
        return LessonStep(title, whole, lookup=key, question=question, calculator=calculator)

    def _value(self, key: str, ask: Ask, step: Step, last: bool, skipped: Sequence[str]) -> Question:
        others = {
            other: found.values[ask.value]
            for other, trace in self.traces.items()
            if other != key and (found := _step_of(trace, ask)) is not None
        }
        trace = self.traces[key]
        wrong = wrong_answers(ask, step, trace, self._shard.sections, others)
        rule = _rule(ask.step, step)
        number = as_number(step.values[ask.value]) is not None
        return Question(
            f"{_bare(ask.step)}: what is {_what(ask, step)}?",
            Answer.NUMBER if number else Answer.TEXT,
            answer=f"{{{ask.value} in {step.title}}}",
            hints=self._hints(step, skipped),
            wrong=(*((one.answer, f"{one.text}. {rule}") for one in wrong), ("", f"Not yet. {rule}{_before(skipped)}")),
            right=literal(step.text) if last else "",  # the sentence states all values of the step
        )

    def _presence(self, key: str, skipped: Sequence[str]) -> Question:
        trace = self.traces[key]
        there = trace.ref is not None
        proof = next((s for s in trace.steps if s.values.get("equal") is not None), trace.steps[-1])
        why = f"{_COMPARE if there else _rule(proof.title, proof)}{_before(skipped)}"
        return Question(
            "Is the key in the file?",
            Answer.CHOICE,
            choices=(
                Choice(PRESENT, right=there, why="" if there else f"It is absent. {why}"),
                Choice(ABSENT, right=not there, why="" if not there else f"It is there. {why}"),
            ),
            hints=() if self._exam else (_COMPARE,),
            right="It is there." if there else literal(trace.steps[-1].text),
        )

    def _content(self, key: str, skipped: Sequence[str]) -> Question:
        content = self._contents[key]
        right = content[-LAST:]
        others = {other: each[-LAST:] for other, each in self._contents.items() if other != key}
        rule = "The content ends where its offset plus its size points to."
        wrong = [(one.answer, f"{one.text}. {rule}") for one in content_mistakes(right, content, others)]
        return Question(
            f"The content: which are its last {plural(len(right), 'byte')}, in hex, as they stand in it?",
            Answer.TEXT,
            answer=right.hex(),
            hints=() if self._exam else (rule,),
            wrong=(*wrong, ("", f"Not yet. {rule}{_before(skipped)}")),
            right=f"The content has {plural(len(content), 'byte')}.",
        )

    def _hints(self, step: Step, skipped: Sequence[str]) -> tuple[str, ...]:
        if self._exam:
            return ()
        hints = [literal(step.why)] if step.why else []
        if skipped:
            hints.insert(0, f"Work out before it: {'; '.join(skipped)}.")
        if step.spans:
            places = ", ".join(str(span) for span in step.spans[:3] if not span.source)
            hints.append(f"It is read from {places}." if places else "It is read from another file.")
        else:
            hints.append("It is computed from what steps before gave: no bytes are read for it.")
        return tuple(hints)


def _step_of(trace: Trace, ask: Ask) -> Step | None:
    """Return the step of a lookup that a value is in; None where the lookup has none."""
    return next((s for s in trace.steps if fnmatchcase(s.title, ask.step) and ask.value in s.values), None)


def _bare(title: str) -> str:
    """Return a title whose changing parts are left out: they may be answers."""
    return title.replace("*", "…")


def _what(ask: Ask, step: Step) -> str:
    meaning = step.meanings.get(ask.value)
    if meaning is None:
        return f"`{ask.value}`"
    unit = f", in {meaning.unit}" if meaning.unit.endswith("s") and meaning.unit not in meaning.text else ""
    return f"`{ask.value}`, {literal(meaning.text)}{unit}"


def _rule(title: str, step: Step) -> str:
    """Return the right step: its title and reason, which state no values."""
    return f"The right step, *{_bare(title)}*: {literal(step.why)}"


def _before(skipped: Sequence[str]) -> str:
    return f" Check one by one: {'; '.join(skipped)}." if skipped else ""


__all__ = ["KEYS", "MOST_KEYS", "ExerciseName", "chosen_keys", "exercise_formats", "make_exercise"]
