"""Tooltip of a byte."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from shardcore import Node, Section
from shardcore.model.text import shown_lines, without_marks
from shardcore.operations.notes import Note
from shardscope.session.marks import Mark
from shardscope.session.sections import section_at
from shardscope.session.words import cut_end, cut_middle, grouped, headline, offset_words, range_words, span_words
from shardscope.widgets.flag import BOOKMARK, FLAG

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
