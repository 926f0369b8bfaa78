"""Default drawing of a lookup step: its figures, its values, and rulers that show the bytes in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from shardcore.dataclasses import dataclass, replace
from shardcore.model.drawing import MOST_ITEMS, SECTION, Cells, Drawing, Figure, Item, Link, Ribbon, Ruler, Table, Tone
from shardcore.model.record import FieldRole
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span
from shardcore.model.text import ends_text, letters_of, plural, said, visible
from shardcore.shards.trace import Compared, Fields, Shown, StepContent, StepValue
from shardcore.teaching import item_of, part_of

_LEGEND = {Tone.HIT: "bytes of this step", Tone.SIZE: "bytes of an earlier step"}
_VERDICTS = {Tone.HIT: "bytes of this step; equal", Tone.MISS: "different"}

VALUES = ("Values", "Computed values")
"""Titles of the table of values, for a step that reads and for one that computes."""

_MOST_SECTIONS = 8
_MOST_SPANS = 6
_MOST_TARGETS = 3
_MOST_ROWS = 14
_GROUPS = 8
_WORD = 8
_LETTERS = 72
_COLUMNS = 3
_NARROW = 12
"""A span with named parts gets its own ruler if it is smaller than the file size divided by this number."""

ROLE_TONES = {
    FieldRole.OFFSET: Tone.POINTER,
    FieldRole.SIZE: Tone.SIZE,
    FieldRole.KEY: Tone.KEY,
    FieldRole.HASH: Tone.KEY,
    FieldRole.PADDING: Tone.FAINT,
    FieldRole.UNUSED: Tone.FAINT,
}
SECTION_TONES = {
    SectionRole.HEADER: Tone.HEADER,
    SectionRole.INDEX: Tone.INDEX,
    SectionRole.LOOKUP: Tone.LOOKUP,
    SectionRole.DATA: Tone.DATA,
    SectionRole.METADATA: Tone.METADATA,
    SectionRole.FOOTER: Tone.FOOTER,
}


@dataclass(frozen=True, slots=True)
class _Target:
    name: str
    item: str
    byte: int
    section: bool = False


def drawing_of_step(name: str, fact: Any, step: StepContent, sections: Sequence[Section]) -> Drawing:
    """Return the drawing of a step: the drawing that the format defines for this lookup result, or the default."""
    part = part_of(name) if name else None
    if part is None:
        return step_drawing(step, sections)
    shown: Drawing | Sequence[Shown] = part.step_figures(fact, step.title)
    return shown if isinstance(shown, Drawing) else step_drawing(replace(step, shown=shown), sections)


def step_drawing(step: StepContent, sections: Sequence[Section] = ()) -> Drawing:
    size = sections[-1].stop if sections else 0
    figures: list[Figure] = []
    targets: list[_Target] = []
    for one in step.shown:
        if isinstance(one, Fields):
            figures.append(_fields_figure(one, targets))
        elif isinstance(one, Compared):
            figures += _compared_figures(one)
        else:
            figures.append(one)
    drawn = {name for one in step.shown if isinstance(one, Fields) for name in one.record.sizes}
    rows = _rows([value for value in step.values if value.name not in drawn], targets)
    found = [target for target in targets if 0 <= target.byte <= size][:_MOST_TARGETS]
    rulers = _rulers(step, sections, found)
    room = MOST_ITEMS - sum(len(figure.items) for figure in (*figures, *rulers))
    if room < 0:
        rulers = []
    shown = rows[: max(min(_MOST_ROWS, room // _COLUMNS), 0)]
    if shown:
        headings = ("name", "value", "meaning")[: 3 if any(row[2].text for row in shown) else 2]
        lines = tuple(row[: len(headings)] for row in shown)
        # The ruler is placed next to the fields, so that arrows do not cross the values.
        first = any(target.section for target in found)
        figures.insert(0 if first else len(figures), Table(VALUES[not step.spans], headings, lines))
    figures += rulers
    stages = max((item.stage for figure in figures for item in figure.items), default=0)
    if stages:
        figures = [one if any(item.stage for item in one.items) else _in_last_stage(one, stages) for one in figures]
    names = {item.name for figure in figures for item in figure.items}
    links = tuple(
        Link(target.item, end, tone=Tone.POINTER)
        for target in found
        if target.item in names and (end := _end_of(target, step.spans, sections)) in names
    )
    legend = _LEGEND | (_VERDICTS if any(isinstance(one, Compared) for one in step.shown) else {})
    more = len(rows) - len(shown) + max(len(step.spans) - _MOST_SPANS, 0)
    return Drawing(step.title, tuple(figures), links, step.caption, more, legend=MappingProxyType(legend))


def _in_last_stage(figure: Figure, stage: int) -> Figure:
    """Show the values of a figure only in the last stage of the animation; sections are always shown."""

    def late(item: Item) -> Item:
        return replace(item, stage=0 if item.name.startswith(SECTION) else stage)

    if isinstance(figure, Table):
        return replace(figure, rows=tuple((row[0], *map(late, row[1:])) for row in figure.rows))
    return replace(figure, items=tuple(map(late, figure.items))) if not isinstance(figure, Ribbon) else figure


def _rows(values: Sequence[StepValue], targets: list[_Target]) -> list[tuple[Item, ...]]:
    rows: list[tuple[Item, ...]] = []
    for value in values:
        spans = (value.span,) if value.span is not None else ()
        tone, name = Tone.HIT if spans else Tone.PLAIN, ""
        if value.target is not None:
            tone, name = Tone.POINTER, f"value {value.name}"
            targets.append(_Target(value.name, name, value.target))
        text = visible(value.text)
        doc = f"{value.name}: {text}. {value.meaning}".strip()
        rows.append(
            (
                Item(cut(value.name), spans, doc=doc),
                Item(cut(text), spans, tone=tone, doc=doc, name=name),
                Item(value.meaning, spans, doc=doc),
            )
        )
    return rows


def _fields_figure(fields: Fields, targets: list[_Target]) -> Table:
    record = fields.record
    rows: list[tuple[Item, ...]] = []
    for field in record.fields:
        if field.name not in fields.values:
            continue
        span, value = record.span(field.name, fields.start), fields.values[field.name]
        refers = field.role is FieldRole.OFFSET and not fields.relative and isinstance(value, int) and value >= 0
        name = f"field {field.name}" if refers else ""
        if refers:
            targets.append(_Target(field.name, name, value, section=True))
        text = (letters_of(value) if isinstance(value, bytes) else f"{value:#x}" if refers else "") or said(value)
        tone = ROLE_TONES.get(field.role, Tone.HEADER)
        rows.append(
            (
                Item(f"{span.start:#x}", (span,), doc=field.doc),
                Item(field.name, (span,), doc=field.doc),
                Item(cut(visible(text)), (span,), tone=tone, doc=field.doc, name=name),
            )
        )
    drawn = sum(record.sizes[field.name] for field in record.fields if field.name in fields.values)
    part = f"{drawn} of " if drawn < record.size else ""
    title = f"{record.name[:1].upper()}{record.name[1:]}, {part}{plural(record.size, 'byte')}"
    return Table(title, ("byte", "field", "value"), tuple(rows))


def _compared_figures(pair: Compared) -> tuple[Cells, Cells]:
    length = max(len(pair.wanted), len(pair.stored), 1)
    group, order = (_WORD, -1) if pair.words else (-(-length // _GROUPS), 1)
    ours, theirs = [], []
    starts = range(0, length, group)
    for number, first in enumerate(starts):
        last = min(first + group, length)
        mine, other = pair.wanted[first:last], pair.stored[first:last]
        where = f"Bytes {first} to {last - 1}"
        doc = f"{where}: {pair.origin.lower()}."
        ours.append(Item(mine[::order].hex() or "none", at=number, tone=Tone.KEY, doc=doc))
        at = pair.span.start + first if pair.span is not None else 0
        spans = (Span(pair.span.source, at, at + len(other)),) if pair.span is not None and other else ()
        tone, verdict = (Tone.HIT, "equal") if mine == other else (Tone.MISS, "different")
        text, doc = other[::order].hex() or "none", f"{where}: {verdict}."
        theirs.append(Item(text, spans, number, tone=tone, doc=doc, name=f"part {number}"))
    count, names = len(starts), tuple(str(first) for first in starts)
    title = f"{pair.origin}, {plural(length, 'byte')}"
    above = Cells(title, count, tuple(ours), columns=count, numbered=False, column_names=names)
    return above, Cells(pair.title, count, tuple(theirs), columns=count, numbered=False)


def _rulers(step: StepContent, sections: Sequence[Section], targets: Sequence[_Target]) -> list[Figure]:
    """Return a ruler of the file, and further rulers for spans that are too narrow on it or in another source."""
    rulers: list[Figure] = []
    left = _MOST_SPANS
    for source in dict.fromkeys(span.source for span in step.spans):
        spans = [span for span in step.spans if span.source == source and span.size][:left]
        left -= len(spans)
        parts = {span: name for span, name in step.stored.items() if span.source == source}
        if spans and (source or not sections):
            rulers.append(_close_ruler(spans, parts))
            continue
        whole = sections[-1].stop if sections else 0
        for span in spans:
            inside = {part: name for part, name in parts.items() if span.start <= part.start and part.stop <= span.stop}
            if set(inside) - {span} and span.size * _NARROW < whole:
                rulers.append(_close_ruler([span], inside))
    near = any(not span.source for span in (*step.spans, *step.inputs))
    if sections and sections[-1].stop and (near or targets):
        rulers.append(_file_ruler(step, sections, targets))
    return rulers


def _close_ruler(spans: Sequence[Span], parts: Mapping[Span, str]) -> Ruler:
    start, stop = min(span.start for span in spans), max(span.stop for span in spans)
    own = [span for span in spans if span not in parts]
    items = [item_of(plural(span.size, "byte"), span, Tone.HIT, f"{span}.", here=True) for span in own]
    inside = [(part, name) for part, name in parts.items() if start <= part.start and part.stop <= stop]
    items += [item_of(name, part, Tone.KEY, f"{name}: {part}.") for part, name in inside]
    title = f"Bytes {ends_text(start, stop)}{_source_text(spans[0].source)}"
    return Ruler(title, start, stop, tuple(items), "bytes")


def _source_text(name: str) -> str:
    source = SourceName.parse(name)
    if source.stretch is not None:
        return f" of the decoded bytes {ends_text(*source.stretch)}"
    return f" of {visible(name)}" if name else ""


def _file_ruler(step: StepContent, sections: Sequence[Section], targets: Sequence[_Target]) -> Ruler:
    own = [span for span in step.spans if not span.source and span.size][:_MOST_SPANS]
    before = [span for span in step.inputs if not span.source and span.size and span not in own]
    items = []
    for section in sections_near(sections, [*own, *before]):
        span, tone = Span("", section.start, section.stop), SECTION_TONES.get(section.role, Tone.FAINT)
        items.append(item_of(section.name, span, tone, section.doc, f"{SECTION}at {section.start}"))
    for number, span in enumerate(own):
        text = step.stored.get(span) or plural(span.size, "byte")
        first = all(one.start != span.start for one in own[:number])
        name = f"bytes at {span.start}" if first else ""
        items.append(item_of(text, span, Tone.HIT, f"{span}.", name, here=True))
    for span in before[: _MOST_SPANS - len(own)]:
        items.append(item_of("read before", span, Tone.SIZE, f"{span}."))
    size = sections[-1].stop
    for target in targets:
        at, doc, name = target.byte, f"{target.name}: byte {target.byte:#x}.", f"byte of {target.name}"
        if _end_of(target, step.spans, sections) == name:
            spans = (Span("", at, at + 1),) if at < size else ()
            items.append(Item(target.name, spans, at, 0, Tone.POINTER, doc, name))
    return Ruler("The file", 0, size, tuple(items), "bytes")


def _end_of(target: _Target, spans: Sequence[Span], sections: Sequence[Section]) -> str:
    """Return the name of the item to which an arrow leads: bytes of the step, a section, or a mark."""
    if any(span.start == target.byte and span.size and not span.source for span in spans):
        return f"bytes at {target.byte}"
    if target.section and any(one.start == target.byte and one.size for one in sections):
        return f"{SECTION}at {target.byte}"
    return f"byte of {target.name}"


def sections_near(sections: Sequence[Section], spans: Sequence[Span]) -> list[Section]:
    """Return the sections that are not empty; if there are very many, the largest and those that contain the spans."""
    solid = [section for section in sections if section.size]
    if len(solid) <= _MOST_SECTIONS:
        return solid
    touched = [one for one in solid if any(one.start < span.stop and span.start < one.stop for span in spans)]
    others = sorted((one for one in solid if one not in touched), key=lambda one: -one.size)
    return sorted([*touched, *others][:_MOST_SECTIONS], key=lambda one: one.start)


def cut(text: str, most: int = _LETTERS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
