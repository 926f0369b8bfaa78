"""Pages of the dialog that show progress and result of writing."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QDialogButtonBox, QProgressBar, QPushButton, QScrollArea, QVBoxLayout, QWidget

from shardcore import Report, Severity
from shardcore.model.text import plural, shown
from shardcore.operations.pack import Packed
from shardscope.tasks.new_shard.request import JobStage, note_lines
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.wrap_text import WrapText

MAX_LISTED = 200
"""Maximum number of files, notes and findings listed."""

_SIGNS = {Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.NOTE: "●"}


class WritingPage(QWidget):
    stop_wanted = Signal()
    hide_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("writingPage")
        self.title = Elided(greedy=True, parent=self)
        self.title.setFont(_large(self.title.font()))
        self.bar = QProgressBar(self)
        self.bar.setObjectName("writingBar")
        self.bar.setAccessibleName(self.tr("Progress of writing"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.state = plain_label("", "writingState")
        self.buttons = QDialogButtonBox(self)
        self.stop = self.buttons.addButton(self.tr("&Stop"), QDialogButtonBox.ButtonRole.DestructiveRole)
        self.stop.setToolTip(self.tr("Stops writing and removes the partial file"))
        self.hide_button = self.buttons.addButton(self.tr("Run in &background"), QDialogButtonBox.ButtonRole.RejectRole)
        self.hide_button.setToolTip(self.tr("Progress is shown in Activity"))
        for button in (self.stop, self.hide_button):
            button.setAutoDefault(False)
        self.stop.clicked.connect(self.stop_wanted)
        self.hide_button.clicked.connect(self.hide_wanted)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        column.addWidget(self.title)
        column.addWidget(self.bar)
        column.addWidget(self.state)
        column.addStretch(1)
        column.addWidget(self.buttons)

    def begin(self, name: str) -> None:
        self.title.set_text(self.tr("Writing {0}").format(name))
        self.stop.setEnabled(True)
        self.show_progress(JobStage(), 0)

    def show_progress(self, stage: JobStage, share: int) -> None:
        self.bar.setValue(share)
        done = f"{stage.done:,} of {plural(stage.total, 'object')}" if stage.total else ""
        if stage.verifying:
            self.state.setText(self.tr("Verifying …"))
        else:
            self.state.setText(done or self.tr("Starting …"))


class ResultPage(QWidget):
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("resultPage")
        self.title = Elided(greedy=True, parent=self)
        self.title.setFont(_large(self.title.font()))
        self.verified = WrapText()
        self.text = WrapText()
        self.text.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        inner = QWidget(self)
        lines = QVBoxLayout(inner)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(10)
        lines.addWidget(self.verified)
        lines.addWidget(self.text)
        lines.addStretch(1)
        area = QScrollArea(self)
        area.setObjectName("resultArea")
        area.setAccessibleName(self.tr("Summary"))
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(inner)
        self.button = QPushButton(self.tr("&Close"), self)
        self.button.setObjectName("resultClose")
        self.button.clicked.connect(self.closed)
        buttons = QDialogButtonBox(self)
        buttons.addButton(self.button, QDialogButtonBox.ButtonRole.AcceptRole)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        column.addWidget(self.title)
        column.addWidget(area, 1)
        column.addWidget(buttons)

    def show_result(self, packed: Packed, name: str) -> None:
        sound = packed.report is None or packed.report.ok
        self.title.set_text(self.tr("{0} was written and opened").format(name))
        self.verified.set_text(f"{'✔' if sound else '✖'} {report_text(packed.report)}")
        colours = "ok" if sound else "error"
        self.verified.set_tone(colours)
        self.text.set_text("\n".join(result_lines(packed)))
        self.button.setDefault(True)
        self.button.setFocus()


def report_text(report: Report | None) -> str:
    if report is None:
        return "Not verified."
    return f"Read back: {report.summary}"


def result_lines(packed: Packed) -> list[str]:
    lines = note_lines(packed.notes[:MAX_LISTED], [loss.text for loss in packed.losses])
    lines += [f"● {path} was removed: not part of the new data set" for path in packed.removed[:MAX_LISTED]]
    lines += [f"▲ skipped: {one.why}" for one in packed.skipped[:MAX_LISTED]]
    if len(packed.skipped) > MAX_LISTED:
        lines.append(f"… and {plural(len(packed.skipped) - MAX_LISTED, 'more skipped input')}")
    if packed.report is not None:
        lines += [f"{_SIGNS[one.severity]} {one.message}" for one in packed.report.findings[:MAX_LISTED]]
    if lines:
        lines.append("")
    for file in packed.written[:MAX_LISTED]:
        lines.append(f"{file.path.name} · {plural(file.size, 'byte')}")
    if len(packed.written) > MAX_LISTED:
        lines.append(f"… and {plural(len(packed.written) - MAX_LISTED, 'more file')}")
    return [shown(line) for line in lines]


def result_text(packed: Packed, name: str) -> str:
    size = sum(file.size for file in packed.written)
    files = f"{plural(len(packed.written), 'file')}, " if len(packed.written) > 1 else ""
    skipped = f"{plural(len(packed.skipped), 'input')} skipped. " if packed.skipped else ""
    return f"{name} written: {files}{plural(size, 'byte')}. {skipped}{report_text(packed.report)}"


def _large(font: QFont) -> QFont:
    made = sized(font, LARGE)
    made.setWeight(QFont.Weight.DemiBold)
    return made
