"""Preview of objects: a content prepared for display, the base class of its views, and the controls they share.

The view `<name>` of a content is the class `<Name>View` in the module `<name>_view`, imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QHBoxLayout, QLayout, QToolButton, QWidget

from shardcore import ObjectRef, Shard, Span
from shardcore.dataclasses import dataclass
from shardcore.model.content_layout import ContentPart, part_at, part_stored_at
from shardscope.session.session import Session
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.keyboard import select_current
from shardscope.widgets.layouts import lay, made

if TYPE_CHECKING:
    from shardcore import Content, TextContent


@dataclass(frozen=True, slots=True)
class Preview:
    """Content of an object, or of a part such as a tensor, prepared by a job.

    Attributes:
        begin: Offset of the content in the object.
        name: Name of the part; empty for the whole object.
        widened: Bytes of the content per byte of the object: 2 for 16-bit floats shown as 32-bit ones.
        held: For a compressed part, its half-open byte range in the object; its single bytes cannot be located.
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
    """View of contents; `prepare` runs in a job and may read, `show_preview` gets its result and must not read."""

    pointed = Signal(object, object)
    """Carries the half-open byte range under the pointer; 0, 0 for none."""
    chosen = Signal(object, object)
    """Carries the half-open byte range that was clicked or reached with a key."""

    part_wanted = Signal(int)
    """Carries the index of the tensor or archive member to open."""

    label: ClassVar[str] = ""

    has_find: ClassVar[bool] = False

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        # Not a focus proxy, which would break the tab order of the controls above.
        self.keys: QWidget = self

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Any) -> Any:
        """Return what `show_preview` needs; None if there is nothing to show."""
        raise NotImplementedError

    def show_preview(self, preview: Preview) -> None:
        raise NotImplementedError

    def mark(self, start: int, stop: int) -> None:
        """Mark the elements of bytes `[start, stop)` and scroll to them."""

    def open_find(self) -> None:
        pass

    def copy(self) -> None:
        if (image := self.picture()) is not None:
            QGuiApplication.clipboard().setImage(image)

    def picture(self) -> QImage | None:
        return None


def single_bytes(content: TextContent) -> tuple[bytes, str]:
    """Return the bytes of a text and their encoding. UTF-16 and UTF-32 become UTF-8, which has other offsets."""
    if content.encoding.startswith(("utf-16", "utf-32")):
        return content.text.lstrip("\ufeff").encode("utf-8", "replace"), "utf-8"
    return content.data, content.encoding.removesuffix("-sig")


def view_class(name: str) -> type[ContentView]:
    found: type[ContentView] = getattr(import_module(f"{__name__}.{name}_view"), f"{name.title()}View")
    return found


# --- controls ---


def row(*parts: QWidget | QLayout | int, edges: tuple[int, int, int, int] = (8, 0, 8, 4), gap: int = 4) -> QHBoxLayout:
    """Return a layout of controls side by side. Numbers (empty space) and elided labels take the remaining width."""
    stretched = ((part, 1) if isinstance(part, Elided) else part for part in parts)
    return lay(QHBoxLayout(), *stretched, margins=edges, spacing=gap)


def button(
    name: str, text: str, clicked: Callable[[], object], *, tip: str = "", spoken: str = "", checkable: bool = False
) -> QToolButton:
    found = made(QToolButton(), name, text=text, toolTip=tip, accessibleName=spoken, checkable=checkable)
    return made(found, focusPolicy=Qt.FocusPolicy.StrongFocus, clicked=lambda _: clicked())


def choice(name: str, spoken: str, items: Sequence[str] = ()) -> QComboBox:
    found = made(QComboBox(), name, accessibleName=spoken)
    found.addItems(list(items))
    return found


def value_line(name: str) -> Elided:
    return made(Elided(greedy=True), name)


def selected_cells(view: QAbstractItemView, text: Callable[[int, int], str]) -> list[list[str]]:
    cells = sorted((index.row(), index.column()) for index in view.selectedIndexes())
    return [[text(*cell) for cell in line] for _, line in groupby(cells, key=itemgetter(0))]


class ItemLinks(QObject):
    """Emits `pointed` and `chosen` of a content view for the items of its table or tree, and marks items.

    `bytes_of` returns the half-open byte range of the item at a model index, which may be invalid.
    """

    def __init__(
        self, owner: ContentView, view: QAbstractItemView, bytes_of: Callable[[QModelIndex], tuple[int, int]]
    ) -> None:
        super().__init__(view)
        self._owner, self._view, self._bytes_of = owner, view, bytes_of
        self._marking = False
        view.setMouseTracking(True)
        view.entered.connect(lambda index: owner.pointed.emit(*bytes_of(index)))
        view.clicked.connect(self._choose)
        view.selectionModel().currentChanged.connect(self._walked)
        view.installEventFilter(self)
        view.viewport().installEventFilter(self)

    def mark(self, index: QModelIndex) -> None:
        self._marking = True
        self._view.setCurrentIndex(index)
        self._view.scrollTo(index)
        self._marking = False

    def _choose(self, index: QModelIndex) -> None:
        self._owner.chosen.emit(*self._bytes_of(index))

    def _walked(self, now: QModelIndex, _before: QModelIndex) -> None:
        by_key = self._view.hasFocus() and not QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
        # Focus also makes an item current, but does not select it.
        if by_key and not self._marking and self._view.selectionModel().isSelected(now):
            self._choose(now)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave and watched is not self._view:
            self._owner.pointed.emit(0, 0)
        if watched is not self._view or not select_current(self._view, event):
            return False
        self._choose(self._view.currentIndex())
        return True
