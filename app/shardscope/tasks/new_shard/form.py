"""Form for a new shard: contents, list of formats, target, plan, options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QComboBox,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import Shard
from shardcore.model.options import OptionPurpose
from shardcore.model.text import plural, shown
from shardcore.operations.description import KeyChoice
from shardcore.shards.format import Format
from shardcore.shards.registry import writes_of
from shardcore.sources.remote.address import is_address
from shardcore.writing.declaration import KeyRule, Writes
from shardscope.session.open_request import OpenRequest
from shardscope.tasks.new_shard.fields import OptionForm
from shardscope.tasks.new_shard.inputs import InputCount
from shardscope.tasks.new_shard.inputs_view import ContentsView
from shardscope.tasks.new_shard.plan_view import PlanView
from shardscope.tasks.new_shard.request import ConvertWork, NewShardJob, NewShardTarget, PackWork, Planned
from shardscope.tasks.new_shard.target import suggested
from shardscope.tasks.new_shard.target_view import TargetView
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, SMALL, px, sized
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.wrap_text import WrapText

Index = QModelIndex | QPersistentModelIndex

FORMAT_ROLE = int(Qt.ItemDataRole.UserRole)

_PAD = 8
_GAP = 1
_SIGN = 26
"""Indentation of the text in pixels, for the radio button."""
_WRAP = int(Qt.TextFlag.TextWordWrap)


class _FormatRows(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        view = self.parent()
        width = view.viewport().width() if isinstance(view, QListView) else 300
        return QSize(width, 2 * _PAD + sum(height + _GAP for _, height, *_ in self._lines(index, option.font, width)))

    def _lines(self, index: Index, font: QFont, width: int) -> list[tuple[str, int, QFont]]:
        found = index.data(FORMAT_ROLE)
        bold, small = QFont(font), sized(font, SMALL)
        bold.setWeight(QFont.Weight.DemiBold)
        texts = ((found.title, bold), (found.writes.purpose, small), (found.writes.cannot, small))
        room = width - _SIGN - _PAD
        return [
            (text, QFontMetrics(one).boundingRect(QRect(0, 0, room, 1000), _WRAP, text).height(), one)
            for text, one in texts
        ]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view = self.parent()
        colours = theme.of(view) if isinstance(view, QWidget) else theme.of(option.widget)
        chosen = isinstance(view, QListView) and view.currentIndex() == index
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen:
            painter.setPen(QPen(colours.accent, 1))
            painter.setBrush(colours.raised)
            painter.drawRoundedRect(option.rect.adjusted(1, 1, -2, -2), 5, 5)
        middle = option.rect.top() + _PAD + painter.fontMetrics().height() // 2
        circle = QRect(option.rect.left() + 8, middle - 5, 11, 11)
        painter.setPen(QPen(colours.accent if chosen else colours.muted, 1))
        painter.setBrush(colours.base)
        painter.drawEllipse(circle)
        if chosen:
            painter.setBrush(colours.accent)
            painter.drawEllipse(circle.adjusted(3, 3, -3, -3))
        top = option.rect.top() + _PAD
        left, room = option.rect.left() + _SIGN, option.rect.width() - _SIGN - _PAD
        tones = (colours.text, colours.text, colours.muted)
        for (text, height, font), tone in zip(self._lines(index, option.font, option.rect.width()), tones, strict=True):
            painter.setFont(font)
            painter.setPen(tone)
            painter.drawText(QRect(left, top, room, height), _WRAP, text)
            if top == option.rect.top() + _PAD:
                # The name used in messages and on the command line.
                after = left + painter.fontMetrics().horizontalAdvance(text) + 10
                painter.setFont(option.font)
                painter.setPen(colours.muted)
                painter.drawText(
                    QRect(after, top, max(left + room - after, 0), height), 0, index.data(FORMAT_ROLE).name
                )
            top += height + _GAP
        painter.restore()


class FormatList(QListView):
    chosen = Signal()

    def __init__(self, formats: Sequence[Format], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("formatList")
        self.setAccessibleName(self.tr("Format"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self._model = QStandardItemModel(self)
        for found in formats:
            if found.writes is None:
                continue
            item = QStandardItem(found.title)
            item.setData(found, FORMAT_ROLE)
            words = f"{found.writes.purpose} {found.writes.cannot}"
            item.setData(words, Qt.ItemDataRole.AccessibleDescriptionRole)
            item.setToolTip(self.tr("{0}: written as {1}").format(found.name, " ".join(found.suffixes)))
            self._model.appendRow(item)
        self.setModel(self._model)
        self.setItemDelegate(_FormatRows(self))
        self.selectionModel().currentChanged.connect(lambda *_: self._moved())

    @property
    def format(self) -> Format:
        found: Format = self.currentIndex().data(FORMAT_ROLE)
        return found

    @property
    def names(self) -> list[str]:
        return [self._model.item(row).data(FORMAT_ROLE).name for row in range(self._model.rowCount())]

    def choose(self, name: str) -> None:
        """Select a format by name; unknown names select the first."""
        names = self.names
        self.setCurrentIndex(self._model.index(names.index(name) if name in names else 0, 0))

    def _moved(self) -> None:
        self.viewport().update()
        self.chosen.emit()

    def _fit(self) -> None:
        self.doItemsLayout()
        rows = sum(self.sizeHintForRow(row) for row in range(self._model.rowCount()))
        self.setFixedHeight(rows + 2 * self.frameWidth() + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()


RULES = (
    (KeyChoice.USUAL, "Default"),
    (KeyChoice.AS_IS, "Keep"),
    (KeyChoice.SHA256, "sha256 of the content"),
    (KeyChoice.NUMBER, "Numbers"),
    (KeyChoice.NAME, "File names"),
)

SENTENCES = {
    KeyChoice.AS_IS: "Keys are kept. A key that the format cannot store is an error.",
    KeyChoice.SHA256: "The key is the sha256 of the content. Equal contents become one object.",
    KeyChoice.NUMBER: "Objects are numbered from 0 in table order.",
    KeyChoice.NAME: "The key is the file name that extracting would use.",
}

CONVERTED = {"sha256": "the sha256 of the content becomes the key", "number": "objects are numbered from 0"}


class KeyRules(QWidget):
    changed = Signal()

    def __init__(self, shard: Shard, request: OpenRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.source = Elided(greedy=True, parent=self)
        count = shard.listing
        objects = f", {plural(len(count), 'row')}" if count is not None else ""
        self.source.set_text(f"{request.name} ({shard.format}{objects})")
        self.source.setToolTip(tip(request.shown))
        self.rule = QComboBox(self)
        self.rule.setObjectName("keyRule")
        self.rule.setAccessibleName(self.tr("Rule for keys"))
        self.rule.setToolTip(self.tr("Rule for the keys of the new shard"))
        for choice, words in RULES:
            self.rule.addItem(self.tr(words), choice.value)
        self.about = plain_label("", "keyRuleAbout", wrap=True)
        self.rule.currentIndexChanged.connect(lambda _: self.changed.emit())
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(1, 1)
        label = QLabel(self.tr("&Keys"), self)
        label.setBuddy(self.rule)
        grid.addWidget(QLabel(self.tr("From"), self), 0, 0)
        grid.addWidget(self.source, 0, 1)
        grid.addWidget(label, 1, 0)
        grid.addWidget(self.rule, 1, 1)
        grid.addWidget(self.about, 2, 1)

    @property
    def choice(self) -> KeyChoice:
        return KeyChoice(self.rule.currentData())

    def explain(self, writes: Writes) -> None:
        self.rule.setEnabled(writes.keys is not KeyRule.NONE)
        self.about.setText(shown(rule_text(self.choice, writes)))
        self.about.setStyleSheet(f"color: {theme.of(self).muted.name()};")


def rule_text(choice: KeyChoice, writes: Writes) -> str:
    if writes.keys is KeyRule.NONE:
        return "The format has no keys. A manifest beside it records which object had which key."
    if choice is not KeyChoice.USUAL:
        return SENTENCES[choice]
    if not writes.converted:
        return f"Keys are kept ({writes.key_form})."
    return f"Keys are kept if all are valid ({writes.key_form}); otherwise {CONVERTED[writes.converted]}."


def pack_keys_text(writes: Writes) -> str:
    match writes.keys:
        case KeyRule.CONTENT:
            return f"The key is computed from the content ({writes.key_form}), or given by a manifest."
        case KeyRule.PATH:
            return "The key is the path below the folder, with /, or given by a manifest."
        case KeyRule.OWN:
            return f"The key is the file name without extension ({writes.key_form}), or given by a manifest."
        case _:
            return "The format has no keys. If a manifest gives some, they are recorded in a manifest beside the shard."


WIDE = 880
"""Width in pixels at 100 % from which there are two columns."""


@dataclass(frozen=True, slots=True)
class Start:
    """Initial values of the form; `shard` is the one to convert, None for packing."""

    formats: Sequence[Format]
    format: str
    folder: str
    paths: tuple[str, ...] = ()
    shard: Shard | None = None
    request: OpenRequest | None = None


class PackForm(QWidget):
    """Form for all options of a new shard; `FormJobs` supplies counts, target and plan."""

    contents_changed = Signal()
    changed = Signal()
    exact_wanted = Signal()
    write_wanted = Signal()
    cancel_wanted = Signal()

    def __init__(self, start: Start, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("packForm")
        self.start = start
        self.counted = InputCount()
        self._refused, self._final = "", True
        converting = start.shard is not None
        self.contents = None if converting else ContentsView(list(start.paths), start.folder, self)
        self.rules = (
            KeyRules(start.shard, start.request, self)
            if start.shard is not None and start.request is not None
            else None
        )
        self.formats = FormatList(start.formats, self)
        self.place = TargetView(self)
        self.plan = PlanView(self)
        self.options = OptionForm((), self._changed, self)
        self.keys = _muted("keysAbout", self)
        self._lay_out()
        self.formats.choose(start.format)
        self._take_format()
        self._connect()

    # --- making ---

    def _lay_out(self) -> None:
        self._make_columns()
        self._make_foot()

    def _make_columns(self) -> None:
        self._left, self._right = QVBoxLayout(), QVBoxLayout()
        for side in (self._left, self._right):
            side.setSpacing(7)
        what = self.contents if self.contents is not None else self.rules
        total = self.contents.total if self.contents is not None else None
        self._add(self._left, self.tr("Contents") if self.contents is not None else self.tr("Source"), what, total)
        self._add(self._left, self.tr("Format"), self.formats)
        self._left.addWidget(self.keys)
        self._left.addStretch(1)
        self._add(self._right, self.tr("Target"), self.place)
        self._add(self._right, self.tr("Plan"), self.plan)
        self._options_head = self._add(self._right, self.tr("Options"), self.options)
        self._right.addStretch(1)
        inner = QWidget(self)
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight, inner)
        self._columns.setContentsMargins(20, 14, 20, 14)
        self._columns.setSpacing(28)
        self._columns.addLayout(self._left, 1)
        self._columns.addLayout(self._right, 1)
        spoken = self.tr("Contents, format, target, plan and options")
        self.area = scrolled(inner, "packArea", spoken, self)

    def _make_foot(self) -> None:
        self.problem = WrapText()
        self.problem.setObjectName("problemLine")
        self.buttons = QDialogButtonBox(self)
        self.write = self.buttons.addButton(self.tr("&Write"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.write.setObjectName("writeButton")
        self.write.setToolTip(self.tr("Writes the shard, verifies it and opens it"))
        self.write.setDefault(True)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        foot = QHBoxLayout()
        foot.setContentsMargins(20, 8, 20, 12)
        foot.setSpacing(14)
        foot.addWidget(self.problem, 1)
        foot.addWidget(self.buttons)
        line = QFrame(self)
        line.setFrameShape(QFrame.Shape.HLine)
        line.setObjectName("packLine")
        line.setFixedHeight(1)
        line.setStyleSheet(f"background: {theme.of(self).border.name()}; border: none;")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.area, 1)
        column.addWidget(line)
        column.addLayout(foot)

    def _add(self, side: QVBoxLayout, title: str, widget: QWidget | None, beside: QWidget | None = None) -> QLabel:
        head = plain_label(title, size=LARGE, bold=True)
        if side.count():
            side.addSpacing(9)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(head)
        if beside is not None:
            row.addWidget(beside, 1)
        else:
            row.addStretch(1)
        side.addLayout(row)
        if widget is not None:
            side.addWidget(widget)
        return head

    def _connect(self) -> None:
        self.formats.chosen.connect(self._format_chosen)
        self.place.changed.connect(self._changed)
        self.plan.exact_wanted.connect(self.exact_wanted)
        if self.contents is not None:
            self.contents.changed.connect(self._contents_changed)
        if self.rules is not None:
            self.rules.changed.connect(self._rule_changed)
        self.buttons.accepted.connect(self._write)
        self.buttons.rejected.connect(self.cancel_wanted)

    # --- what it states ---

    @property
    def target(self) -> NewShardTarget | None:
        path = self.place.path
        if path is None:
            return None
        return NewShardTarget(self.formats.format.name, path, self.place.folder, self.options.values, self.place.force)

    @property
    def work(self) -> NewShardJob | None:
        target = self.target
        if target is None:
            return None
        if self.rules is not None and self.start.request is not None:
            deleted = self.start.request.deleted
            return ConvertWork(target, shard=self.start.shard, keys=self.rules.choice, deleted=deleted)
        if not self.counted.inputs and not self._has_content:
            return None
        manifests = self.counted.manifests
        return PackWork(
            target,
            self.counted.count,
            inputs=self.counted.plain,
            manifest=manifests[0] if manifests else "",
            skip_unreadable=self.skips,
            report=self.contents is not None and self.contents.report.isChecked(),
        )

    @property
    def skips(self) -> bool:
        return self.contents is not None and self.contents.skip.isChecked()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Local paths that are read, which must not be replaced."""
        if self.contents is not None:
            return self.contents.paths
        uri = self.start.request.uri if self.start.request is not None else ""
        return (uri,) if uri and not is_address(uri) else ()

    @property
    def _has_content(self) -> bool:
        return any(field.option.content and field.value() for field in self.options.fields.values())

    @property
    def blocked(self) -> str:
        if self.work is None and self.contents is not None and not self.contents.paths:
            return self.tr("Add files or folders to pack.")
        wrong = self.counted.problem(skip=self.skips) or self.options.problem or self.place.problem
        return wrong.removeprefix("✖ ") or (self._refused if self._final else "")

    # --- what it is reported ---

    def show_counted(self, counted: InputCount) -> None:
        self.counted = counted
        if self.contents is not None:
            self.contents.show_count(counted)
        self._fit_place()
        self.refresh()

    def show_planned(self, planned: Planned) -> None:
        path = self.place.path
        self._refused = ""
        self.plan.show_plan(planned, path.name if path is not None else planned.name)
        self.refresh()

    def show_refused(self, why: str, option: str, *, final: bool) -> None:
        """Show why there is no plan, beside the invalid `option` if given; `final`: writing would certainly fail."""
        if not (option and self.options.reject(option, why)):
            self._refused, self._final = why, final
        self.plan.show_none(self.tr("No plan: see the message below"))
        self.refresh()

    def show_failed(self, why: str) -> None:
        self.refresh()
        self._say(why, wrong=True)
        self.write.setFocus()

    # --- inside ---

    def _format_chosen(self) -> None:
        self._take_format()
        self._changed()

    def _take_format(self) -> None:
        found = self.formats.format
        options = tuple(one for one in found.options_for(OptionPurpose.WRITE) if not one.hidden)
        form = OptionForm(options, self._changed, self)
        self._right.replaceWidget(self.options, form)
        self.options.hide()
        self.options.deleteLater()
        self.options = form
        form.show()
        self._options_head.setVisible(bool(options))
        self._explain_keys()
        self._fit_place()

    def _fit_place(self) -> None:
        found, writes = self.formats.format, writes_of(self.formats.format)
        self.place.offer(writes, folder=writes.single and (self.counted.several or self._many_rows))
        source = self.start.request.shown if self.start.request is not None else ""
        paths = self.contents.paths if self.contents is not None else ()
        self.place.suggest(suggested(paths, source, found, folder=self.place.folder, home=self.start.folder))

    @property
    def _many_rows(self) -> bool:
        shard = self.start.shard
        return shard is not None and not shard.views and shard.listing is not None and len(shard.listing) > 1

    def _explain_keys(self) -> None:
        writes = writes_of(self.formats.format)
        if self.rules is not None:
            self.rules.explain(writes)
            self.keys.hide()
        else:
            self.keys.setText(shown(pack_keys_text(writes)))

    def _rule_changed(self) -> None:
        self._explain_keys()
        self._changed()

    def _contents_changed(self) -> None:
        self._refused = ""
        self._fit_place()
        self.refresh()
        self.contents_changed.emit()

    def _changed(self) -> None:
        self._refused = ""
        self.refresh()
        self.changed.emit()

    def refresh(self) -> None:
        blocked = self.blocked
        waiting = self.work is None
        self.write.setEnabled(not blocked and not waiting)
        nothing = self.contents is not None and not self.contents.paths and not self._has_content
        text = blocked or self._refused
        self._say(text, wrong=bool(text) and not nothing)

    def _say(self, text: str, *, wrong: bool) -> None:
        self.problem.set_text(f"✖ {text}" if wrong else text)
        self.problem.set_tone("error" if wrong else "muted")

    def _write(self) -> None:
        self.refresh()
        if self.write.isEnabled():
            self.write_wanted.emit()

    # --- events ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= px(WIDE)
        ways = QBoxLayout.Direction
        self._columns.setDirection(ways.LeftToRight if wide else ways.TopToBottom)
        self._columns.setSpacing(28 if wide else 16)


def _muted(name: str, parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setObjectName(name)
    label.setFont(sized(label.font(), SMALL))
    label.setWordWrap(True)
    label.setStyleSheet(f"color: {theme.of(parent).muted.name()};")
    return label
