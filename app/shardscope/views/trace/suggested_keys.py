"""Keys suggested for a lookup: the keys listed for a sample file, or the first key of the open file."""

from __future__ import annotations

from collections.abc import Sequence
from filecmp import cmp
from functools import partial
from itertools import islice
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QMenu, QToolButton, QVBoxLayout, QWidget

from shardcore import Shard
from shardcore.dataclasses import dataclass
from shardcore.model.text import shown
from shardcore.sources.remote.address import is_address
from shardcore.system import is_link
from shardcore.teaching import resource_paths
from shardcore.teaching.resource_paths import KeyRole, Sample
from shardscope.session.display_text import cut_middle
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.session import Session
from shardscope.widgets.layouts import discard, drop_menu, grid_in, lay, made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.wrap_text import WrapText

MOST_FILES = 50
"""Maximum number of files of a folder that is compared with the samples."""


def sample_of(uri: str) -> Sample | None:
    """Return the sample at a path, or the sample of which it is a copy; None for other files and addresses."""
    path = Path(uri)
    try:
        if is_address(uri) or not path.exists():
            return None
        files = _files(path)
        return next((sample for sample in resource_paths.samples() if _is_copy(path, files, sample.path)), None)
    except (OSError, ValueError):
        # A file that cannot be read again, or was changed meanwhile, is not a copy.
        return None


def _is_copy(path: Path, files: Sequence[Path], sample: Path) -> bool:
    if path.samefile(sample):
        return True
    others = _files(sample)
    names = [file.relative_to(path) for file in files]
    if not files or names != [file.relative_to(sample) for file in others]:
        return False
    return all(map(partial(cmp, shallow=False), files, others))


def _files(path: Path) -> list[Path]:
    """Return the files in a folder, sorted; empty if there are more than `MOST_FILES`."""
    if path.is_file():
        return [path]
    pending, found, seen = [path], [], 0
    while pending:
        # Stop listing as soon as there are too many entries.
        entries = list(islice(pending.pop().iterdir(), MOST_FILES + 1))
        seen += len(entries)
        if seen > MOST_FILES:
            return []
        pending += [entry for entry in entries if entry.is_dir() and not is_link(entry)]
        found += [entry for entry in entries if entry.is_file()]
    return sorted(found)


LOOKED_AT = 64
"""Maximum number of rows searched for a first key, since some files begin with empty slots."""

LONGEST_KEY = 26


@dataclass(frozen=True, slots=True)
class SuggestedKey:
    key: str
    word: str
    about: str = ""


class SuggestedKeys(QWidget):
    chosen = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        made(self, "traceOffers", accessibleName=self.tr("Suggested keys"))
        self.sample: Sample | None = None
        self.offers: tuple[SuggestedKey, ...] = ()
        self.links: list[WrapText] = []
        self._session = session
        self._known = False
        self._box = QWidget()
        self._column = lay(QVBoxLayout(self), self._box)
        about = self.tr("Suggested keys")
        self.menu = made(QToolButton(), "traceKeys", text="▾", accessibleName=about, toolTip=about)
        self.menu.setStyleSheet("QToolButton { padding: 4px; } QToolButton::menu-indicator { image: none; }")
        drop_menu(self.menu, QMenu(self.menu)).setToolTipsVisible(True)
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.index.changed.connect(lambda _: self._look_for_first())
        self._closed()
        if session.shard is not None:
            self._opened(session.shard)

    def _closed(self) -> None:
        self.sample, self._known = None, False
        self._show(())

    def _opened(self, _: Shard) -> None:
        self._closed()
        uri = self._session.request.uri

        def take(found: Sample | None) -> None:
            self.sample, self._known = found, True
            if found is None:
                self._look_for_first()
                return
            words = {
                KeyRole.TYPICAL: self.tr("Typical"),
                KeyRole.CROWDED: self.tr("Crowded"),
                KeyRole.ABSENT: self.tr("Not found"),
            }
            self._show(tuple(SuggestedKey(one.key, words[one.role], one.about) for one in found.keys))

        self._session.ask(lambda _, job: sample_of(uri), take, key=("sample", self), priority=JobPriority.PREFETCH)

    def _look_for_first(self) -> None:
        if not self._known or self.sample is not None or self.offers or self._session.listing is None:
            return

        def work(shard: Shard, job: Job) -> str | None:
            return next((key for key in shard.objects.keys[:LOOKED_AT] if key is not None), None)

        def take(key: str | None) -> None:
            if key is not None and not self.offers:
                self._show((SuggestedKey(key, self.tr("First")),))

        self._session.ask(work, take, failed=lambda _: None, key=("first key", self), priority=JobPriority.PREFETCH)

    def _show(self, offers: tuple[SuggestedKey, ...]) -> None:
        self.offers = offers
        self.links = []
        box = QWidget()
        grid = grid_in(box, 12, 2)
        grid.setColumnStretch(1, 1)
        if head := self.sample.see if self.sample is not None else self.tr("Try a key of this file:"):
            grid.addWidget(WrapText(head), 0, 0, 1, 2)
            grid.setRowMinimumHeight(1, 10)
        self.menu.menu().clear()
        for number, offer in enumerate(offers):
            self._add(grid, 2 + 3 * number, offer)
        self._column.replaceWidget(self._box, box)
        discard(self._box)
        self._box = box
        self.setVisible(bool(offers))
        self.menu.setEnabled(bool(offers))

    def _add(self, grid: QGridLayout, row: int, offer: SuggestedKey) -> None:
        key = cut_middle(shown(offer.key), LONGEST_KEY)
        action = self.menu.menu().addAction(f"{offer.word}: {key}".replace("&", "&&"))
        action.setToolTip(tip(offer.about or offer.key))
        action.triggered.connect(partial(self.chosen.emit, offer.key))
        link = WrapText(tone="accent", mono=True, link=True)
        link.set_text(key, copied=offer.key)
        made(link, "traceOffer", toolTip=tip(offer.key), accessibleName=self.tr("Look up {0}").format(link.text))
        link.clicked.connect(partial(self.chosen.emit, offer.key))
        self.links.append(link)
        grid.addWidget(WrapText(offer.word, tone="muted"), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(link, row, 1)
        if offer.about:
            grid.addWidget(WrapText(offer.about, tone="muted"), row + 1, 1)
        grid.setRowMinimumHeight(row + 2, 8)
