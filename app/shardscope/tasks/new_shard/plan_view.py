"""Plan of a new shard: objects, sizes and offsets of its files and their sections, as a strip and a tree."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QSizePolicy,
    QToolTip,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from shardcore import Section, SectionRole
from shardcore.model.text import grouped_digits, plural, shown, shown_lines, size_text, without_marks
from shardcore.writing.plan import Plan, PlannedFile
from shardscope.session.display_text import offset_words, range_words, share_text
from shardscope.tasks.form import side_button
from shardscope.tasks.new_shard.request import Planned, note_lines
from shardscope.tasks.task_dialog import large_elided
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.layouts import keep_room, lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.strip_paint import SectionStrip, StripScale, paint_strip, paint_swatch
from shardscope.widgets.table import LEFT, RIGHT, Index

NAME, OBJECTS, SIZE, OFFSET = range(4)
COLUMNS = ("Name", "Objects", "Size", "Offset")

ABOUT = "≈ "
"""Prefix of estimated numbers."""


class PlanModel(QAbstractItemModel):
    """Files of a plan with their sections. The internal id of a file is 0, of a section 1 + the index of its file."""

    def __init__(self, view: QWidget) -> None:
        super().__init__(view)
        self._view = view
        self._planned: Planned | None = None
        self._name = ""

    def set_planned(self, planned: Planned | None, name: str = "") -> None:
        self.beginResetModel()
        self._planned, self._name = planned, name
        self.endResetModel()

    @property
    def files(self) -> tuple[PlannedFile, ...]:
        return self._planned.plan.files if self._planned is not None else ()

    def file_number(self, index: Index) -> int:
        return index.internalId() - 1 if index.internalId() else index.row()

    def section(self, index: Index) -> Section | None:
        return self.files[index.internalId() - 1].sections[index.row()] if index.internalId() else None

    # --- overrides of Qt ---

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008
        if not index.isValid() or not index.internalId():
            return QModelIndex()
        return self.createIndex(index.internalId() - 1, 0, 0)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if not parent.isValid():
            return len(self.files)
        if parent.internalId() or parent.column():
            return 0
        return len(self.files[parent.row()].sections)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.tr(COLUMNS[section])
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self._planned is None:
            return None
        section = self.section(index)
        match role:
            case Qt.ItemDataRole.DecorationRole if section is not None and not index.column():
                return swatch(section.role, self._view)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(index.column())
            case Qt.ItemDataRole.DisplayRole:
                return shown(self._texts(self._planned, index, section)[index.column()])
            case Qt.ItemDataRole.ToolTipRole if section is not None:
                return tip(without_marks(section.doc))
            case Qt.ItemDataRole.ToolTipRole:
                name = self._texts(self._planned, index, None)[NAME]
                counts = self._planned.kinds.get(index.row())
                return tip(f"{name}: {counts or plural(len(self.files[index.row()].objects), 'object')}")
        return None

    def _texts(self, planned: Planned, index: Index, section: Section | None) -> tuple[str, str, str, str]:
        def about(number: int, words: Callable[[int], str] = grouped_digits) -> str:
            return f"{'' if planned.plan.exact or not number else ABOUT}{words(number)}"

        if section is not None:
            return section.name, "", about(section.size), about(section.start, offset_words)
        file = self.files[index.row()]
        objects = planned.kinds.get(index.row()) or grouped_digits(len(file.objects))
        beside = not len(file.objects) and len(self.files) > 1
        name = self._name if self._name and file.name == planned.name else file.name
        return name, "—" if beside else objects, about(file.size), ""


def _alignment(column: int) -> Qt.AlignmentFlag:
    return RIGHT if column in (SIZE, OFFSET) else LEFT


class PlanStrip(SectionStrip):
    natural, beside, above, below = 320, 3.0, 3.0, 5.0
    spoken_role = QAccessible.Role.Graphic

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        spoken, focus = self.tr("The sections of the new file"), Qt.FocusPolicy.StrongFocus
        made(self, "planStrip", accessibleName=spoken, focusPolicy=focus)
        self.current = -1
        self._exact = True
        self._size = 0
        self.sections: tuple[Section, ...] = ()

    def show_file(self, file: PlannedFile | None, *, exact: bool = True) -> None:
        self.sections = tuple(one for one in file.sections if one.size) if file is not None else ()
        self._size = file.size if file is not None else 0
        self._exact, self.current = exact, -1
        self.setAccessibleDescription(", ".join(map(self.label, self.sections)))
        self._rescale()

    def mark(self, section: Section | None) -> None:
        self.current = self.sections.index(section) if section in self.sections else -1
        self.update()

    def label(self, section: Section) -> str:
        about = "" if self._exact else ABOUT
        return f"{section.name} · {about}{size_text(section.size)} · {share_text(section.size, self._size)}"

    def _rescale(self) -> None:
        self._scale = StripScale(self._size, self.sections, self.width() - 2 * self.beside)
        self.update()

    def section_at(self, x: float) -> int:
        """Return the index of the section at a horizontal pixel position; -1 without sections."""
        if not self.sections:
            return -1
        return self.sections.index(self._scale.section_at(x - self.beside))

    # --- events ---

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, strip = theme.of(self), self._strip()
        if self._size:
            paint_strip(painter, colours, self._scale, strip, self.label)
        else:
            painter.setPen(QPen(colours.border, 1, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(strip.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        if 0 <= self.current < len(self.sections):
            left, right = (strip.left() + self._scale.edges[self.current + at] for at in (0, 1))
            painter.setPen(QPen(colours.text, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(left + 1, strip.top() + 1, max(right - left - 3, 2), strip.height() - 2))
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self.section_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and number >= 0:
            self.chosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self.sections) - 1
        targets = {
            Qt.Key.Key_Left: max(self.current - 1, 0),
            Qt.Key.Key_Right: min(self.current + 1, last),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        key = Qt.Key(event.key())
        if self.sections and key in targets:
            self.chosen.emit(targets[key])
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            if (number := self.section_at(event.pos().x())) >= 0:
                QToolTip.showText(event.globalPos(), self.tip_of(number), self)
            return True
        return super().event(event)

    def tip_of(self, number: int) -> str:
        section = self.sections[number]
        about = "" if self._exact else ABOUT
        lines = (
            f"<b>{theme.SECTION_LETTERS[section.role]} · {escape(section.name)}</b>",
            escape(without_marks(section.doc)),
            f"{about}{range_words(section.start, section.stop)}",
            f"{about}{plural(section.size, 'byte')}, {share_text(section.size, self._size)} of the file",
        )
        return "<br>".join(line for line in lines if line)


_SWATCH = 15
_NUMBER, _KINDS = 13, 26
"""Column widths in digits: for a number, and for numbers of objects per kind."""

_MOST_SHARE = 10
"""Maximum ratio of overhead to content that is shown as a percentage."""

_ROWS = 8


def swatch(role: SectionRole, widget: QWidget) -> QPixmap:
    scale = widget.devicePixelRatioF()
    picture = QPixmap(QSize(_SWATCH, _SWATCH) * scale)
    picture.setDevicePixelRatio(scale)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setFont(sized(widget.font(), SMALL))
    paint_swatch(painter, theme.of(widget), role, QRectF(0, 0, _SWATCH, _SWATCH))
    painter.end()
    return picture


class PlanView(QWidget):
    exact_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("planView")
        self.model = PlanModel(self)
        self.headline = made(large_elided("", self), "planHeadline")
        self.summary = made(Elided(greedy=True, parent=self), "planSummary")
        doc = self.tr("Reads and compresses the contents without writing anything")
        self.exact = side_button(self.tr("Compute e&xactly"), self.exact_wanted.emit, "exactButton", doc)
        keep_room(self.exact)
        self.strip = made(PlanStrip(self), chosen=self._choose)
        self.tree = QTreeView(self)
        self.notes = plain_label("", "planNotes", wrap=True)
        self.notes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.planned: Planned | None = None
        self._set_up_tree()
        head = lay(QHBoxLayout(), (self.headline, 1), self.exact, spacing=10)
        words = lay(QVBoxLayout(), head, self.summary, spacing=2)
        lay(QVBoxLayout(self), words, self.strip, (self.tree, 1), self.notes, spacing=6)
        self.tree.selectionModel().currentChanged.connect(lambda now, _: self._follow(now))
        self.show_none("")

    def _set_up_tree(self) -> None:
        tree = made(self.tree, "planTree", accessibleName=self.tr("Files and sections of the plan"))
        made(tree, iconSize=QSize(_SWATCH, _SWATCH), uniformRowHeights=True, tabKeyNavigation=False)
        tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        tree.setModel(self.model)
        header = tree.header()
        made(header, sectionsMovable=False, stretchLastSection=False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for column in (OBJECTS, SIZE, OFFSET):
            header.resizeSection(column, tree.fontMetrics().horizontalAdvance("0") * _NUMBER)
        tree.setMinimumHeight(_ROWS * (tree.fontMetrics().height() + 5) + 12)
        tree.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    # --- called by the dialog ---

    def show_none(self, why: str) -> None:
        self.planned = None
        self.model.set_planned(None)
        self.strip.show_file(None)
        self.headline.set_text("")
        self._say(why)
        self.exact.hide()
        self.notes.hide()

    def show_busy(self, words: str) -> None:
        self._say(words)
        self.exact.setEnabled(False)

    def show_plan(self, planned: Planned, name: str) -> None:
        self.planned = planned
        plan = planned.plan
        self.model.set_planned(planned, name)
        digits = _KINDS if planned.kinds else _NUMBER
        self.tree.header().resizeSection(OBJECTS, self.tree.fontMetrics().horizontalAdvance("0") * digits)
        self.headline.set_text(headline_text(plan, name))
        self._say(summary_text(planned), plan=True)
        self.exact.setVisible(not plan.exact)
        self.exact.setEnabled(True)
        self.notes.setText("\n".join(map(shown_lines, note_lines(planned.notes, planned.losses))))
        theme.write_in(self.notes, "muted")
        self.notes.setVisible(bool(planned.notes))
        if plan.files:
            # Select the largest shard, not a file beside it.
            sizes = [(bool(len(file.objects)), file.size) for file in plan.files]
            largest = sizes.index(max(sizes))
            self.tree.expand(self.model.index(largest, 0))
            self.tree.setCurrentIndex(self.model.index(largest, 0))
        else:
            self.strip.show_file(None)

    # --- internal ---

    def _say(self, words: str, *, plan: bool = False) -> None:
        self.summary.set_text(words)
        theme.write_in(self.summary, "text" if plan else "muted")

    def _choose(self, number: int) -> None:
        file = self.model.file_number(self.tree.currentIndex())
        section = self.model.files[file].sections.index(self.strip.sections[number])
        above = self.model.index(file, 0)
        self.tree.expand(above)
        self.tree.setCurrentIndex(self.model.index(section, 0, above))

    def _follow(self, index: QModelIndex) -> None:
        if index.isValid() and self.planned is not None:
            file = self.model.files[self.model.file_number(index)]
            self.strip.show_file(file, exact=self.planned.plan.exact)
            self.strip.mark(self.model.section(index))


def headline_text(plan: Plan, name: str) -> str:
    about = "" if plan.exact else ABOUT
    files = f"{plural(len(plan.files), 'file')} · " if len(plan.files) != 1 else ""
    return f"{shown(name)} · {files}{about}{plural(plan.size, 'byte')}"


def summary_text(planned: Planned) -> str:
    """Return a text such as `41 objects · 12,345 bytes of content · 1,234 bytes of overhead (10.0 %)`."""
    plan = planned.plan
    about = "" if plan.exact else ABOUT
    parts = [plural(planned.objects, "object"), f"{plural(plan.content, 'byte')} of content"]
    what = f"{plural(abs(plan.overhead), 'byte')} {'of overhead' if plan.overhead >= 0 else 'saved'}"
    has_share = plan.content and abs(plan.overhead) < _MOST_SHARE * plan.content
    share = f" ({share_text(abs(plan.overhead), plan.content)})" if has_share else ""
    return " · ".join([*parts, f"{about}{what}{share}"])
