"""One step of a lesson on the file that is open: its text with values, what it shows, and its question. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from shardcore import Node, Shard, ShardError, Span, Trace
from shardscope.goto import GotoError, calculate
from shardscope.lessons.lesson import Lesson, LessonStep, Question, Show
from shardscope.lessons.values import NotHereError, Scene
from shardscope.walk import traced

MOST_INDEX = 4 << 20
"""An index of up to so many bytes is read for a lesson: the tree names all objects then."""

_LOOKED_AT = 20
"""Rows that are looked at for one with a key."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a step shows, found in the file.

    Attributes:
        kind: What it is.
        name: The name of the drawing or of the panel.
        path: The path to the node.
        span: The bytes.
        step: The number of the step of the lookup, from 0.
        values: Values of the controls of the drawing.
    """

    kind: Show
    name: str = ""
    path: tuple[Node, ...] = ()
    span: Span | None = None
    step: int = -1
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A step, ready to be shown.

    Attributes:
        number: Its number, from 0.
        step: The step as it is written.
        text: Its text with values, as Markdown.
        question: Its question with values in prompt, choices and hints; None when it asks nothing.
        shown: What it shows.
        scene: What its values are read from.
        missing: Why it cannot be shown on this file, or empty.
        before: The step of the lookup that an earlier step of the lesson showed last, from 0; -1 where none did.
    """

    number: int
    step: LessonStep
    text: str
    question: Question | None
    shown: tuple[Shown, ...]
    scene: Scene
    missing: str = ""
    before: int = -1


def staged(lesson: Lesson, number: int, shard: Shard, key: str) -> Stage:
    """Finds in a file what a step of a lesson is about.

    Args:
        lesson: The lesson.
        number: The number of the step, from 0.
        shard: The file.
        key: The key of the lesson; empty to pick one.

    Returns:
        The stage; where the file has not what the step needs, with the reason.

    Raises:
        SourceError: The bytes cannot be had.
    """
    if not shard.loaded and shard.index_bytes <= MOST_INDEX:
        shard.load_index()
    step = lesson.steps[number]
    scene = Scene(shard, key or pick_key(shard))
    try:
        scene = replace(scene, trace=_lookup(lesson, number, scene))
        question = _filled(step.question, scene) if step.question is not None else None
        shown = tuple(_found(kind, scene.fill(place), scene) for kind, place in step.shows)
        before = _shown_before(lesson, number, scene)
        return Stage(number, step, scene.prose(step.text), question, shown, scene, before=before)
    except NotHereError as error:
        return Stage(number, step, "", None, (), scene, missing=error.message)


def pick_key(shard: Shard, random: Random | None = None) -> str:
    """The key of an object to look up: one in the middle, or any; empty when there is none near it.

    Args:
        shard: The file.
        random: Where the choice comes from; without it, always the same one.
    """
    count = len(shard.objects)
    first = random.randrange(count) if random is not None and count else count // 3
    keys = (*shard.objects.keys[first : first + _LOOKED_AT], *shard.objects.keys[:_LOOKED_AT])
    return next((str(key) for key in keys if key), "")


def _lookup(lesson: Lesson, number: int, scene: Scene) -> Trace | None:
    """The lookup that is under way at a step: that of the last step before it, on the same file, that makes one."""
    for step in reversed(lesson.steps[: number + 1]):
        if step.lookup:
            try:
                return traced(scene.shard, scene.fill(step.lookup))
            except ShardError as error:
                raise NotHereError(error.message) from error
        if step.fresh is not None:
            break
    return None


def _shown_before(lesson: Lesson, number: int, scene: Scene) -> int:
    """The step of the lookup that is on show when a step begins, for somebody who goes on with a lesson there."""
    if lesson.steps[number].lookup or scene.trace is None:
        return -1
    for step in reversed(lesson.steps[:number]):
        for kind, place in step.shows:
            if kind is Show.STEP:
                return scene.step(scene.fill(place))
        if step.lookup or step.fresh is not None:
            break
    return -1


def _filled(question: Question, scene: Scene) -> Question:
    """A question with the values that are read before it is answered; the answer stays as it is written."""
    return replace(
        question,
        prompt=scene.prose(question.prompt),
        choices=tuple(replace(choice, text=scene.prose(choice.text)) for choice in question.choices),
        hints=tuple(map(scene.prose, question.hints)),
    )


def _found(kind: Show, place: str, scene: Scene) -> Shown:
    if kind is Show.NODE:
        path = scene.node(place)
        return Shown(kind, path=path, span=path[-1].span)
    if kind is Show.STEP:
        return Shown(kind, step=scene.step(place))
    if kind is Show.BYTES:
        return Shown(kind, span=_span(place))
    name, *values = place.split()
    return Shown(kind, name, values=tuple((one.partition("=")[0], one.partition("=")[2]) for one in values))


def _span(text: str) -> Span:
    """`A..B` or `A..B of SOURCE`."""
    place, _, source = text.partition(" of ")
    first, dots, last = place.partition("..")
    try:
        if not dots:
            raise GotoError("two dots are missing")
        return Span(source.strip(), calculate(first), calculate(last))
    except (GotoError, ValueError) as error:
        raise NotHereError(f"{text} names no bytes") from error
