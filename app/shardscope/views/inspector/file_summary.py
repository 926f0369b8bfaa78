"""Summary of the open file: format, counts, sizes and parts."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QImage, QPixmap, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from shardcore import DataSet, Shard, ShardError, Span, UsageError
from shardcore.dataclasses import dataclass
from shardcore.model.span import SourceName
from shardcore.model.text import plural, size_text
from shardcore.shards.format import Detail
from shardcore.shards.registry import format_of
from shardscope.session.display_text import cut_middle, error_text, share_text
from shardscope.session.index import whole
from shardscope.session.object_rows import MOST_COUNTED_FAR, count
from shardscope.session.open_request import listed_members
from shardscope.session.session import Session
from shardscope.views.inspector.details import detail_text
from shardscope.widgets.details_page import SPACER, Command, DetailRow, DetailsPage
from shardscope.widgets.layouts import lay, made

MOST_PARTS = 16

REMOTE_SLICE = 1 << 20
"""Maximum size in bytes of the chunks of a remote volume that are fetched automatically for its slice."""

TWO_COLUMNS = 560
"""Width in pixels from which parts and details are side by side."""

_KINDS = {"bigfile": "BigFile"}

_PICTURE = 132
"""Longer edge of the slice in pixels."""


@dataclass(frozen=True, slots=True)
class Summary:
    rows: tuple[DetailRow, ...]
    parts: tuple[DetailRow, ...] = ()
    picture: QImage | None = None


def summary_of(shard: Shard, *, remote: bool) -> Summary:
    """Return the summary of a shard, with a picture of one slice of an array. May read the file: call it in a job."""
    try:
        known = format_of(shard.format)
    except UsageError:
        # Unknown format: only the raw bytes are shown.
        size_row = DetailRow("size", plural(shard.size or 0, "byte"))
        return Summary((DetailRow("format", "not a known shard format"), size_row))
    rows = [DetailRow("format", shard.title), *_object_rows(shard, remote=remote)]
    # Do not list a remote folder only for its size.
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
            from shardscope.views.preview.volume_slice import first_slice, is_shown, times

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
    known = format_of(shard.format).details.get("codec", Detail("codec", "{}"))
    codecs = [known.form.format(name) for name, _ in census.codecs if name not in ("none", "unread", "unknown")]
    if codecs:
        yield DetailRow(known.label, ", ".join(codecs))


def _parts(shard: Shard) -> Iterator[DetailRow]:
    members = listed_members(shard) if isinstance(shard, DataSet) else ()
    if members:
        total = sum(max(member.size, 0) for member in members)
        yield _title(plural(len(members), "shard").capitalize())
        for member in members[:MOST_PARTS]:
            span = Span(str(SourceName(member.name)), 0, max(member.size, 0))
            share = span.size / max(total, 1)
            yield DetailRow(size_text(span.size), cut_middle(member.name), link=span, share=(None, share))
        yield from _left_out(len(members))
    first = str(SourceName(members[0].name)) if members else ""
    try:
        sections = [section for section in shard.sections_of(first) if section.size]
    except ShardError:
        # The shard itself shows its damage.
        return
    if members and sections:
        yield DetailRow("", " ", size=SPACER)
    if sections:
        yield _title(f"Sections of {cut_middle(members[0].name)}" if members else "Sections")
    total = sum(section.size for section in sections)
    for one in sections[:MOST_PARTS]:
        name = one.name if one.role.value in one.name.split() else f"{one.name} · {one.role.value}"
        figures = f"{size_text(one.size)} · {share_text(one.size, total)}"
        span, share = Span(first, one.start, one.stop), one.size / max(total, 1)
        yield DetailRow(figures, name, link=span, tip=one.doc, share=(one.role, share))
    yield from _left_out(len(sections))


def _title(text: str) -> DetailRow:
    return DetailRow("", text, tone="muted", strong=True)


def _left_out(count: int) -> Iterator[DetailRow]:
    if count > MOST_PARTS:
        yield DetailRow("", f"… and {count - MOST_PARTS:,} more", tone="muted")


class FileSummary(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("fileSummary")
        self._session = session
        self.form = DetailsPage("fileDetails", self.tr("Details of the file"))
        self.form.followed.connect(lambda _: session.index.want())
        self.picture = made(QLabel(), accessibleName=self.tr("Slice of the array"))
        self.buttons = QWidget()
        self.parts = DetailsPage("fileParts", self.tr("Parts of the file"))
        self.parts.followed.connect(lambda span: session.select_span(span, self))
        first = lay(QVBoxLayout(), self.form, self.picture, self.buttons, 1, spacing=6)
        second = lay(QVBoxLayout(), self.parts, 1, spacing=6)
        self._sides = lay(QBoxLayout(QBoxLayout.Direction.TopToBottom, self), (first, 1), (second, 1), spacing=16)

    def offer(self, *actions: tuple[str, QAction]) -> None:
        buttons = [QPushButton(text) for text, _ in actions]
        for button, (_, action) in zip(buttons, actions, strict=True):
            button.clicked.connect(action.trigger)
        lay(QHBoxLayout(self.buttons), *buttons, 1, spacing=4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= TWO_COLUMNS
        self._sides.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)

    def refresh(self) -> None:
        remote = self._session.request.is_remote
        self._session.ask(
            lambda shard, _: summary_of(shard, remote=remote),
            self._show,
            failed=lambda error: self._show(Summary((DetailRow("error", error_text(error), tone="error"),))),
            key=("summary", self),
        )

    def _show(self, found: Summary) -> None:
        shard = self._session.shard
        rows = [DetailRow("", self._session.request.title, strong=True), *found.rows]
        if shard is not None and shard.declared_objects is None and not shard.loaded:
            rows.append(DetailRow("", self.tr("Load index"), link=Command.LOAD_INDEX))
        self.form.set_rows(rows)
        self.parts.set_rows(found.parts)
        self.buttons.setVisible(bool(found.parts))
        self.picture.setVisible(found.picture is not None)
        if found.picture is not None:
            edges = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.FastTransformation
            self.picture.setPixmap(QPixmap.fromImage(found.picture.scaled(_PICTURE, _PICTURE, *edges)))
