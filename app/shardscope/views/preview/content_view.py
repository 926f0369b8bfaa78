"""Content prepared for display, and the base class of its views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from shardcore import Content, ObjectRef, Shard, Span
from shardcore.model.content_layout import ContentPart, part_at, part_stored_at
from shardscope.session.session import Session


@dataclass(frozen=True, slots=True)
class Preview:
    """Content of an object, or of a part such as a tensor, prepared by a job.

    Attributes:
        begin: Offset of the content in the object.
        name: Name of the part; empty for the whole object.
        widened: Bytes of the content per byte of the object: 2 for 16-bit floats shown as 32-bit ones.
        held: Half-open range of the object that contains a compressed part, whose bytes cannot be mapped.
    """

    ref: ObjectRef
    content: Content
    parts: Sequence[ContentPart]
    prepared: Any = None
    begin: int = 0
    name: str = ""
    widened: int = 1
    held: tuple[int, int] | None = None

    def span_of(self, start: int, stop: int) -> Span | None:
        """Return the stored bytes of a range of the content: exact, or the compressed blocks that contain it."""
        start, stop = start // self.widened + self.begin, -(-stop // self.widened) + self.begin
        if self.held is not None:
            start, stop = self.held
        first, last = part_at(self.parts, start), part_at(self.parts, max(stop - 1, start))
        if first is None:
            return None
        found = first.span_of(start, stop)
        if last is None or last == first:
            return found
        end = last.span_of(max(start, last.start), stop)
        if end.source != found.source or end.stop < found.start:
            return found
        return Span(found.source, min(found.start, end.start), max(found.stop, end.stop))

    def inside(self, span: Span | None) -> tuple[int, int] | None:
        """Return the half-open range of the content that is stored in a span; None if there is none."""
        part = part_stored_at(self.parts, span) if span is not None else None
        if span is None or part is None:
            return None
        first = part.content_at(span.start)
        stop = first + max(min(span.size, part.stop - first), 1) if part.exact else part.stop
        if self.held is not None:
            return (0, self.content.size) if first < self.held[1] and self.held[0] < stop else None
        first, stop = max(first - self.begin, 0), stop - self.begin
        if self.name:
            stop = min(stop, -(-self.content.size // self.widened))
        return (first * self.widened, stop * self.widened) if first < stop else None


class ContentView(QWidget):
    """View of one kind of content, registered in `VIEWS` of the panel.

    `prepare` runs in a job and may read; `show_preview` gets its result on the GUI thread and must not read.
    """

    pointed = Signal(object, object)
    """Carries the half-open byte range under the pointer; 0, 0 for none."""
    chosen = Signal(object, object)
    """Carries the half-open byte range that was clicked or reached with a key."""

    part_wanted = Signal(int)
    """Carries the index of the tensor or archive member to open."""

    label: ClassVar[str] = ""
    """Label in the view switch of the panel, one word."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        # Not a focus proxy, which would break the tab order of the controls above.
        self.keys: QWidget = self

    @classmethod
    def shows(cls, content: Content) -> bool:
        raise NotImplementedError

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> Any:
        return None

    def show_preview(self, preview: Preview) -> None:
        raise NotImplementedError

    def mark(self, start: int, stop: int) -> None:
        """Mark the elements of bytes `[start, stop)` and scroll to them."""

    def open_find(self) -> bool:
        return False

    def copy(self) -> bool:
        return False

    def picture(self) -> QImage | None:
        return None
