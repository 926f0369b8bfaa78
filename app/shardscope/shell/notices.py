"""Notices below the bytes: outcomes and errors, with buttons, and the progress of extractions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QAccessible, QAction, QDesktopServices
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Remedy
from shardcore.model.text import plural, shown_lines
from shardscope.session.display_text import ACTIONS, cut_middle, pace_text
from shardscope.session.jobs import Job
from shardscope.session.session import Session
from shardscope.tasks.extract import ExtractTask, Result
from shardscope.views.activity import JobDialog
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label, question_box, tip
from shardscope.widgets.playback import show_progress
from shardscope.widgets.wrap_text import WrapText

LONGEST = 420
"""Maximum number of characters of a notice; its tooltip and copied text are complete."""

SHORTEST = 80
"""Minimum number of characters to which the text of a notice is shortened in a low window."""

_ENOUGH = 130
"""Height in pixels that notices may take even in a low window, if `_ROWS` pixels remain for the bytes."""

_ROWS = 60

FADES_MILLISECONDS = 6_000
"""Milliseconds after which a success disappears; other notices stay until they are dismissed or replaced."""

_GAP = 4

_INSTALL = re.compile(r"pip install (?:'[^']+'|[\w.-]+)")
"""Matches the installation command in the message about a missing package."""

_ACROSS, _DOWN = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
_WAYS = ((_DOWN, _ACROSS), (_ACROSS, _ACROSS), (_DOWN, _DOWN))
"""Layouts to try: direction of text and button row, then of the buttons in the row. The last fits any width."""


class NoticeTone(Enum):
    """Severity of a notice; the value is the sign before its text."""

    ERROR = "✖"
    WARNING = "▲"
    NOTE = "●"
    SUCCESS = "✔"


class Button(NamedTuple):
    """Button of a notice; with `closes`, it dismisses the notice before `do` is called."""

    text: str
    do: Callable[[], object]
    closes: bool = True


def ask(
    window: QWidget,
    name: str,
    title: str,
    text: str,
    detail: str,
    answers: Sequence[tuple[str, Callable[[], object]]],
    *,
    stay: str = "",
    default: int = -1,
) -> QMessageBox:
    """Ask before the first answer loses something. The Return key gives answer `default`; -1 is the button `stay`."""
    box = question_box(window, name, title, text, detail)
    roles, buttons = QMessageBox.ButtonRole, []
    for number, (words, act) in enumerate(answers):
        buttons.append(box.addButton(words, roles.ActionRole if number else roles.DestructiveRole))
        buttons[-1].clicked.connect(lambda _=False, act=act: act())
    stays = box.addButton(stay, roles.RejectRole) if stay else box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton([*buttons, stays][default])
    box.setEscapeButton(stays)
    box.open()
    return box


class Notice(QFrame):
    """One notice. A success disappears after `FADES_MILLISECONDS`, unless it is `lasting`, hovered or focused."""

    spoken_role = QAccessible.Role.AlertMessage
    closed = Signal()

    def __init__(self, text: str, tone: NoticeTone, buttons: Sequence[Button], parent: QWidget) -> None:
        super().__init__(parent)
        made(self, "notice", accessibleName=self.tr("Message"))
        self._tone = tone
        self.text = self.about = ""
        self.lasting = False
        self.again: Callable[[], object] | None = None  # adds it again when its document is shown again
        self.sign = plain_label(tone.value)
        self.label = WrapText()
        policy = self.label.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Ignored)
        self.label.setSizePolicy(policy)
        self.progress = made(QProgressBar(self), accessibleName=self.tr("Progress"), textVisible=False)
        self.progress.setFixedHeight(6)
        self.progress.hide()
        self.buttons = [self._button(button) for button in buttons]
        spoken = self.tr("Dismiss the message")
        self.dismiss = made(QToolButton(self), text="✕", accessibleName=spoken, toolTip=self.tr("Dismiss"))
        self.dismiss.clicked.connect(self.closed)
        said = lay(QVBoxLayout(), 1, self.label, self.progress, 1, spacing=_GAP)
        self._row = lay(QBoxLayout(_ACROSS), 1, *self.buttons, spacing=-1)
        self._line = lay(QBoxLayout(_ACROSS), (said, 1), self._row, spacing=-1)
        lay(QHBoxLayout(self), self.sign, (self._line, 1), self.dismiss, margins=(12, 5, 8, 5), spacing=10)
        self.set_text(text)
        self._colour()
        if tone is NoticeTone.SUCCESS:
            self._ends = QTimer(self, interval=FADES_MILLISECONDS)
            self._ends.timeout.connect(self._end)
            self._ends.start()

    def _button(self, button: Button) -> QPushButton:
        def press() -> None:
            if button.closes:
                self.closed.emit()
            button.do()

        widget = made(QPushButton(button.text, self), "noticeButton")
        widget.clicked.connect(lambda _=False: press())
        return widget

    def set_text(self, text: str) -> None:
        self.text = shown_lines(text)
        self._cut(LONGEST)
        self.label.setToolTip(tip(self.text))
        self.setAccessibleDescription(self.text)

    def _cut(self, longest: int) -> None:
        self.label.set_text(cut_middle(self.text, longest), copied=self.text)

    def height_at(self, width: int) -> int:
        """Arrange the buttons for the smallest height at a width in pixels; return that height."""
        layout, heights = self.layout(), {}
        assert layout is not None
        for way in _WAYS:
            self._turn(*way)
            if layout.minimumSize().width() <= width or way is _WAYS[-1]:
                heights[way] = layout.totalHeightForWidth(width)
        best = min(heights, key=lambda way: heights[way])
        self._turn(*best)
        return heights[best]

    def _turn(self, line: QBoxLayout.Direction, row: QBoxLayout.Direction) -> None:
        self._row.setDirection(row)
        self._line.setDirection(line)
        for layout in (self._row, self._line, self.layout()):
            assert layout is not None
            # Each layout caches heights and is not notified of changes inside.
            layout.invalidate()

    def height_within(self, width: int, most: int) -> int:
        """Shorten the text so that the notice is at most `most` pixels high; return its height."""
        length = LONGEST
        self._cut(length)
        while (height := self.height_at(width)) > most and length > SHORTEST:
            length -= SHORTEST // 2
            self._cut(length)
        return height

    def _end(self) -> None:
        if not (self.lasting or self.underMouse()) and not any(one.hasFocus() for one in self.findChildren(QWidget)):
            self.closed.emit()

    def _colour(self) -> None:
        colours = theme.of(self)
        strong = colours.ok if self._tone is NoticeTone.SUCCESS else getattr(colours, self._tone.name.lower())
        sheet = (
            f"#notice {{ background: {colours.raised.name()}; border: 1px solid {colours.border.name()};"
            f" border-left: 4px solid {strong.name()}; border-top-right-radius: 6px;"
            " border-bottom-right-radius: 6px; }"
        )
        if sheet != self.styleSheet():
            # Setting a style sheet changes the palette, which calls this method again.
            self.setStyleSheet(sheet)
            self.sign.setStyleSheet(f"color: {strong.name()}; font-weight: 700;")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_line"):
            self._colour()


class Notices(QWidget):
    """Stack of notices, latest last. It has at most half the height of its parent; older notices may be hidden."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("notices")
        self.all: list[Notice] = []
        self.named: Sequence[tuple[str, QAction]] = ()  # a text that matches a pattern gets a button for the action
        self._column = lay(QVBoxLayout(self), margins=(_GAP, _GAP, _GAP, _GAP), spacing=_GAP)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()
        parent.installEventFilter(self)

    @property
    def text(self) -> str:
        return "\n".join(notice.text for notice in reversed(self.all))

    @property
    def buttons(self) -> list[QPushButton]:
        return [button for notice in reversed(self.all) for button in notice.buttons]

    @property
    def button(self) -> QPushButton:
        return self.buttons[0]

    def add_notice(
        self,
        text: str,
        tone: NoticeTone = NoticeTone.ERROR,
        *,
        action: str = "",
        do: Callable[[], object] | None = None,
        buttons: Sequence[Button] = (),
        about: str = "",
        lasting: bool = False,
    ) -> Notice:
        """Add a notice; it replaces a notice with the same subject `about` (default: its text).

        The button labelled `action` dismisses it and calls `do`. Actions that its text mentions (`named`) get buttons
        after `buttons`. A `lasting` notice stays when the file is closed.
        """
        self.clear(about or text)
        own = [*([Button(action, do or (lambda: None))] if action else []), *buttons]
        notice = Notice(text, tone, [*own, *self._named_in(text, own)], self)
        self.all.append(notice)
        notice.about, notice.lasting = about or text, lasting
        if not lasting and tone is not NoticeTone.SUCCESS:
            notice.again = partial(self.add_notice, text, tone, action=action, do=do, buttons=buttons, about=about)
        notice.closed.connect(lambda: self.remove(notice))
        self._column.addWidget(notice)
        # A widget that was never shown has no height.
        self.show()
        notice.show()
        self.fit()
        return notice

    def _named_in(self, text: str, own: Sequence[Button]) -> list[Button]:
        found = {
            action.text().replace("&", ""): action.trigger
            for pattern, action in self.named
            if action.isEnabled() and re.search(pattern, text)
        }
        if command := _INSTALL.search(text):
            found[self.tr("Copy command")] = partial(copy_text, command[0])
        there = {button.text for button in own}
        return [Button(label, do, closes=False) for label, do in found.items() if label not in there]

    def remove(self, notice: Notice) -> None:
        if notice in self.all:
            self.all.remove(notice)
            self._column.removeWidget(notice)
            notice.hide()
            notice.deleteLater()
            self.fit()

    def clear(self, about: str = "") -> None:
        """Remove the notices with the subject `about`; without a subject, all that are not lasting."""
        for notice in list(self.all):
            if notice.about == about or (not about and not notice.lasting):
                self.remove(notice)

    def view_state(self) -> object:
        """Return callbacks that show the notices again with their document; successes are left out."""
        return tuple(notice.again for notice in self.all if notice.again is not None)

    def restore_view_state(self, state: object) -> None:
        for restore in state if isinstance(state, tuple) else ():
            restore()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.parent() and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.fit()
        return super().eventFilter(watched, event)

    def fit(self) -> None:
        parent = self.parentWidget()
        assert parent is not None
        width, high = parent.width() - 2 * _GAP, parent.height()
        most = max(high // 2, min(high - _ROWS, _ENOUGH))
        height = _GAP
        for notice in reversed(self.all):
            wanted = notice.height_within(width, most - _GAP) + _GAP
            first = notice is self.all[-1]
            notice.setVisible(first or height + wanted <= most)
            if not notice.isHidden():
                notice.setFixedHeight(min(wanted, most) - _GAP if first else wanted - _GAP)
                height += notice.height() + _GAP
        self.setFixedHeight(height)
        self.setVisible(bool(self.all))


class ExtractionNotices(QObject):
    """Shows one notice per running extraction; a new one removes the outcome of the previous one."""

    def __init__(self, extracting: ExtractTask, session: Session, notices: Notices, parent: QWidget) -> None:
        super().__init__(parent)
        self.open_url: Callable[[QUrl], bool] = QDesktopServices.openUrl
        self._extracting = extracting
        self._session = session
        self._notices = notices
        self._window = parent
        self._running: dict[Job, tuple[Result, Notice]] = {}
        extracting.started.connect(self._started)
        extracting.finished.connect(self._finished)
        session.jobs.changed.connect(self._progressed)

    def _started(self, result: Result) -> None:
        for about in ("extraction", "open folder"):
            self._notices.clear(about)
        cancel = Button(self.tr("Cancel"), result.job.cancel, closes=False)
        about = f"extraction {result.job.number}"
        notice = self._notices.add_notice(
            self._progress_text(result), NoticeTone.NOTE, buttons=[cancel], about=about, lasting=True
        )
        self._running[result.job] = result, notice
        self._progressed(result.job)

    def _progressed(self, job: Job) -> None:
        if job in self._running:
            result, notice = self._running[job]
            notice.set_text(self._progress_text(result))
            show_progress(notice.progress, job)
            notice.progress.show()
            self._notices.fit()

    def _progress_text(self, result: Result) -> str:
        where = result.wanted.where
        if not result.found.total:
            return self.tr("Extracting to {0} …").format(where)
        count = f"{result.found.files:,} of {plural(result.found.total, 'file')}"
        count = " · ".join(filter(None, (count, pace_text(result.job))))
        return self.tr("Extracting to {0}: {1}").format(where, count)

    def _finished(self, result: Result) -> None:
        _, notice = self._running.pop(result.job)
        self._notices.remove(notice)
        found, where = result.found, result.wanted.where
        buttons = []
        if found.files or found.skipped:
            buttons.append(Button(self.tr("Open folder"), partial(self._open_folder, where), closes=False))
        if found.failures:
            box = partial(JobDialog, result.job, self._session, self._window)
            buttons.append(Button(self.tr("Failures…"), lambda: box().show(), closes=False))
        # Other remedies do not apply to an open file.
        if found.remedy in (Remedy.DELETED, Remedy.XORBS):
            buttons.append(Button(ACTIONS[found.remedy], partial(self._mend, result, found.remedy)))
        if not found.complete:
            early = found.stopped or found.cancelled
            again = self.tr("Retry") if early else self.tr("Retry failed")
            again = self.tr("Resume") if found.lost or (early and found.files) else again
            buttons.append(Button(again, partial(self._extracting.retry, result), closes=False))
        tone = NoticeTone.SUCCESS if found.complete else NoticeTone.WARNING if found.cancelled else NoticeTone.ERROR
        if found.complete and not found.files:
            tone = NoticeTone.NOTE
        outcome = self._notices.add_notice(result.text, tone, buttons=buttons, about="extraction")
        outcome.setToolTip(tip(f"{result.text}\n{where}"))

    def _mend(self, result: Result, remedy: Remedy) -> None:
        # The extracted file may be in another tab.
        if self._session.documents.show_shard(result.wanted.shard):
            self._session.remedy_wanted.emit(remedy)

    def _open_folder(self, where: Path) -> None:
        if not self.open_url(QUrl.fromLocalFile(str(where))):
            text = self.tr("Cannot open a file manager. The files are in {0}").format(where)
            self._notices.add_notice(text, NoticeTone.NOTE, about="open folder")
