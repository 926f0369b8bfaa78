"""Values that an open question asks for, and that no view may show before the answer. No Qt here.

A large number, or a text, is hidden wherever it is written: in the tree, in tables, in drawings, in the status line. A
small number is hidden where it means the answer: at the node that is asked for and its neighbours in a table, in sizes,
offsets or counts when the question is about one, and in the whole lookup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from shardcore.errors import ShardError
from shardcore.model.drawing import Bits, Drawing, Figure, Item, Ribbon, Ruler, Table, Tone
from shardcore.model.node import Node
from shardcore.model.record import FieldRole
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.teaching.lessons.answers import number_of
from shardcore.teaching.lessons.lesson import Answer, Question, Show
from shardcore.teaching.lessons.values import LessonScene, outermost

if TYPE_CHECKING:
    from shardcore.teaching.lessons.stage import LessonStage

HIDDEN = "?"
"""Text that replaces what is asked."""

LEAST_NUMBER = 100
"""Numbers from here on are hidden wherever they are written; smaller ones only where they mean the answer."""

LEAST_LETTERS = 4
"""Texts of at least so many letters are hidden wherever they are written."""

_SERIES = 3
"""Items of a drawing with the same name but for a number that are a series: slots, chunks, bytes."""

_CLOSE = 4
"""Highlighted bytes of less than so many times the size of the answer give its location away."""

_NEVER = re.compile(r"(?!)")
_DIGITS = re.compile(r"\d+")
_KEY = re.compile(r"[0-9A-Za-z]{16,}")
"""The text of a row that is its key."""
_NAMES = re.compile(r"[a-z][a-z0-9_-]+")


class Aspect(StrEnum):
    OFFSET = "offset"
    SIZE = "size"
    COUNT = "count"


_PROMPTS = {
    Aspect.OFFSET: re.compile(r"\b(?:which byte|what offset|which offset)\b", re.IGNORECASE),
    Aspect.SIZE: re.compile(r"\b(?:how many (?:\w+ )?bytes|how long|what size|how large)\b", re.IGNORECASE),
    Aspect.COUNT: re.compile(r"\bhow many (?!(?:\w+ )?bytes)", re.IGNORECASE),
}
_ASPECTS = {FieldRole.OFFSET: Aspect.OFFSET, FieldRole.SIZE: Aspect.SIZE, FieldRole.COUNT: Aspect.COUNT}
_UNITS = {"byte": Aspect.OFFSET, "bytes": Aspect.SIZE}


@dataclass(frozen=True)
class Secrets:
    numbers: frozenset[int] = frozenset()
    texts: frozenset[str] = frozenset()
    aspects: frozenset[Aspect] = frozenset()
    fields: frozenset[str] = frozenset()
    within: Span | None = None
    unnamed: tuple[str, Span] | None = None
    place: Span | None = None
    items: frozenset[tuple[str, str]] = frozenset()
    last_step: int | None = None
    decoded: bool = False
    keys: bool = False

    def __bool__(self) -> bool:
        return self is not NOTHING and self != NOTHING

    def text(self, text: str, aspect: Aspect | None = None) -> str:
        if not text or self is NOTHING:
            return text
        return (self._all if aspect in self.aspects else self._anywhere).sub(HIDDEN, text)

    def lookup(self, text: str, step: int = -1) -> str:
        if not text or self is NOTHING:
            return text
        return HIDDEN if self.hides_step(step) else self._all.sub(HIDDEN, text)

    def hides_step(self, step: int) -> bool:
        return self.last_step is not None and step > self.last_step

    def node(self, node: Node) -> Node:
        if self is NOTHING:
            return node
        unnamed = self.hides_name(node.name, node.span)
        if unnamed or self.hides_value(node):
            bare = replace(node, value=None, text=HIDDEN if node.text else "", sum="", target=None, elsewhere=None)
            nameless = replace(bare, name=HIDDEN, doc="", type="", role=FieldRole.GROUP, differs=None)
            return nameless if unnamed else bare
        value, target = node.value, node.target
        if self.text(node.text) != node.text or self.text(str(value)) != str(value):
            value, target = None, None
        return replace(
            node,
            name=self._names.sub(HIDDEN, node.name),
            value=value,
            text=self.text(node.text),
            doc=self.text(node.doc),
            sum=self.text(node.sum),
            error=self.text(node.error),
            target=target,
        )

    def path(self, path: Iterable[Node]) -> tuple[Node, ...]:
        return tuple(map(self.node, path))

    def sections(self, sections: Sequence[Section], source: str = "") -> tuple[Section, ...]:
        return tuple(
            replace(one, name=HIDDEN, doc="", role=SectionRole.UNKNOWN)
            if self.hides_name(one.name, Span(source, one.start, one.stop))
            else replace(one, doc=self.text(one.doc))
            for one in sections
        )

    def hides_value(self, node: Node) -> bool:
        if self.keys and (node.role is FieldRole.KEY or _KEY.fullmatch(node.text)):
            return True
        if isinstance(node.value, int) and node.value in self.numbers and _ASPECTS.get(node.role) in self.aspects:
            return True
        if self.within is None or not self.within.holds(node.span) or node.expandable:
            return False
        return node.name in self.fields or "" in self.fields

    def hides_name(self, name: str, span: Span) -> bool:
        return self.unnamed is not None and (name, span) != self.unnamed and self.unnamed[1].holds(span)

    def lights(self, span: Span) -> bool:
        place = self.place
        if place is None or span.source != place.source:
            return True
        apart = span.stop <= place.start or place.stop <= span.start
        return apart or span.size >= _CLOSE * max(place.size, 1)

    def drawing(self, drawing: Drawing, sketch: str = "") -> Drawing:
        if not (self.numbers or self.texts or self.items or self.place):
            return drawing
        answers = {item.name for item in drawing.items if item.name and self._answers(item, sketch)}
        return replace(
            drawing,
            title=self.lookup(drawing.title),
            figures=tuple(self._figure(figure, answers) for figure in drawing.figures),
            links=tuple(
                replace(link, text=self.lookup(link.text), stage=0, doc="")
                for link in drawing.links
                if link.start not in answers and link.stop not in answers
            ),
            caption=self.lookup(drawing.caption),
        )

    def _answers(self, item: Item, sketch: str) -> bool:
        if (sketch, item.name) in self.items or any(not self.lights(span) for span in item.spans):
            return True
        found = _DIGITS.findall(item.name)
        marked = item.here or item.tone is Tone.HIT or self.keys
        return bool(found) and int(found[-1]) in self.numbers and marked

    def _figure(self, figure: Figure, answers: set[str]) -> Figure:
        if isinstance(figure, Table):
            return replace(figure, title=self.lookup(figure.title), rows=self._rows(figure.rows, answers))
        if isinstance(figure, Ribbon):
            bands = self._items([band.item for band in figure.bands], answers)
            return replace(
                figure,
                title=self.lookup(figure.title),
                above=replace(figure.above, items=self._items(figure.above.items, answers)),
                below=replace(figure.below, items=self._items(figure.below.items, answers)),
                bands=tuple(replace(band, item=item) for band, item in zip(figure.bands, bands, strict=True)),
            )
        items = self._items(figure.items, answers)
        if isinstance(figure, Ruler):  # a highlighted item has its text above it, others have it cut to their width
            pairs = zip(figure.items, items, strict=True)
            items = tuple(replace(new, text=HIDDEN) if old.here and not new.here else new for old, new in pairs)
        shown = replace(figure, title=self.lookup(figure.title), items=items)
        return replace(shown, value=None) if isinstance(shown, Bits) and shown.value in self.numbers else shown

    def _rows(self, rows: Sequence[Sequence[Item]], answers: set[str]) -> tuple[tuple[Item, ...], ...]:
        columns = {at for row in rows for at, item in enumerate(row) if self.lookup(item.text) != item.text}
        whole = columns if len(rows) >= _SERIES else set()
        return tuple(
            tuple(
                replace(
                    item,
                    text=HIDDEN if at in whole and item.text else self.lookup(item.text),
                    doc=HIDDEN if item.doc and (at in columns or answers) else self.lookup(item.doc),
                    stage=0,
                    here=item.here and not (columns or item.name in answers),
                    tone=Tone.PLAIN if item.tone is Tone.HIT and (columns or item.name in answers) else item.tone,
                )
                for at, item in enumerate(row)
            )
            for row in rows
        )

    def _items(self, items: Sequence[Item], answers: set[str]) -> tuple[Item, ...]:
        kinds = [_DIGITS.sub("", item.name) for item in items]
        counts = Counter(kinds)
        asked = {kind for item, kind in zip(items, kinds, strict=True) if item.name in answers}
        written = {kind for item, kind in zip(items, kinds, strict=True) if self.lookup(item.text) != item.text}
        written |= asked if self.numbers else set()
        tones = {kind: _usual_tone(items, kinds, kind) for kind in asked}
        return tuple(
            replace(
                item,
                text=HIDDEN if kind in written and counts[kind] >= _SERIES and item.text else self.lookup(item.text),
                doc=HIDDEN if kind in asked | written and item.doc else self.lookup(item.doc),
                stage=0,
                here=item.here and item.name not in answers,
                tone=tones[kind] if item.name in answers else item.tone,
            )
            for item, kind in zip(items, kinds, strict=True)
        )

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        found = [_number(number) for number in sorted(self.numbers) if abs(number) >= LEAST_NUMBER]
        small = [number for number in sorted(self.numbers) if abs(number) < LEAST_NUMBER]
        if Aspect.SIZE in self.aspects:
            found += [rf"{_number(number)}(?= (?:bytes?|bits?|B)\b)|(?<=× ){_number(number)}" for number in small]
        if Aspect.COUNT in self.aspects:
            found += [rf"{_number(number)}(?= (?!bytes\b|bits\b)[a-z]+s\b)" for number in small]
        if Aspect.OFFSET in self.aspects:
            found += [rf"(?<=byte ){_number(number)}" for number in small]
        found += self._words
        return re.compile("|".join(found), re.IGNORECASE) if found else _NEVER

    @cached_property
    def _words(self) -> list[str]:
        short = {len(text) for text in self.texts if len(text) < LEAST_LETTERS}
        names = [rf"(?<=_)[0-9a-f]{{{length}}}(?=_)" for length in sorted(short)]
        return names + [_letters(text) for text in sorted(self.texts) if len(text) >= LEAST_LETTERS]

    @cached_property
    def _names(self) -> re.Pattern[str]:
        return re.compile("|".join(self._words), re.IGNORECASE) if self.texts else _NEVER

    @cached_property
    def _all(self) -> re.Pattern[str]:
        found = [*map(_number, sorted(self.numbers)), *self._words, *map(_letters, sorted(self.texts))]
        return re.compile("|".join(found), re.IGNORECASE) if found else _NEVER


NOTHING = Secrets()
"""No question is open."""


def _number(number: int) -> str:
    plain = rf"{number:,}|{number}" if number >= 1000 else str(number)
    forms = rf"{plain}|0x0*{number:x}" if number >= 0 else plain
    return rf"(?<!\w)(?<!\d[.,])(?:{forms})(?!\w)(?![.,]\d)"


def _letters(text: str) -> str:
    quoted = re.escape(text)
    return quoted if len(text) >= 2 * LEAST_LETTERS else rf"(?<!\w){quoted}(?!\w)"


def _usual_tone(items: Sequence[Item], kinds: Sequence[str], kind: str) -> Tone:
    tones = Counter(
        item.tone
        for item, own in zip(items, kinds, strict=True)
        if own == kind and not item.here and item.tone not in (Tone.HIT, Tone.EMPTY, Tone.MISS)
    )
    return tones.most_common(1)[0][0] if tones else Tone.PLAIN


def secrets_of(stage: LessonStage) -> Secrets:
    question, scene = stage.question, stage.scene
    if question is None or question.kind in (Answer.MENDED, Answer.BYTES):
        return NOTHING
    shown = [target.path for target in stage.shown if target.path]
    if question.kind is Answer.NODE:
        found = _of_node(scene.node(scene.fill(question.answer)))
    elif question.kind is Answer.ITEM:
        name, _, sketch = scene.fill(question.answer).partition(" of ")
        found = Secrets(items=frozenset({(sketch.strip(), name.strip())}))
    elif question.kind is Answer.CHOICE:
        found = _of_choice(question, shown)
    else:
        found = _of_value(question, scene, shown)
    if scene.trace is None:
        return found
    steps = [target.step for target in stage.shown if target.kind is Show.STEP]
    row = scene.trace.ref.row if scene.trace.ref is not None else -1
    return replace(found, last_step=max(steps, default=stage.before), keys=row in found.numbers)


def _of_node(path: Sequence[Node]) -> Secrets:
    around = list(path[:-1])
    while len(around) > 2 and _DIGITS.search(around[-1].name):
        around.pop()  # the row of a table: which one is asked, too
    whole = around[-1] if around else path[-1]
    return Secrets(unnamed=(whole.name, whole.span), place=path[-1].span)


def _of_choice(question: Question, shown: Iterable[Sequence[Node]]) -> Secrets:
    leaves = [path for path in shown if not path[-1].expandable]
    if not leaves:
        return NOTHING
    node = leaves[-1][-1]
    right = next(choice.text for choice in question.choices if choice.right).lower()
    words = node.text.lower()
    return Secrets(
        fields=frozenset({node.name}),
        within=node.span,
        texts=frozenset(_NAMES.findall(words) if _words(words) and _words(words) <= _words(right) else ()),
        decoded=True,
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z][a-z0-9]+", text.lower()))


def _of_value(question: Question, scene: LessonScene, shown: Iterable[Sequence[Node]]) -> Secrets:
    answer = scene.fill(question.answer)
    number = number_of(answer) if question.kind is Answer.NUMBER else None
    secrets = Secrets(
        numbers=frozenset() if number is None else frozenset({number}),
        texts=frozenset({answer.strip().lower().removeprefix("0x")} if number is None else ()),
        decoded=True,
    )
    asked, aspects = _reference(question.answer, scene)
    aspects |= {aspect for aspect, words in _PROMPTS.items() if words.search(question.prompt)}
    if not asked:
        # Calculated, or written out: a selected field that holds it is the one that is asked.
        asked = next((path for path in shown if not path[-1].expandable and path[-1].value == number), ())
    if number is not None and number == _count(scene):
        aspects |= {Aspect.COUNT}
    if asked and asked[-1].role in _ASPECTS:
        aspects |= {_ASPECTS[asked[-1].role]}
    secrets = replace(secrets, aspects=frozenset(aspects))
    if not asked:
        return secrets
    node, around = asked[-1], asked[-2] if len(asked) > 1 else asked[-1]
    if len(asked) > 2 and _DIGITS.search(around.name):
        around = asked[-3]  # a column of a table: a single hidden cell would be the answer
    listed = bool(_DIGITS.search(node.name))
    return replace(secrets, fields=frozenset({"" if listed else node.name}), within=around.span)


def _count(scene: LessonScene) -> int:
    try:
        return len(scene.shard.objects)
    except ShardError:
        return -1


def _reference(answer: str, scene: LessonScene) -> tuple[Sequence[Node], set[Aspect]]:
    places = list(outermost(answer.strip()))
    if len(places) != 1 or places[0] != (0, len(answer.strip()) - 1):
        return (), set()
    inner = scene.fill(answer.strip()[1:-1]).strip()
    word, of, path = inner.partition(" of ")
    if inner == "count of objects":
        return (), {Aspect.COUNT}
    if inner == "size of file":
        return (), {Aspect.SIZE}
    if word in ("value", "text") and of:
        return scene.node(path), set()
    if word in ("start", "stop", "size") and of:
        return (), {Aspect.SIZE if word == "size" else Aspect.OFFSET}
    name, within, title = inner.partition(" in ")
    if not within or scene.trace is None or inner.startswith("="):
        return (), set()
    meaning = scene.trace.steps[scene.step(title.strip())].meanings.get(name.strip())
    return (), {_UNITS[meaning.unit]} if meaning is not None and meaning.unit in _UNITS else set()
