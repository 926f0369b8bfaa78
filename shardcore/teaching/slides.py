"""Slides of a lecture: a drawing, the bytes that it describes, and one sentence at a time.

A slide is a step of a lesson, a step of a lookup, or a section of a file. It is shown in beats: one for each sentence,
each stage of the drawing, each question and each answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import PurePath
from string import ascii_lowercase

from shardcore.dataclasses import dataclass, replace
from shardcore.model.drawing import STEP, Drawing, Item, Ruler, Table, Tone
from shardcore.model.node import Node
from shardcore.model.section import Section
from shardcore.model.span import Span
from shardcore.model.text import plural, shown, visible
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Step, StepContent, Trace
from shardcore.teaching.lessons.answers import judged, solution
from shardcore.teaching.lessons.lesson import Answer, Question, Show
from shardcore.teaching.lessons.lesson_step import LessonStage, StepTarget, drawn
from shardcore.teaching.lessons.placeholders import escaped
from shardcore.teaching.step_drawing import VALUES, cut, step_drawing

MOST_SLIDES = 64

_ROWS = 6
_WIDE = 130
_COLUMNS = 16

_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9*`“({])")
_LETTERS = 48
_NUMBERED = re.compile(r"^(?:[-*] |\d+\. )")


@dataclass(frozen=True, slots=True)
class Beat:
    text: str
    stage: int | None = None
    asks: bool = False
    choices: tuple[str, ...] = ()
    drawing: Drawing | None = None
    spans: tuple[Span, ...] = ()
    item: str = ""


@dataclass(frozen=True, slots=True)
class Slide:
    title: str
    beats: tuple[Beat, ...]
    drawing: Drawing | None = None
    spans: tuple[Span, ...] = ()


def sentences(text: str) -> tuple[str, ...]:
    """Split Markdown into sentences; a list item is one sentence."""
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", text):
        line = " ".join(paragraph.split())
        if line:
            found += [line] if _NUMBERED.match(line) else _ENDS.split(line)
    return tuple(found)


def trace_slides(trace: Trace) -> tuple[Slide, ...]:
    return tuple(_step_slide(step) for step in trace.steps)


def section_slides(shard: Shard) -> tuple[Slide, ...]:
    """Return a slide per section, or per shard of a data set; at most `MOST_SLIDES`."""
    nodes = shard.tree.children[:MOST_SLIDES]
    places: list[tuple[str, str, Span, Node | None]] = [(node.name, node.doc, node.span, node) for node in nodes]
    if shard.sections:
        by_span = {node.span: node for node in nodes}
        spans = [(section, Span("", section.start, section.stop)) for section in shard.sections if section.size]
        places = [(section.name, section.doc, span, by_span.get(span)) for section, span in spans[:MOST_SLIDES]]
    empty = Slide(shard.format, (Beat(f"This {shard.format} shard has no bytes to show."),))
    return tuple(_place_slide(*place, shard.sections) for place in places) or (empty,)


def lesson_slide(stage: LessonStage) -> Slide:
    drawing, spans = _targets(stage, stage.shown)
    stages = _stages(drawing)
    beats = [Beat(text, stage=0 if stages else None) for text in sentences(stage.text)]
    asked = _question(stage, stage.question) if stage.question is not None else []
    # The stages of the drawing would show the answer, so they follow the question.
    beats += [*asked[:1], *stages, *asked[1:]]
    return Slide(stage.step.title, tuple(beats) or (Beat(stage.missing or stage.step.title),), drawing, spans)


def _step_slide(step: Step) -> Slide:
    drawing = _plain(step.drawing)
    told, why = ([Beat(_marked(one)) for one in sentences(text)] for text in (step.text, step.why))
    stages = _stages(drawing)
    # The text would show the result, so it follows the stages of the drawing.
    beats = [*(replace(beat, stage=0) for beat in why), *stages, *told] if stages else told + why
    return Slide(step.title, tuple(beats) or (Beat(step.title),), drawing, step.inputs if step.computed else step.spans)


def _stages(drawing: Drawing | None) -> list[Beat]:
    return [Beat(_marked(text), stage=at) for at, text in enumerate(drawing.stages, 1)] if drawing is not None else []


def _place_slide(name: str, doc: str, span: Span, node: Node | None, sections: Sequence[Section]) -> Slide:
    spans = (span,)
    tables = [_children_table(node)] if node is not None and len(node.children) else []
    drawing = _plain(step_drawing(StepContent("", "", spans, (), (), tables), sections))
    beats = [Beat(_marked(one)) for one in sentences(doc) or (f"{name}: {plural(span.size, 'byte')}.",)]
    return Slide(name, tuple(beats), drawing, spans)


def _children_table(node: Node) -> Table:
    fields = [_field(child) for child in node.children[:_COLUMNS]]
    ends = list(accumulate(max(len(name.text), len(value.text)) + 3 for name, value in fields))
    count = sum(end <= _WIDE for end in ends)
    wide = count >= min(_ROWS, len(node.children))
    count = count if wide else min(_ROWS, len(fields))
    more = f", the first {count} of {len(node.children):,}" if len(node.children) > count else ""
    title = f"{visible(PurePath(node.name).name or node.name)}{more}"
    if not wide:
        return Table(title, ("name", "value"), tuple(fields[:count]))
    return Table(title, tuple(name.text for name, _ in fields[:count]), (tuple(value for _, value in fields[:count]),))


def _field(node: Node) -> tuple[Item, Item]:
    spans = (node.span,) if node.span.size else ()
    doc = visible(node.doc)
    text, tone = node.text or plural(node.span.size, "byte"), Tone.HIT if spans else Tone.PLAIN
    name, value = (cut(visible(one), _LETTERS) for one in (node.name, text))
    return Item(name, spans, doc=doc), Item(value, spans, tone=tone, doc=doc)


def _targets(stage: LessonStage, targets: Sequence[StepTarget]) -> tuple[Drawing | None, tuple[Span, ...]]:
    steps = [target.step for target in targets if target.kind is Show.STEP]
    trace = stage.scene.trace
    step = trace.steps[steps[-1]] if trace is not None and steps else None
    spans: tuple[Span, ...] = (step.inputs if step.computed else step.spans) if step is not None else ()
    drawing = step.drawing if step is not None else None
    for target in targets:
        if target.kind in (Show.NODE, Show.BYTES) and target.span is not None:
            node = target.path[-1] if target.path else None
            place = _place_slide("", "", target.span, node, stage.scene.shard.sections_of(target.span.source))
            drawing, spans = place.drawing, place.spans
    sketches = [target for target in targets if target.kind is Show.DRAWING]
    drawing = _plain(drawing)
    if sketches:
        sketch = drawn(sketches[-1], stage.scene)
        drawing = _plain(sketch) if sketches[-1].name == STEP else replace(sketch, title="", caption="")
    if drawing is None and targets is stage.shown:
        shard, whole = stage.scene.shard, StepContent("", "", (Span("", 0, 0),), (), (), ())
        drawing = Drawing("", (_children_table(shard.tree),))
        if shard.sections:
            drawing = step_drawing(whole, shard.sections)
    return drawing, spans


def _question(stage: LessonStage, question: Question) -> list[Beat]:
    choices = tuple(f"{letter}) {one.text}" for letter, one in zip(ascii_lowercase, question.choices, strict=False))
    if question.kind is Answer.MENDED:
        return [Beat(question.prompt, asks=True), Beat(stage.scene.prose(question.right))]
    given = solution(question, stage.scene)
    text = judged(question, given, stage.scene).text
    if question.kind is Answer.CHOICE:
        text = f"**{choices[int(given.text)]}.** {text}"
    elif question.kind in (Answer.NUMBER, Answer.TEXT):
        begins = text.replace(",", "").lstrip("*`").startswith(given.text)
        text = text if begins else f"**{escaped(given.text)}.** {text}"
    drawing, spans = _targets(stage, stage.revealed)
    spans = (given.span,) if given.span is not None else spans
    item = given.text if question.kind is Answer.ITEM else ""
    return [
        Beat(question.prompt, asks=True, choices=choices),
        Beat(text, choices=choices, drawing=drawing, spans=spans, item=item),
    ]


def _marked(text: str) -> str:
    return "`".join(escaped(part) if not at % 2 else part for at, part in enumerate(shown(text).split("`")))


def _plain(drawing: Drawing | None) -> Drawing | None:
    """Return a drawing without title, caption, section legend, and tables that no arrow uses."""
    if drawing is None:
        return None
    walks = [figure for figure in drawing.figures if any(item.stage == 1 for item in figure.items)]
    own = [figure for figure in drawing.figures if not (isinstance(figure, Table) and figure.title in VALUES)]
    linked = {name for link in drawing.links if link.stage for name in (link.start, link.stop)}
    if walks or linked:
        own = [figure for figure in own if figure in walks or linked & {item.name for item in figure.items}]
    elif not any(figure for figure in own if not isinstance(figure, Ruler)):
        own = list(drawing.figures)
    names = {item.name for figure in own for item in figure.items}
    links = tuple(link for link in drawing.links if {link.start, link.stop} <= names)
    legend: dict[Tone, str] = {tone: meaning for tone, meaning in drawing.legend.items() if tone is not Tone.HIT}
    return replace(drawing, title="", caption="", figures=tuple(own), links=links, legend=legend)
