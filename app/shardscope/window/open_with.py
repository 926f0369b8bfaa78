"""Opening in another way than by recognising: format, specification, companions, deleted objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from html import escape

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, Shard
from shardcore.registry import all_formats
from shardscope.jobs import Job, Priority
from shardscope.looks import theme
from shardscope.opening import OpenRequest
from shardscope.session import Session
from shardscope.window.error_bar import ErrorBar, Tone

FormatNames = Sequence[tuple[str, str]]
"""Name and title of each format."""

_DELETED = "Serve objects that were deleted but are still stored"


class OpenWith(QDialog):
    """Asks what to open, and how. `chosen` carries the `OpenRequest`.

    Args:
        request: What the fields begin with.
        formats: Name and title of each format.
        shard: What is open, when it is to be read in another way.
        parent: The window.
    """

    chosen = Signal(object)

    def __init__(
        self, request: OpenRequest, formats: FormatNames, shard: Shard | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("openWith")
        self.setWindowTitle("Change how it is read" if shard is not None else "Open with")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._request = request
        self._shown = request.spec or (shard.parameters if shard is not None else "")
        self.path = QLineEdit(request.uri, self)
        self.path.setPlaceholderText("A file or folder of shards")
        self.format = QComboBox(self)
        self.format.addItem("Recognise it", None)
        for name, title in formats:
            self.format.addItem(f"{title}  ({name})", name)
        self.format.setCurrentIndex(max(self.format.findData(request.format), 0))
        self.evidence = QLabel(_evidence(shard), self)
        self.evidence.setWordWrap(True)
        self.evidence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.evidence.setVisible(bool(self.evidence.text()))
        self.spec = QPlainTextEdit(self._shown, self)
        self.spec.setFont(theme.fixed_font())
        self.spec.setTabChangesFocus(True)
        self.spec.setPlaceholderText("Empty: the file says it, or what lies beside it")
        self.spec.setMinimumHeight(self.spec.fontMetrics().lineSpacing() * 10 + 16)
        self.state = QLabel(self)
        self.state.setWordWrap(True)
        self.xorbs = QLineEdit(request.xorbs, self)
        self.xorbs.setPlaceholderText("Empty: looked for beside the shard")
        self.deleted = QToolButton(self)
        self.deleted.setCheckable(True)
        self.deleted.setAutoRaise(True)
        self.deleted.toggled.connect(self._deleted_toggled)
        self.deleted.setChecked(request.deleted)
        self._deleted_toggled(request.deleted)
        self.buttons = QDialogButtonBox(self)
        words = "&Apply" if shard is not None else "&Open"
        self.apply = self.buttons.addButton(words, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._lay_out(fixed=shard is not None)
        self.path.textChanged.connect(self._check)
        self.spec.textChanged.connect(self._check)
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        self._check()
        (self.spec if self._shown else self.path if not request.uri else self.format).setFocus()

    def _lay_out(self, *, fixed: bool) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(10)
        grid.setColumnStretch(1, 1)
        path = QHBoxLayout()
        path.setSpacing(8)
        path.addWidget(self.path, 1)
        self.path.setReadOnly(fixed)
        if not fixed:
            path.addWidget(self._chooser("File…", self.path, QFileDialog.FileMode.ExistingFile))
            path.addWidget(self._chooser("Folder…", self.path, QFileDialog.FileMode.Directory))
        xorbs = QHBoxLayout()
        xorbs.setSpacing(8)
        xorbs.addWidget(self.xorbs, 1)
        xorbs.addWidget(self._chooser("Choose…", self.xorbs, QFileDialog.FileMode.Directory))
        spec = QVBoxLayout()
        spec.setSpacing(6)
        for line in (self.evidence, self.spec, self.state):
            spec.addWidget(line)
        rows: list[tuple[str, QWidget, QWidget | QLayout]] = [
            ("&What", self.path, path),
            ("&Format", self.format, self.format),
            ("&Specification", self.spec, spec),
            ("&Companions", self.xorbs, xorbs),
            ("", self.deleted, self.deleted),
        ]
        for number, (words, buddy, part) in enumerate(rows):
            label = QLabel(words, self)
            label.setBuddy(buddy)
            buddy.setAccessibleName(words.replace("&", "") or _DELETED)
            grid.addWidget(label, number, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
            if isinstance(part, QLayout):
                grid.addLayout(part, number, 1)
            else:
                grid.addWidget(part, number, 1)
            if not isinstance(part, QVBoxLayout):
                label.setMinimumHeight(buddy.sizeHint().height())
        self.xorbs.setToolTip("The folder that holds the contents that the shard refers to")
        self.spec.setToolTip("What the file does not state itself, as a JSON object")
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(14)
        column.addLayout(grid, 1)
        column.addWidget(self.buttons)
        self.resize(660, self.sizeHint().height())

    def _chooser(self, words: str, field: QLineEdit, mode: QFileDialog.FileMode) -> QPushButton:
        button = QPushButton(words, self)
        button.setAutoDefault(False)
        button.clicked.connect(partial(self._choose, field, mode))
        return button

    def _choose(self, field: QLineEdit, mode: QFileDialog.FileMode, checked: bool = False) -> None:
        dialog = QFileDialog(self)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(field.setText)
        dialog.open()

    def _deleted_toggled(self, checked: bool) -> None:
        self.deleted.setText(f"{'☑' if checked else '☐'} {_DELETED}")

    def _check(self) -> None:
        """Says at once whether the specification is JSON."""
        wrong = json_problem(self.spec.toPlainText())
        colours = theme.of(self)
        self.state.setText(f"✖ {wrong}" if wrong else "")
        self.state.setVisible(bool(wrong))
        self.state.setStyleSheet(f"color: {colours.error.name()};")
        self.spec.setStyleSheet(f"QPlainTextEdit {{ border: 1px solid {colours.error.name()}; }}" if wrong else "")
        self.apply.setEnabled(not wrong and bool(self.path.text().strip()))

    @property
    def request(self) -> OpenRequest:
        """What the fields say. A specification that was not touched stays what it was: stated, inferred or given."""
        text = self.spec.toPlainText().strip()
        return OpenRequest(
            self.path.text().strip(),
            self.format.currentData(),
            self._request.spec if text == self._shown.strip() else text,
            self.xorbs.text().strip(),
            self.deleted.isChecked(),
        )

    def _accept(self) -> None:
        self.chosen.emit(self.request)
        self.accept()


class OpenWays(QObject):
    """Asks how to open, and tells when what is shown rests on a guess.

    Args:
        session: What is open.
        bar: Where the guess is told.
        parent: The window.
    """

    def __init__(self, session: Session, bar: ErrorBar, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._bar = bar
        self._window = parent

    def ask(self) -> Job:
        """Asks what to open, and how."""
        return self._ask(OpenRequest(""), None)

    def change(self) -> Job | None:
        """Asks how to read what is open."""
        return self._ask(self._session.request, self._session.shard) if self._session.shard is not None else None

    def _ask(self, request: OpenRequest, shard: Shard | None) -> Job:
        def work(job: Job) -> FormatNames:
            return [(one.name, one.title) for one in all_formats()]

        def done(formats: FormatNames | None, error: BaseException | None) -> None:
            if formats is None:
                if not isinstance(error, Cancelled):
                    self._session.message.emit(f"The formats cannot be listed: {error}")
                return
            dialog = OpenWith(request, formats, shard, self._window)
            dialog.chosen.connect(self._chosen)
            dialog.open()

        # The first time all formats are imported.
        return self._session.jobs.submit(work, key=("formats", self), priority=Priority.SCREEN, done=done)

    def _chosen(self, request: OpenRequest) -> None:
        same = request.uri == self._session.request.uri and self._session.shard is not None
        self._session.open(request, select=self._session.selection.span if same else None)

    def tell_guess(self, shard: Shard) -> None:
        """Says that what is shown rests on a guess, and offers to change it."""
        if shard.damage is None and shard.evidence:
            self._bar.tell(guess_text(shard), Tone.NOTE, action="Change…", do=self.change)


def guess_text(shard: Shard) -> str:
    """One sentence: what was inferred, and how much is left open."""
    try:
        members = json.loads(shard.parameters)
    except ValueError:
        members = {}
    values = ", ".join(f"{name} {value}" for name, value in members.items() if not name.startswith("@"))
    left = len(shard.ambiguity)
    more = f" {left} point{'s are' if left > 1 else ' is'} left open." if left else ""
    return f"Specification inferred from the bytes: {values or 'see Change'}.{more}"


def json_problem(text: str) -> str:
    """Why a text is no JSON object, with its place; empty when it is one, or nothing at all."""
    if not text.strip():
        return ""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return f"Line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return f"Not JSON: {error}"
    return "" if isinstance(value, dict) else "A specification is an object: { … }"


def _evidence(shard: Shard | None) -> str:
    """What speaks for a guess and what it leaves open, one line each."""
    if shard is None or not shard.evidence:
        return ""
    lines = ["<b>Inferred from the bytes</b>", *(f"✔ {escape(text)}" for text in shard.evidence)]
    if shard.ambiguity:
        lines += ["<b>Left open</b>", *(f"? {escape(text)}" for text in shard.ambiguity)]
    return "<br>".join(lines)
