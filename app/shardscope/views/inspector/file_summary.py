"""Summary of the open file: format, counts, sizes and parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QAction, QImage, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from shardcore import DataSet, SectionRole, Shard, ShardError, Span, UsageError
from shardcore.model.span import SourceName
from shardcore.model.text import plural, size_text
from shardcore.shards.format import Detail
from shardcore.shards.registry import format_of
from shardscope.session.display_text import cut_middle, share_text
from shardscope.session.error_messages import error_text
from shardscope.session.fetch_cost import whole
from shardscope.session.object_counts import MOST_COUNTED_FAR, count
from shardscope.session.open_request import listed_members
from shardscope.session.session import Session
from shardscope.views.inspector.detail_forms import Form
from shardscope.views.inspector.node_details import DetailRow
from shardscope.views.inspector.object_details import detail_text
from shardscope.views.preview.volume_slice import first_slice, is_shown, times
from shardscope.widgets import theme
from shardscope.widgets.wrap_text import WrapText

MOST_PARTS = 16
"""Maximum number of sections or shards listed; others are counted."""

REMOTE_SLICE = 1 << 20
"""Maximum size in bytes of the chunks of a remote volume that are fetched automatically for its slice."""

TWO_COLUMNS = 560
"""Width in pixels from which parts and details are side by side."""

_KINDS = MappingProxyType({"bigfile": "BigFile"})

_PICTURE = 132
"""Longer edge of the slice in pixels."""


@dataclass(frozen=True, slots=True)
class FilePart:
    name: str
    span: Span
    role: SectionRole | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    rows: tuple[DetailRow, ...]
    parts: tuple[tuple[str, tuple[FilePart, ...]], ...]
    picture: QImage | None


def summary_of(shard: Shard, *, remote: bool) -> Summary:
    """Return the summary of a shard, with a picture of one slice of an array. May read the file: call it in a job."""
    try:
        known = format_of(shard.format)
    except UsageError:
        # Unknown format: only the raw bytes are shown.
        rows = [DetailRow("format", "not a known shard format"), DetailRow("size", plural(shard.size or 0, "byte"))]
        return Summary(tuple(rows), (), None)
    rows = [DetailRow("format", shard.title), *_object_rows(shard, remote=remote)]
    # Do not list a remote folder for this.
    listed = not isinstance(shard, DataSet) or shard.listed
    if listed and (size := shard.size) is not None:
        rows.append(DetailRow("size", plural(size, "byte")))
    if shard.checksum:
        rows.append(DetailRow("checksum", shard.checksum))
    fields = {name: _plain(value) for name, value in shard.fields.items()} if listed else {}
    named = {name.replace(".", "_"): value for name, value in fields.items()}
    for name, detail in known.summary.items():
        if name in fields:
            rows.append(DetailRow(detail.label, detail_text(detail, fields[name], named)))
    picture = None
    try:
        grid = shard.chunk_grid()
        if grid is not None:
            rows.append(DetailRow("array", f"{times(grid.shape)} · {grid.dtype.name}, chunks {times(grid.chunk)}"))
            if is_shown(grid) and (not remote or 0 < whole(shard) <= REMOTE_SLICE):
                picture = first_slice(grid)
    except ShardError as error:
        rows.append(DetailRow("array", error_text(error), tone="error"))
    if shard.damage is not None:
        rows.append(DetailRow("error", error_text(shard.damage), tone="error"))
    return Summary(tuple(rows), tuple(_parts(shard)), picture)


def _plain(value: object) -> object:
    return value.rstrip(b"\0").decode("latin-1") if isinstance(value, bytes) else value


def _object_rows(shard: Shard, *, remote: bool) -> Iterator[DetailRow]:
    total, listing = shard.declared_objects, shard.listing
    if total is None or listing is None or len(listing) > MOST_COUNTED_FAR or (remote and not shard.loaded):
        yield DetailRow("objects", "not counted yet" if total is None else f"{total:,}", strong=total is not None)
        return
    census = count(shard)
    *kinds, last = [plural(number, _KINDS.get(kind, kind)) for kind, number in census.kinds] or ["0"]
    yield DetailRow("objects", f"{', '.join(kinds)} and {last}" if kinds else f"{total:,}", strong=True)
    details = format_of(shard.format).details
    known = details.get("codec", Detail("codec", "{}"))
    codecs = [known.form.format(name) for name, _ in census.codecs if name not in ("none", "unread", "unknown")]
    if codecs:
        yield DetailRow(known.label, ", ".join(codecs))


def _parts(shard: Shard) -> Iterator[tuple[str, tuple[FilePart, ...]]]:
    members = listed_members(shard) if isinstance(shard, DataSet) else ()
    if members:
        yield (
            plural(len(members), "shard").capitalize(),
            tuple(FilePart(one.name, Span(str(SourceName(one.name)), 0, max(one.size, 0))) for one in members),
        )
    first = str(SourceName(members[0].name)) if members else ""
    try:
        found = [one for one in shard.sections_of(first) if one.size]
    except ShardError:
        # The shard itself shows its damage.
        return
    sections = tuple(FilePart(_named(s.name, s.role), Span(first, s.start, s.stop), s.role, s.doc) for s in found)
    if sections:
        yield f"Sections of {cut_middle(members[0].name)}" if members else "Sections", sections


def _named(name: str, role: SectionRole) -> str:
    return name if role.value in name.split() else f"{name} · {role.value}"


class ShareBar(QLabel):
    def __init__(self, role: SectionRole | None, share: float) -> None:
        super().__init__()
        self._role, self._share = role, share
        self.setFixedHeight(6)
        self.setAccessibleName(f"{share:.0%}")

    def paintEvent(self, event: QPaintEvent) -> None:
        colours, body = theme.of(self), QRectF(self.rect())
        painter = QPainter(self)
        painter.fillRect(body, colours.raised)
        body.setWidth(max(body.width() * self._share, 2))
        painter.fillRect(body, colours.accent if self._role is None else colours.section(self._role))
        painter.end()


class FileSummary(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("fileSummary")
        self._session = session
        self._lists: list[QWidget] = []
        self.links: list[WrapText] = []
        self.title = WrapText(bold=True)
        self.form = Form(self.tr("FILE"))
        self.form.title.hide()
        self.load = WrapText(self.tr("Load index"), link=True)
        self.load.clicked.connect(session.want_index)
        self.picture = QLabel()
        self.picture.setAccessibleName(self.tr("Slice of the array"))
        self.buttons = QWidget()
        self._sides = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._sides.setContentsMargins(0, 0, 0, 0)
        self._sides.setSpacing(16)
        first, self._column = QVBoxLayout(), QVBoxLayout()
        for widget in (self.title, self.form, self.load, self.picture, self.buttons):
            first.addWidget(widget)
        for column in (first, self._column):
            column.setSpacing(6)
            self._sides.addLayout(column, 1)
        first.addStretch(1)

    def offer(self, *actions: tuple[str, QAction]) -> None:
        row = QHBoxLayout(self.buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for text, action in actions:
            button = QPushButton(text)
            button.clicked.connect(action.trigger)
            row.addWidget(button)
        row.addStretch(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= TWO_COLUMNS
        self._sides.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)

    def refresh(self) -> None:
        remote = self._session.request.is_remote
        self.title.set_text(self._session.request.title)
        self._session.ask(
            lambda shard, _: summary_of(shard, remote=remote),
            self._show,
            failed=lambda error: self._show(Summary((DetailRow("error", error_text(error), tone="error"),), (), None)),
            key=("summary", self),
        )

    def _show(self, found: Summary) -> None:
        shard = self._session.shard
        self.form.set_rows(found.rows)
        self.load.setVisible(shard is not None and shard.declared_objects is None and not shard.loaded)
        self.buttons.setVisible(bool(found.parts))
        self.picture.setVisible(found.picture is not None)
        if found.picture is not None:
            edges = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.FastTransformation
            self.picture.setPixmap(QPixmap.fromImage(found.picture.scaled(_PICTURE, _PICTURE, *edges)))
        for one in self._lists:
            one.hide()
            one.deleteLater()
        self.links = []
        self._lists = [self._list(title, parts) for title, parts in found.parts]
        for one in self._lists:
            self._column.addWidget(one)
            one.show()

    def _list(self, title: str, parts: Sequence[FilePart]) -> QWidget:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(0, 4, 0, 2)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        grid.addWidget(WrapText(title, tone="muted", bold=True), 0, 0, 1, 2)
        total = sum(part.span.size for part in parts)
        for row, part in enumerate(parts[:MOST_PARTS]):
            link = WrapText(part.name if part.role else cut_middle(part.name), link=True)
            link.setToolTip(part.doc)
            link.clicked.connect(partial(self._session.select_span, part.span, self))
            figures = size_text(part.span.size)
            if part.role is not None:
                figures += f" · {share_text(part.span.size, total)}"
            grid.addWidget(link, 2 * row + 1, 0)
            grid.addWidget(WrapText(figures, tone="muted"), 2 * row + 1, 1, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(ShareBar(part.role, part.span.size / max(total, 1)), 2 * row + 2, 0, 1, 2)
            self.links.append(link)
        if more := len(parts[MOST_PARTS:]):
            left_out = self.tr("… and {0} more").format(f"{more:,}")
            grid.addWidget(WrapText(left_out, tone="muted"), grid.rowCount(), 0, 1, 2)
        return box
