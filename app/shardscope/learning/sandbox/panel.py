"""The panel of the sandbox: what can be done to the bytes, and what that does to readers."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import ShardError
from shardcore.model.number_words import plural
from shardcore.model.other_readers import Peer, ReaderAnswer, peers_about
from shardcore.shards.registry import format_of
from shardcore.teaching.impact import Fate
from shardscope.learning.sandbox.actions import SandboxActions
from shardscope.learning.sandbox.new_bytes import new_bytes
from shardscope.learning.sandbox.report_tree import ReportTree
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.session.words import offset_words
from shardscope.widgets import theme
from shardscope.widgets.elided import Elided
from shardscope.widgets.while_visible import WhileVisible
from shardscope.widgets.wrap_text import WrapText

BITS = range(7, -1, -1)


class BitRow(QWidget):
    flipped = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bitRow")
        self.setAccessibleName(self.tr("Bits of the selected byte"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._value: int | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        self.keys: dict[int, QToolButton] = {}
        for bit in BITS:
            key = QToolButton(self)
            key.setObjectName(f"bit{bit}")
            key.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            key.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            key.setMinimumWidth(18)
            key.clicked.connect(lambda _=False, bit=bit: self._flip(bit))
            self.keys[bit] = key
            row.addWidget(key)
            if bit == 4:
                row.addSpacing(5)
        self.setFocusProxy(self.keys[7])
        self.set_byte(None)

    def set_byte(self, value: int | None) -> None:
        self._value = value
        for bit, key in self.keys.items():
            set_ = value is not None and bool(value >> bit & 1)
            key.setText("·" if value is None else "1" if set_ else "0")
            # While the changed file is opened there is no byte: a disabled key would lose the keyboard.
            key.setEnabled(value is not None or key.hasFocus())
            name = self.tr("Flip bit {0}, worth {1}").format(bit, 1 << bit)
            key.setToolTip(name)
            key.setAccessibleName(f"{name}: {key.text()}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        text = event.text()
        if text and text in "01234567":
            self._flip(int(text))
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Right)
        else:
            super().keyPressEvent(event)

    def _flip(self, bit: int) -> None:
        if self._value is not None:
            self.flipped.emit(bit)

    def minimumSizeHint(self) -> QSize:
        return QSize(8 * 20 + 5, super().minimumSizeHint().height())


class SandboxPanel(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sandboxPanel")
        self.setAccessibleName(self.tr("Sandbox"))
        self._session = session
        self._format = ""
        self.sandbox = Sandbox(session, self)
        self.actions_ = SandboxActions(self.sandbox, self)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self._make_off())
        self._pages.addWidget(self._make_on())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._pages)
        self.sandbox.changed.connect(self._changed)
        self.sandbox.compared.connect(self._compared)
        self.sandbox.looked.connect(self._tell_missing)
        session.opened.connect(lambda _: self._opened())
        WhileVisible(session.selection_changed, self, self._selected)
        session.jobs.changed.connect(self._progressed)
        self._changed()
        self._compared()

    def sizeHint(self) -> QSize:
        return QSize(380, 520)

    # --- making ---

    def _make_off(self) -> QWidget:
        page = QWidget()
        page.setObjectName("sandboxOff")
        what = WrapText(self.tr("Change bytes, and see which checks detect it."), bold=True)
        self.why = WrapText(
            self.tr(
                "A sandbox keeps changes in memory: flip a bit, overwrite bytes, cut some out. Structure, findings and "
                "objects follow at once. This panel shows which checks detect the change, and which readers return "
                "wrong bytes. The file on disk is not changed."
            )
        )
        self.begin = QPushButton(self.tr("Use sandbox"))
        self.begin.setObjectName("breakSafely")
        self.begin.clicked.connect(lambda _: self.actions_.switch.trigger())
        self.salvage_button = QPushButton(self.tr("Recover objects…"))
        self.salvage_button.clicked.connect(lambda _: self.actions_.salvage.trigger())
        self.mission_button = QPushButton(self.tr("Missions…"))
        self.mission_button.clicked.connect(lambda _: self.actions_.missions.trigger())
        column = QVBoxLayout(page)
        column.setContentsMargins(14, 14, 14, 14)
        column.setSpacing(10)
        # First what is done: in a low panel only that is seen.
        column.addWidget(what)
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in (self.begin, self.mission_button):
            row.addWidget(button)
        row.addStretch(1)
        column.addLayout(row)
        column.addWidget(self.why)
        column.addWidget(self.salvage_button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        return _scrolled(page, self.tr("About the sandbox"))

    def _make_on(self) -> QWidget:
        self.place = Elided()
        self.bits = BitRow()
        self.bits.flipped.connect(self.sandbox.flip)
        self.form = QComboBox()
        self.form.addItems([self.tr("hex"), self.tr("text")])
        self.form.setAccessibleName(self.tr("How the new bytes are written"))
        self.field = QLineEdit()
        self.field.setObjectName("overwriteField")
        self.field.setAccessibleName(self.tr("New bytes"))
        self.field.setPlaceholderText(self.tr("new bytes: de ad be ef"))
        self.field.returnPressed.connect(lambda: self._append() if self.sandbox.grows else self._overwrite())
        self.form.currentIndexChanged.connect(self._form_chosen)
        self.overwrite = QPushButton(self.tr("Overwrite"))
        self.overwrite.clicked.connect(lambda _: self._overwrite())
        self.append = QPushButton(self.tr("Append"))
        self.append.setObjectName("appendBytes")
        self.append.clicked.connect(lambda _: self._append())
        line = QHBoxLayout()
        line.setSpacing(6)
        for part, stretch in ((self.form, 0), (self.field, 1), (self.overwrite, 0)):
            line.addWidget(part, stretch)
        cuts = QHBoxLayout()
        cuts.setSpacing(6)
        self.cut = _pressing(self.actions_.cut, self.tr("Cut the selection"))
        self.cut_rest = _pressing(self.actions_.cut_rest, self.tr("Cut to the end"))
        for button in (self.append, self.cut, self.cut_rest):
            cuts.addWidget(button)
        cuts.addStretch(1)
        self.trouble = Elided(greedy=True)
        self.trouble.setObjectName("overwriteTrouble")
        self.report = ReportTree()
        self.report.place_chosen.connect(self._session.select_span)
        self.report.key_chosen.connect(self._session.look_up)
        self.news = WrapText("")
        self.busy = QProgressBar()
        self.busy.setAccessibleName(self.tr("How far the comparison is"))
        self.busy.setTextVisible(False)
        self.busy.setFixedHeight(8)
        self.stop = QPushButton(self.tr("Stop"))
        self.stop.clicked.connect(lambda _: self._stop_or_go())
        waiting = QHBoxLayout()
        waiting.setSpacing(8)
        waiting.addWidget(self.news, 1)
        waiting.addWidget(self.stop, 0)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(10, 8, 10, 8)
        column.setSpacing(6)
        column.addWidget(self.place)
        column.addWidget(self.bits)
        column.addLayout(line)
        column.addLayout(cuts)
        column.addWidget(self.trouble)
        column.addLayout(waiting)
        column.addWidget(self.busy)
        column.addWidget(self._made_results(), 1)
        return _scrolled(page, self.tr("Changes of the sandbox"))

    def _made_results(self) -> QWidget:
        self.guide = WrapText(tone="muted")
        self.guide.setObjectName("sandboxGuide")
        empty = QWidget()
        inside = QVBoxLayout(empty)
        inside.setContentsMargins(0, 8, 0, 0)
        inside.addWidget(self.guide)
        inside.addStretch(1)
        self._results = QStackedWidget()
        self._results.addWidget(empty)
        self._results.addWidget(self.report)
        self._results.setMinimumHeight(130)
        return self._results

    def _guide(self) -> None:
        there = self.report.topLevelItemCount() > 0
        self._results.setCurrentIndex(int(there))
        if self.sandbox.grows:
            self.guide.set_text(
                self.tr(
                    "Type bytes and press Append: they are written after the last one. The line above shows what is "
                    "missing next. Select a byte to overwrite it. Ctrl+Z undoes a change."
                )
            )
        elif self.sandbox.changes:
            self.guide.set_text(self.tr("The checks that detect the change are listed once the objects are compared."))
        else:
            self.guide.set_text(
                self.tr(
                    "Select a byte of the file. Then press one of its eight bits above, or type new bytes and press "
                    "Overwrite, or cut something out.\n\n"
                    "The report then lists which checks detect the change, which objects are lost or have wrong bytes, "
                    "and what other readers do. Ctrl+Z undoes a change."
                )
            )

    # --- what others call ---

    def to_bits(self) -> None:
        self.bits.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def to_field(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    # --- changing ---

    def _form_chosen(self, number: int) -> None:
        self.field.setPlaceholderText(self.tr("new bytes: any text") if number else self.tr("new bytes: de ad be ef"))

    def _overwrite(self) -> None:
        try:
            data = new_bytes(self.field.text(), text=self.form.currentIndex() == 1)
            source, place = self.sandbox.source, self.sandbox.place
            past = source is not None and place is not None and place.start + len(data) > source.size
            if source is not None and place is not None and past and not source.grows:
                room = source.size - place.start
                self._tell_trouble(self.tr("{0} do not fit: {1} left").format(plural(len(data), "byte"), f"{room:,}"))
                return
        except ShardError as error:
            self._tell_trouble(plain_words(error))
            return
        self._tell_trouble("")
        self.sandbox.overwrite(data)

    def _append(self) -> None:
        try:
            data = new_bytes(self.field.text(), text=self.form.currentIndex() == 1)
        except ShardError as error:
            self._tell_trouble(plain_words(error))
            return
        self._tell_trouble("")
        self.field.clear()
        self.sandbox.append(data)

    def _tell_missing(self) -> None:
        missing = self.sandbox.missing
        if missing is None:
            self.news.set_text(self.tr("✓ The reader accepts it. Save as a copy keeps it."))
        else:
            self.news.set_text(missing.text.replace("`", ""))
        self._guide()

    def _tell_trouble(self, text: str) -> None:
        self.trouble.tell(text)
        self.trouble.setStyleSheet(f"color: {theme.of(self).error.name()};")
        self.trouble.setVisible(bool(text))

    def _selected(self, _: Selection) -> None:
        self._tell_trouble("")
        place = self.sandbox.place
        there, grows = place is not None, self.sandbox.grows
        self.append.setVisible(grows)
        self.overwrite.setEnabled(there)
        for part in (self.field, self.form):
            part.setEnabled(there or grows)
        if place is None and grows:
            self.place.tell(self.tr("Type bytes and press Append"))
            self.bits.set_byte(None)
            return
        if place is None:
            self.place.tell(self.tr("Select bytes of the file: these are decoded, or in another file"))
            self.bits.set_byte(None)
            return
        more = place.stop - place.start
        words = f" · {plural(more, 'byte')} selected" if more > 1 else ""

        def take(data: bytes) -> None:
            if self.sandbox.place == place:
                value = data[0] if data else None
                self.bits.set_byte(value)
                here = "" if value is None else f" = {value:#04x} = {value:,}"
                self.place.tell(self.tr("Byte {0}{1}{2}").format(offset_words(place.start), here, words))

        self._session.ask(
            lambda shard, _: (
                shard.source.read(place.start, min(place.start + 1, shard.source.size))
                if shard.source is not None
                else b""
            ),
            take,
            key=("byte", self),
            priority=JobPriority.SCREEN,
        )

    # --- showing ---

    def _opened(self) -> None:
        # What it was recognised as when it was whole: of what is broken nobody may know the format.
        shard = self._session.shard
        if shard is not None and not self._session.request.changes:
            self._format = shard.format

    def _changed(self) -> None:
        sandbox = self.sandbox
        self._pages.setCurrentIndex(int(sandbox.on))
        self.begin.setEnabled(not sandbox.why_not)
        self.begin.setToolTip(self.actions_.switch.toolTip())
        self.salvage_button.setEnabled(self.actions_.salvage.isEnabled())
        if sandbox.on:
            self._selected(self._session.selection)

    def _compared(self) -> None:
        sandbox = self.sandbox
        job, impact = sandbox.comparing, sandbox.impact
        self.busy.setVisible(job is not None and impact is None)
        self.stop.setVisible(impact is None and (job is not None or bool(sandbox.error)))
        self.stop.setText(self.tr("Stop") if job is not None else self.tr("Compare"))
        if impact is not None and sandbox.changes:
            self.report.show_impact(impact, self._others())
            self.news.set_text(self._headline())
        elif impact is not None:
            self.report.clear()
            read = sum(impact.counts.values()) - impact.unreadable
            count = plural(read, "object is", "objects are")
            words = self.tr("Nothing is changed yet: {0} read as on disk").format(count)
            if impact.unreadable:
                words += self.tr("; {0} cannot be read").format(plural(impact.unreadable, "object"))
            self.news.set_text(f"{words}.")
        elif job is not None:
            self.news.set_text(self.tr("Comparing with the file as it was …"))
        elif sandbox.error:
            self.report.clear()
            self.news.set_text(self.tr("Not compared: {0}").format(sandbox.error))
        self._guide()

    def _headline(self) -> str:
        impact = self.sandbox.impact
        assert impact is not None
        wrong = [one for one in impact.objects if one.fate is Fate.WRONG]
        lost = [one for one in impact.objects if one.fate in (Fate.LOST, Fate.REFUSED)]
        silent = len(impact.silent)
        if impact.gone and not lost and not any(check.notices for check in impact.checks):
            return self.tr("✓ Mended: {0} gone, and {1}.").format(
                plural(len(impact.gone), "finding is", "findings are"),
                plural(len(impact.objects), "object is returned that was not", "objects are returned that were not"),
            )
        if silent:
            return self.tr("✖ {0} returned with wrong bytes, and no check detects it.").format(
                plural(silent, "object is", "objects are")
            )
        if wrong:
            return self.tr("✖ {0} returned with wrong bytes; only verifying detects it.").format(
                plural(len(wrong), "object is", "objects are")
            )
        if lost:
            words = plural(len(lost), "object is", "objects are")
            worse = [one.name for one in self._others() if one.answer is ReaderAnswer.WRONG]
            if worse:
                return self.tr("✖ {0} not returned here; {1} may return wrong bytes.").format(words, ", ".join(worse))
            return self.tr("▲ {0} no longer returned; no reader returns wrong bytes.").format(words)
        if not impact.counts:
            return self.tr("● No object is returned, neither on disk nor here: only checks can detect the change.")
        if any(check.notices for check in impact.checks):
            return self.tr("✓ A check detects it, and every object is returned as before.")
        if impact.new:
            return self.tr("✓ Every object is returned as before; a check has a note.")
        return self.tr("✓ Every object is returned as before, and no check detects the change.")

    def _others(self) -> tuple[Peer, ...]:
        impact = self.sandbox.impact
        if impact is None or not self._format:
            return ()
        try:
            return peers_about(format_of(self._format).peers(), impact.new, silent=bool(impact.silent))
        except ShardError:
            return ()

    def _progressed(self, job: Job) -> None:
        if self.sandbox.on and job is self.sandbox.comparing:
            self.busy.setRange(0, max(job.total_amount, 1))
            self.busy.setValue(job.done_amount)

    def _stop_or_go(self) -> None:
        if self.sandbox.comparing is not None:
            self.sandbox.stop()
        else:
            self.sandbox.compare()


def _pressing(action: QAction, text: str) -> QPushButton:
    button = QPushButton(text)

    def follow() -> None:
        button.setEnabled(action.isEnabled())
        button.setToolTip(action.toolTip())

    button.clicked.connect(lambda _: action.trigger())
    action.changed.connect(follow)
    follow()
    return button


def _scrolled(page: QWidget, name: str) -> QScrollArea:
    area = QScrollArea()
    area.setAccessibleName(name)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(page)
    return area
