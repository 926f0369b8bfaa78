"""Prepares a lesson step for the open file: values in its texts, bytes and drawings that it shows; packs new files."""

from __future__ import annotations

import shlex
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import LargeRead, ShardError, SourceError, UsageError
from shardcore.model.drawing import STEP, Drawing, Sketch, StaticSketch, sketch_label, sketch_named, value_from
from shardcore.model.node import Node
from shardcore.model.options import OptionPurpose
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import format_of
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Trace
from shardcore.sources.base import at_most
from shardcore.teaching.lessons.lesson import Answer, Fresh, Lesson, LessonStep, Question, Show, StepCondition
from shardcore.teaching.lessons.placeholders import LessonScene, NotHereError

FRESH = "shardscope-lesson-"

_TEXT = ("shard", "index", "header", "footer", "offset", "bucket", "chunk", "digest", "slot", "segment", "range", "key")
_MOST_WORDS = 60
_NAMES = range(2_000, 60_000)
"""Range of the numbers that name objects; they may be keys, and are small enough to divide on paper."""
_PIECE = 4096


def is_fresh(uri: str) -> bool:
    return any(part.startswith(FRESH) for part in Path(uri).parts)


def make_fresh(fresh: Fresh, format: str, folder: Path, random: Random) -> Path:
    """Pack random objects into a new file or data set in the empty `folder`; return its path.

    Raises:
        UsageError: An option of the lesson names a file or folder.
    """
    from shardcore.operations.pack import pack

    found = format_of(fresh.format or format)
    declared = {option.name: option for option in found.options_for(OptionPurpose.WRITE)}
    for name, value in fresh.options:
        if name in declared and declared[name].opens(value):
            raise UsageError(f"{name}={short(value)}: lessons cannot use files or folders as options")
    inputs = folder / "objects"
    inputs.mkdir()
    if found.writes is not None and found.writes.single:
        numbers = [random.randrange(1000) for _ in range(fresh.objects * _PIECE // 8)]
        (inputs / "numbers").write_bytes(struct.pack(f"<{len(numbers)}q", *numbers))
    else:
        for number in random.sample(_NAMES, fresh.objects):
            # Each text begins with a number, because shards whose keys are hashes reject objects with equal content.
            words = " ".join(random.choices(_TEXT, k=random.randrange(1, _MOST_WORDS)))
            (inputs / str(number)).write_text(f"{number} {words}")
    out = folder / ("fresh" if fresh.folder else f"fresh{next(iter(found.suffixes), '')}")
    pack(found.name, f"{out}/" if fresh.folder else out, sorted(inputs.iterdir()), options=dict(fresh.options))
    shutil.rmtree(inputs)
    return out


MOST_INDEX = 4 << 20

_FRESH = 100
_TRIES = 10
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class StepTarget:
    """Something that a lesson step shows: node, bytes, step of the lookup, drawing (of such a step) or panel."""

    kind: Show
    name: str = ""
    path: tuple[Node, ...] = ()
    span: Span | None = None
    step: int = -1
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LessonStage:
    """Step of a lesson, prepared for the open file: placeholders in its texts are replaced by values of the file.

    Attributes:
        missing: Reason why the step cannot be shown for this file; empty if it can.
        before: Number of the last lookup step that the previous steps of the lesson show, or -1.
        line: Line of the lesson text that causes `missing`, counted from 1; 0 without an error.
    """

    number: int
    step: LessonStep
    text: str
    question: Question | None
    shown: tuple[StepTarget, ...]
    revealed: tuple[StepTarget, ...]
    scene: LessonScene
    missing: str = ""
    before: int = -1
    line: int = 0

    @property
    def waits(self) -> bool:
        """True if later steps of the lookup and the drawing stay hidden until the answer is given."""
        return self.question is not None and self.question.kind is not Answer.MENDED

    @property
    def origin(self) -> int:
        """Offset of the first bytes that the step shows, at which a row of the byte view begins; 0 if it shows none."""
        spans = (target.path[-1].span if target.path else target.span for target in self.shown)
        return next((span.start for span in spans if span is not None), 0)

    @property
    def last_step(self) -> int | None:
        """Number of the last step of the lookup shown before the answer; None without a lookup."""
        if self.scene.trace is None:
            return None
        return max((target.step for target in self.shown if target.kind is Show.STEP), default=self.before)


def staged(lesson: Lesson, number: int, shard: Shard, key: str) -> LessonStage:
    """Return step `number` of a lesson with the values of a shard in its texts; damage is reported in `missing`.

    Loads an index of up to `MOST_INDEX` bytes. `key` is the key to look up; if it is empty, one is chosen.

    Raises:
        SourceError: The source cannot be read.
    """
    step = lesson.steps[number]
    scene = LessonScene(shard, key)
    try:
        with at_most(MOST_INDEX):
            if not shard.loaded and shard.index_cost <= MOST_INDEX:
                shard.load_index()
            scene = LessonScene(shard, key or pick_key(shard))
            return _staged(lesson, number, scene)
    except (NotHereError, ShardError) as error:  # damage, or more bytes than the limit
        if isinstance(error, SourceError) and not isinstance(error, LargeRead):
            raise
        line = error.line if isinstance(error, NotHereError) else 0
        return LessonStage(number, step, "", None, (), (), scene, missing=error.message, line=line or step.line)


def _staged(lesson: Lesson, number: int, scene: LessonScene) -> LessonStage:
    step = lesson.steps[number]
    with _at(step, step.lookup):
        scene = replace(scene, trace=_lookup(lesson, number, scene))
    for condition in step.conditions:
        with _at(step, condition.line):
            _check_condition(condition, scene)
    shown = tuple(_found(kind, place, scene, step, step.shows) for kind, place in step.shows)
    revealed = tuple(_found(kind, place, scene, step, (*step.shows, *step.reveals)) for kind, place in step.reveals)
    question = _filled(step.question, scene, step) if step.question is not None else None
    if question is not None:
        with _at(step, question.answer):
            answer = scene.fill(question.answer)
            if question.kind is Answer.ITEM:
                _check_item(answer, shown, scene)
            elif question.kind is Answer.NODE:
                scene.span(answer)
    try:
        before = _shown_before(lesson, number, scene)
    except NotHereError:
        before = -1  # the lookup in this file has other steps
    return LessonStage(number, step, scene.prose(step.text), question, shown, revealed, scene, before=before)


def pick_key(shard: Shard) -> str:
    """Return a key to look up, the same one at each call; empty if the shard has no keys."""
    objects = shard.objects
    first = len(objects) // 3
    rows = (*objects.keys[first : first + _LOOKED_AT], *objects.keys[:_LOOKED_AT])
    return next(_plain_keys(shard, rows), "")


def fresh_file(lesson: Lesson, number: int, fresh: Fresh, folder: Path, random: Random) -> tuple[Path, str]:
    """Pack new files until one has a key with which the step can be shown; return both, or the last file and no key."""
    for _ in range(_TRIES):
        made = make_fresh(fresh, lesson.format, Path(mkdtemp(dir=folder)), random)
        with open_shard(made) as shard:
            shard.load_index()
            keys = [*_plain_keys(shard, shard.objects.keys[:_FRESH])]
            for key in random.sample(keys, len(keys)):
                if not staged(lesson, number, shard, key).missing:
                    return made, key
    return made, ""


def _plain_keys(shard: Shard, keys: Sequence[object]) -> Iterator[str]:
    kinds = shard.objects.kinds
    return (str(key) for key in keys if key and str(key).partition(":")[0] not in kinds)


def _lookup(lesson: Lesson, number: int, scene: LessonScene) -> Trace | None:
    """Return the trace of the last `- lookup:` line up to step `number`; None if there is none in the current file."""
    for step in reversed(lesson.steps[: number + 1]):
        if step.lookup:
            try:
                return scene.shard.trace(scene.fill(step.lookup))
            except ShardError as error:
                raise NotHereError(error.message) from error
        if step.fresh is not None:
            break
    return None


def _shown_before(lesson: Lesson, number: int, scene: LessonScene) -> int:
    if lesson.steps[number].lookup or scene.trace is None:
        return -1
    for step in reversed(lesson.steps[:number]):
        for kind, place in step.shows:
            if kind is Show.STEP:
                return scene.step(scene.fill(place))
        if step.lookup or step.fresh is not None:
            break
    return -1


def _filled(question: Question, scene: LessonScene, step: LessonStep) -> Question:
    """Replace placeholders in a question. Choices are shuffled with the prompt as seed: their order never changes."""
    choices = list(question.choices)
    Random(question.prompt).shuffle(choices)
    # Replies are filled in now, so that errors in them are reported before an answer is given.
    for text in (question.prompt, *question.hints, question.right, *(choice.why for choice in question.choices)):
        with _at(step, text):
            scene.fill(text)
    return replace(
        question,
        prompt=scene.prose(question.prompt),
        choices=tuple(replace(choice, text=scene.prose(choice.text)) for choice in choices),
        hints=tuple(map(scene.prose, question.hints)),
        wrong=tuple(wrong for wrong in question.wrong if _is_fillable(wrong, scene)),
    )


def _check_condition(condition: StepCondition, scene: LessonScene) -> None:
    numbers = [scene.fill(f"{{= {scene.fill(side)}}}") for side in (condition.left, condition.right)]
    left, right = map(int, numbers)
    if not (left > right if condition.sign == ">" else left == right):
        raise NotHereError(scene.fill(condition.otherwise))


@contextmanager
def _at(step: LessonStep, text: str) -> Iterator[None]:
    try:
        yield
    except NotHereError as error:
        error.line = error.line or step.line_of(text)
        raise


def _is_fillable(wrong: tuple[str, str], scene: LessonScene) -> bool:
    try:
        for text in wrong:
            scene.fill(text)
    except NotHereError:
        return False
    return True


def _found(
    kind: Show, text: str, scene: LessonScene, step: LessonStep, shows: Sequence[tuple[Show, str]]
) -> StepTarget:
    with _at(step, text):
        place = scene.fill(text)
        if kind is Show.NODE:
            path = scene.node(place)
            return StepTarget(kind, path=path, span=path[-1].span)
        if kind is Show.STEP:
            return StepTarget(kind, step=scene.step(place))
        if kind is Show.BYTES:
            return StepTarget(kind, span=scene.span(place))
        try:
            name, *values = shlex.split(place)
        except ValueError as error:
            raise NotHereError(f"`{place}` has an open quotation mark") from error
        pairs = tuple((one.partition("=")[0], one.partition("=")[2]) for one in values)
        titles = [scene.fill(title) for one, title in shows if one is Show.STEP]
        shown = StepTarget(kind, name, step=scene.step(titles[-1]) if titles else 0, values=pairs)
        if kind is Show.DRAWING:
            drawn(shown, scene)
        return shown


def drawn(shown: StepTarget, scene: LessonScene) -> Drawing:
    """Return the drawing that a step shows, with the control values that the lesson specifies.

    Raises:
        NotHereError: The drawing, control or value is unknown.
    """
    sketch = _sketch(shown, scene)
    sketch.draw({})  # controls that depend on values in the file exist only after the first drawing
    controls = {control.name: control for control in sketch.controls}
    for name, _ in shown.values:
        if name not in controls:
            there = ", ".join(controls) or "nothing"
            raise NotHereError(f"the drawing “{shown.name}” has no control {name}; available: {there}")
    try:
        return sketch.draw({name: value_from(controls[name], text) for name, text in shown.values})
    except UsageError as error:
        raise NotHereError(f"the drawing “{shown.name}” cannot be shown with these values: {error.message}") from error


def _sketch(shown: StepTarget, scene: LessonScene) -> Sketch:
    sketches, name = scene.shard.sketches(scene.trace), shown.name
    if name == STEP:
        drawing = scene.trace.steps[shown.step].drawing if scene.trace is not None else None
        if drawing is not None:
            return StaticSketch(STEP, STEP, drawing)
    found = sketch_named(sketches, name)
    if found is None:
        there = ", ".join(map(sketch_label, sketches)) or "none"
        raise NotHereError(f"unknown drawing “{name}”; available for this file: {there}")
    return found


def _check_item(answer: str, shown: Sequence[StepTarget], scene: LessonScene) -> None:
    name, _, sketch = (part.strip() for part in answer.partition(" of "))
    drawing = next((one for one in shown if one.kind is Show.DRAWING and one.name == sketch), None)
    if drawing is None:
        raise NotHereError(f"the step requests a click in the drawing “{sketch}”, but does not show that drawing")
    if name not in {item.name for item in drawn(drawing, scene).items}:
        raise NotHereError(f"the drawing “{sketch}” has no item {name}")
