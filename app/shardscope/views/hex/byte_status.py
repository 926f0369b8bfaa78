"""Texts about a byte or selection: tooltip, and offset, length and field in the status line."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from shardcore import Node, Section, Span
from shardcore.model.text import long_size, plural, shown_lines, without_marks
from shardcore.operations.notes import Note
from shardscope.session.display_text import (
    cut_end,
    cut_middle,
    grouped,
    headline,
    offset_words,
    range_words,
    span_words,
)
from shardscope.session.finding_marks import Mark
from shardscope.session.section_lookup import section_at, sections_in
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.note_flag import BOOKMARK, FLAG
from shardscope.widgets.plain_text import tip

_WIDTH = 340
_MOST_MARKS = 3
_LONGEST = 160


def tip_text(
    offset: int,
    path: Sequence[Node],
    sections: Sequence[Section],
    marks: Sequence[Mark],
    notes: Sequence[Note] = (),
) -> str:
    lines = [f"<b>{escape(path_text(path, offset, sections))}</b>"]
    if path:
        node = path[-1]
        if said := headline(node):
            lines.append(escape(cut_end(said, _LONGEST)))
        if node.doc:
            lines.append(f"<i>{escape(grouped(without_marks(node.doc)))}</i>")
        if node.error:
            lines.append(f"⚠ {escape(grouped(node.error))}")
        lines.append(escape(span_words(node.span)))
    else:
        section = section_at(sections, offset)
        if section is not None:
            if section.doc:
                lines.append(f"<i>{escape(grouped(without_marks(section.doc)))}</i>")
            lines.append(escape(range_words(section.start, section.stop)))
    lines.append(f"byte {offset_words(offset)}")
    lines += [f"⚠ {escape(cut_end(grouped(mark.message), _LONGEST))}" for mark in marks[:_MOST_MARKS]]
    texts = [cut_end(shown_lines(note.text) or BOOKMARK, _LONGEST) for note in notes[:_MOST_MARKS]]
    lines += [f"{FLAG} {escape(text)}".replace("\n", "<br>") for text in texts]
    return f"<table width={_WIDTH}><tr><td>{'<br>'.join(lines)}</td></tr></table>"


def path_text(path: Sequence[Node], offset: int, sections: Sequence[Section]) -> str:
    if len(path) > 1:
        return " › ".join(cut_middle(node.name) for node in path[1:])
    section = section_at(sections, offset)
    if section is not None:
        return section.name
    return path[0].name if path else "bytes"


VALUE = 220
"""Minimum width in pixels to which a longer value is cut."""

MOST = 3
"""Maximum number of sections named; more are counted."""


class HexStatus(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hexStatus")
        self.offset = self._label("statusOffset", self.tr("Offset of the selection"))
        self.length = self._label("statusLength", self.tr("Length of the selection"))
        self.value = self._label("statusValue", self.tr("Meaning of the selected bytes"), greedy=True)
        self.whole = self._label("statusSize", self.tr("Size of the source"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 0, 0)
        row.setSpacing(18)
        row.addWidget(self.offset)
        row.addWidget(self.length)
        row.addWidget(self.value, 1)
        row.addWidget(self.whole)

    def show_selection(self, span: Span, size: int, path: Sequence[Node], sections: Sequence[Section]) -> None:
        offset = offset_words(span.start)
        self.offset.setText(self.tr("offset {0}").format(offset) if size else self.tr("no bytes"))
        self.length.setText(plural(span.size, "byte") if size else "")
        names = [section.name for section in sections_in(sections, span.start, span.stop)] if size else []
        self.value.setToolTip(tip("\n".join(names)) if len(names) > 1 else self.value.accessibleDescription())
        self.value.set_text(_value(path, span, names) if size else "")
        self.whole.setText(long_size(size))
        self._fit_parts()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_parts()

    def _fit_parts(self) -> None:
        row = self.layout()
        gap = row.spacing() if row is not None else 0
        value = min(self.fontMetrics().horizontalAdvance(self.value.text()), VALUE)
        wish = {label: label.sizeHint().width() + gap for label in (self.offset, self.length, self.whole)}
        self.length.setVisible(self.width() >= wish[self.offset] + value + wish[self.length])
        self.whole.setVisible(self.width() >= sum(wish.values()) + value)

    def clear(self) -> None:
        for label in (self.offset, self.length, self.value, self.whole):
            label.clear()

    def _label(self, name: str, meaning: str, *, greedy: bool = False) -> Elided:
        label = Elided(greedy=greedy)
        label.setObjectName(name)
        label.setAccessibleDescription(meaning)
        label.setToolTip(meaning)
        return label


def _value(path: Sequence[Node], span: Span, names: Sequence[str]) -> str:
    if len(names) > 1 and (len(path) < 2 or not path[-1].span.holds(span)):
        return ", ".join(names) if len(names) <= MOST else plural(len(names), "section")
    if len(path) > 1:
        said = headline(path[-1])
        return f"{path[-1].name}: {said}" if said else path[-1].name
    return names[0] if names else path_text(path, span.start, ())
