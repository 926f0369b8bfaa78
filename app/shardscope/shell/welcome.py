"""Welcome page: buttons to open files, recent files, and cards of samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QIcon, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

import shardcore
from shardcore import DataSet, Section, SectionRole
from shardcore.teaching import resource_paths
from shardcore.teaching.resource_paths import Role, Sample
from shardscope.session.jobs import Job, JobPriority, Jobs
from shardscope.startup.settings import Settings
from shardscope.views.hex.status import Legend
from shardscope.views.places import PlaceList, PlaceModel, recent_places
from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, TITLE, px, sized, weighted, zoom
from shardscope.widgets.layouts import drop_menu, lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.sample_names import sample_title
from shardscope.widgets.scroll_area import ScrollArea
from shardscope.widgets.strip_paint import paint_ground, paint_letter, widths_to_scale
from shardscope.widgets.wrap_text import WrapText

_CARDS = (Role.MAIN, Role.FEATURED)

TWO_COLUMNS = 600
"""Width in pixels at 100 % from which the cards of samples are in two columns."""

SOON_MILLISECONDS = 150
PATIENCE_MILLISECONDS = 500
_STRIP = 16
_PAD = 12


WIDEST = 820
"""Maximum width of the samples in pixels at 100 %."""

BESIDE = 900
"""Width in pixels at 100 % from which recent files are beside the samples instead of above."""


class SampleCard(QAbstractButton):
    """Button that opens a sample and shows a strip of its sections; `menu` opens further samples of its format."""

    def __init__(self, sample: Sample, menu: QMenu | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.sample = sample
        self.sections: tuple[Section, ...] = ()
        self.setText(self.tr("Open {0}").format(sample.title))
        spoken = self.tr("Open the sample {0}: {1}").format(sample.title, sample.about)
        made(self, accessibleName=spoken, toolTip=sample.about, focusPolicy=Qt.FocusPolicy.StrongFocus)
        name = self.tr("Learn the format of the sample {0}").format(sample.title)
        self.learn = self._button(
            self.tr("Learn"), name, self.tr("Walks through the sample, byte by byte, with questions")
        )
        self.learn.setObjectName(f"learn-{sample.format}")
        # A featured sample shows its content, not its format.
        self.learn.setVisible(sample.role is not Role.FEATURED)
        meaning = self.tr("Further samples of this format, including a damaged and an unusual one")
        self.more = self._button(self.tr("More ▾"), self.tr("More samples of {0}").format(sample.title), meaning)
        self.more.setVisible(menu is not None)
        if menu is not None:
            drop_menu(self.more, menu)
        self._lay_out()
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def _button(self, text: str, name: str, meaning: str) -> QToolButton:
        focus = Qt.FocusPolicy.StrongFocus
        return made(QToolButton(self), text=text, accessibleName=name, toolTip=meaning, focusPolicy=focus)

    def _lay_out(self) -> None:
        title, about = WrapText(self.sample.title, bold=True), WrapText(self.sample.about, tone="muted")
        for text in (title, about):
            # Pass clicks on texts to the card, which is one button.
            text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            text.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        head = lay(QHBoxLayout(), (title, 1), self.learn, self.more, spacing=4)
        head.setAlignment(title, Qt.AlignmentFlag.AlignVCenter)
        self._column = lay(QVBoxLayout(self), head, about, 1, spacing=4)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_sections(self, sections: tuple[Section, ...]) -> None:
        self.sections = sections
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._column.setContentsMargins(_PAD, _PAD - 2, _PAD, _PAD + px(_STRIP) + 6)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.of(self)
        strong = self.hasFocus()
        painter.setPen(QPen(colours.accent if strong else colours.border, 2 if strong else 1))
        painter.setBrush(colours.raised if self.underMouse() or self.isDown() else colours.base)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        inner = self.rect().adjusted(_PAD, 0, -_PAD, -_PAD)
        high = px(_STRIP)
        self._paint_strip(painter, colours, QRectF(inner.left(), inner.bottom() - high, inner.width(), high))
        painter.end()

    def _paint_strip(self, painter: QPainter, colours: theme.Palette, place: QRectF) -> None:
        if not self.sections:
            painter.fillRect(place, colours.window)
            return
        x = place.left()
        painter.setFont(sized(self.font(), SMALL))
        room = painter.fontMetrics().horizontalAdvance("M") + 4
        widths = widths_to_scale([section.size for section in self.sections], place.width())
        for section, width in zip(self.sections, widths, strict=True):
            box = QRectF(x, place.top(), max(width - 1, 1), place.height())
            paint_ground(painter, colours, section.role, box)
            if width > room:
                paint_letter(painter, colours, section.role, box)
            x += width


class SampleMenu(QMenu):
    """Menu of all samples: of each format the main one, and a menu of its others in `others`."""

    chosen = Signal(object)
    """Carries the path of a sample to open."""
    preview_requested = Signal(object)
    """Carries the path of a sample to open with the preview of its first object."""

    def __init__(self, samples: Sequence[Sample], parent: QWidget) -> None:
        super().__init__(self.tr("Open &sample"), parent)
        main = [one for one in samples if one.role is Role.MAIN]
        self.cards = main + [one for one in samples if one.role is Role.FEATURED]
        for one in self.cards:
            self.addAction(_shown(one.title), partial(self.open, one))
        self.addSeparator()
        self.others: dict[str, QMenu] = {}
        for one in main:
            name = self.tr("More samples of {0}").format(one.title)
            further = [other for other in samples if other.format == one.format and other.role not in _CARDS]
            self.others[one.format] = menu = made(QMenu(name, self), toolTipsVisible=True)
            for other in further:
                menu.addAction(_shown(sample_title(other)), partial(self.open, other)).setToolTip(tip(other.see))
            self.addMenu(menu)

    def open(self, sample: Sample) -> None:
        signal = self.preview_requested if sample.role is Role.FEATURED else self.chosen
        signal.emit(str(sample.path))


def _shown(title: str) -> str:
    return title.replace("&", "&&")


class SampleCards(QWidget):
    """Cards of all samples. Jobs read the sections of the samples after they are shown."""

    spoken_role = QAccessible.Role.Grouping

    learn_requested = Signal(object)
    """Carries the path of a sample to open with the first lesson on its format."""

    def __init__(self, menu: SampleMenu, jobs: Jobs | None, parent: QWidget) -> None:
        super().__init__(parent)
        made(self, "sampleList", accessibleName=self.tr("Samples"))
        self._jobs = jobs
        self._columns = 0
        self.cards = [
            SampleCard(one, menu.others[one.format] if one.role is Role.MAIN else None, self) for one in menu.cards
        ]
        for card in self.cards:
            card.clicked.connect(lambda _=False, one=card.sample: menu.open(one))
            card.learn.clicked.connect(lambda _=False, one=card.sample: self.learn_requested.emit(str(one.path)))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(10)
        self.legend = made(Legend(self), "sampleLegend")
        self._grid.addWidget(self.legend, len(self.cards), 0, 1, 2)
        self._arrange(2)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._jobs is not None:
            QTimer.singleShot(SOON_MILLISECONDS, self, self._read_sections)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= px(TWO_COLUMNS) else 1)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for number, card in enumerate(self.cards):
            self._grid.addWidget(card, number // columns, number % columns)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, columns - 1)

    def _read_sections(self) -> None:
        jobs = self._jobs
        if jobs is None or not self.isVisible():
            return
        if jobs.open_jobs:
            QTimer.singleShot(SOON_MILLISECONDS, self, self._read_sections)
            return
        self._jobs = None
        for card in self.cards:
            jobs.submit(
                partial(_read, card.sample.path),
                key=("strip", card),
                priority=JobPriority.PREFETCH,
                lasting=True,
                done=partial(self._show_sections, card),
            )

    def _show_sections(
        self, card: SampleCard, sections: tuple[Section, ...] | None, error: BaseException | None
    ) -> None:
        # An unreadable sample shows its error when it is opened.
        if sections is not None:
            card.show_sections(sections)
            there = {section.role for card in self.cards for section in card.sections}
            self.legend.set_roles([role for role in SectionRole if role in there], ())


def _read(path: Path, job: Job) -> tuple[Section, ...]:
    with shardcore.open(str(path), partial=True, progress=job.progress) as shard:
        first = shard.member(shard.members[0].name) if isinstance(shard, DataSet) else shard
        return tuple(section for section in first.sections if section.size)


class Welcome(ScrollArea):
    """Page that is shown while no file is. Its parts are created when it is shown for the first time.

    Attributes:
        menu: Menu of the samples; exists from the start.
    """

    chosen = Signal(object)
    created = Signal()

    def __init__(self, settings: Settings, jobs: Jobs | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "welcome", accessibleName=self.tr("Welcome"))
        self._settings, self._jobs = settings, jobs
        self._is_created, self._wait = False, 0
        self.menu = SampleMenu(resource_paths.samples(), self)
        self.menu.chosen.connect(self.chosen)

    def wait_for_file(self) -> None:
        """Create the parts a little later than the page is shown; a file that is opened meanwhile hides it."""
        self._wait = PATIENCE_MILLISECONDS

    def _create_if_visible(self) -> None:
        if not self._is_created and self.isVisible():
            self._create()

    def _create(self) -> None:
        self._is_created = True
        self.title = QLabel("Shardscope", self)
        self.title.setFont(weighted(sized(self.font(), TITLE)))
        self.open_button = self._button(self.tr("Open…"))
        self.open_button.setDefault(True)
        words = self.tr("A data set: a folder of shards that share their keys")
        self.folder_button = self._button(self.tr("Open folder…"), words)
        words = self.tr("An S3 or GCS bucket, a URL, a Neuroglancer layer (Ctrl+U)")
        self.address_button = self._button(self.tr("Open address…"), words)
        words = self.tr("Packs files and folders into a new shard of any format")
        self.new_button = self._button(self.tr("New shard…"), words)
        words = self.tr("Packs the same objects into every format, and shows what each costs")
        self.compare_button = self._button(self.tr("Compare formats…"), words)
        self.samples = SampleCards(self.menu, self._jobs, self)
        self.recent_part = QWidget(self)
        self._recent = PlaceModel(self)
        self.recent = PlaceList(self._recent, self.recent_part)
        made(self.recent, "recentList", accessibleName=self.tr("Recent files"))
        self.recent.setCursor(Qt.CursorShape.PointingHandCursor)
        self.recent.gone.connect(lambda index: self.chosen.emit(self._recent.place(index).where))
        self._lay_out()
        self.refresh()
        self.created.emit()

    def _button(self, text: str, meaning: str = "") -> QPushButton:
        return made(QPushButton(text, self), toolTip=meaning)

    def _lay_out(self) -> None:
        icon = made(QLabel(self), accessibleName="Shardscope")
        drawing = QIcon(str(resource_paths.path("icons/shardscope.svg")))
        icon.setPixmap(drawing.pixmap(QSize(64, 64), self.devicePixelRatioF()))
        about = WrapText(self.tr("See what is inside shard files: bytes, fields, objects, lookups."), tone="muted")
        words = lay(QVBoxLayout(), self.title, about, spacing=2)
        head = lay(QHBoxLayout(), icon, (words, 1), spacing=16, margins=(0, 0, 0, 6))
        openers = (self.open_button, self.folder_button, self.address_button, self.new_button)
        buttons = lay(QHBoxLayout(), *openers, 1, spacing=10)
        drop = WrapText(self.tr("Drop a file or folder to open it, or several files to pack them."), tone="muted")
        drop.setObjectName("dropArea")
        samples_line = lay(QHBoxLayout(), (plain_label(self.tr("Samples"), bold=True), 1), self.compare_button)
        samples = lay(QVBoxLayout(), samples_line, self.samples, spacing=6)
        recent_head = plain_label(self.tr("Recent"), bold=True)
        recent_head.setMinimumHeight(self.compare_button.sizeHint().height())
        lay(QVBoxLayout(self.recent_part), recent_head, self.recent, 1, spacing=6)
        self._parts = lay(QBoxLayout(QBoxLayout.Direction.LeftToRight), (samples, 5), (self.recent_part, 2), spacing=20)
        self.setWidget(page := QWidget(self))  # while it is empty: Qt computes its size
        box = self._box = QWidget(page)
        lay(QVBoxLayout(box), head, buttons, drop, self._parts, spacing=14, margins=(9, 9, 9, 9))
        box.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        lay(QVBoxLayout(page), 2, lay(QHBoxLayout(), 1, (box, 1000), 1), 3, margins=(20, 14, 20, 14))

    def refresh(self) -> None:
        if not self._is_created:
            return
        places = recent_places(self._settings)
        self._recent.fill(places)
        self.recent.setCurrentIndex(self._recent.index(0))
        self.recent_part.setVisible(bool(places))
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._wait:
            QTimer.singleShot(self._wait, self, self._create_if_visible)
            self._wait = 0
        else:
            self._create_if_visible()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_created:
            self._fit()

    def _fit(self) -> None:
        beside = self.width() >= BESIDE * zoom()
        self._parts.setDirection(QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.BottomToTop)
        rows = min(len(self._settings.recent), 8 if beside else 3)
        self.recent.setFixedHeight(rows * max(self.recent.sizeHintForRow(0), 0) + 6)
        self._box.setMaximumWidth(round(WIDEST * zoom() * (1.42 if rows and beside else 1)))
