"""The inspector: details of the selection, the summary of the file, and the bytes at the caret as numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QFontMetrics, QGuiApplication
from pytestqt.qtbot import QtBot

from shardcore import Source, SourceError, Span, State
from shardcore.teaching import resources
from shardscope.session.session import Session
from shardscope.views.inspector.node_details import PENDING, RAW
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets import theme
from shardscope.widgets.wrap_text import WrapText
from tests.app.conftest import open_in


@pytest.fixture
def made(session: Session, qtbot: QtBot) -> Inspector:
    """An inspector of the usual width."""
    made = Inspector(session)
    qtbot.addWidget(made)
    made.resize(280, 800)
    made.show()
    return made


@pytest.fixture
def inspector(made: Inspector, session: Session, qtbot: QtBot, data: Path) -> Inspector:
    """The same on the small sample."""
    open_in(session, qtbot, data / "swh/small.shard")
    return made


def select(session: Session, qtbot: QtBot, start: int, stop: int | None = None) -> None:
    """Selects bytes, and waits until all is known and read."""
    session.select_span(Span("", start, start + 1 if stop is None else stop))
    settle(session, qtbot)


def settle(session: Session, qtbot: QtBot) -> None:
    """Waits until nothing is on its way."""
    qtbot.waitUntil(lambda: session.selection.complete and not session.jobs.open_jobs)


def text(inspector: Inspector, name: str) -> str:
    """The value of a row about the node; empty when there is none."""
    widget = inspector.node_form.value(name)
    return widget.text if widget is not None else ""


def test_passport_of_a_field(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """A field: name, meaning, role, place, raw bytes, value in decimal and hex, where it points."""
    select(session, qtbot, 64)
    assert inspector.name.text == "index_position"
    assert inspector.doc.text.startswith("First byte of the index")
    assert text(inspector, "role") == "offset"
    assert text(inspector, "bytes") == "0x40–0x47 · 8 bytes"
    assert text(inspector, "raw") == "00 00 00 00 00 00 11 71"
    assert (text(inspector, "value"), text(inspector, "hex")) == ("4465", "0x1171")
    assert text(inspector, "points to") == "→ 0x1171–0x1378 · 520 bytes"


def test_pointer_jumps(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """A click on the target selects it."""
    select(session, qtbot, 64)
    link = inspector.node_form.value("points to")
    assert link is not None
    link.clicked.emit()
    settle(session, qtbot)
    assert session.selection.span == Span("", 4465, 4985)
    assert inspector.name.text == "index"


def test_numbers_at_the_caret(inspector: Inspector, session: Session, qtbot: QtBot, data: Path) -> None:
    """The numbers are those of the bytes from the selected one on."""
    select(session, qtbot, 67)
    content = (data / "swh/small.shard").read_bytes()
    assert inspector.numbers.value("u64", 1) == str(int.from_bytes(content[67:75], "little"))
    assert inspector.numbers.value("u64", 2) == str(int.from_bytes(content[67:75], "big"))
    assert inspector.numbers.value("u8") == str(content[67])
    assert inspector.numbers_title.text == "Data inspector (at 0x43)"
    select(session, qtbot, len(content) - 2)
    assert inspector.numbers.value("u16") == str(int.from_bytes(content[-2:], "little"))
    assert inspector.numbers.value("u32") == "—"


def test_object(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """A selected object: its key, size, state and places, beside the passport of its bytes."""
    session.select_row(12)
    settle(session, qtbot)
    shown = {row.name: row.text for row in inspector.object_form.rows}
    assert shown["key"].startswith("ca978112")
    assert shown["size"] == "1 byte"
    assert shown["stored"] == "1 byte · not compressed"
    assert shown["state"] == "live"
    assert shown["content"] == "→ 0x210 · 1 byte"
    assert shown["slot"] == "12"
    assert inspector.object_form.isVisible()
    select(session, qtbot, 3)
    assert not inspector.object_form.isVisible()


class _Held(Source):
    """A source whose reads wait, or fail."""

    def __init__(self, inner: Source, act: Callable[[], None]) -> None:
        self._inner, self._act = inner, act
        self.name, self.uri = inner.name, inner.uri

    @property
    def size(self) -> int:
        """As inside."""
        return self._inner.size

    def _read(self, start: int, stop: int) -> bytes:
        """After `act`."""
        self._act()
        return self._inner.read(start, stop)


def test_bytes_that_are_not_there(
    inspector: Inspector, session: Session, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While bytes are on their way there are dots, never zeros; then they come, without the window waiting."""
    gate = threading.Event()
    shard: Any = session.shard
    monkeypatch.setattr(shard, "bytes_of", lambda name: _Held(shard.source, lambda: gate.wait(30) and None))
    session.select_span(Span("", 40, 41))
    qtbot.waitUntil(lambda: session.selection.complete and inspector.name.text == "objects_count")
    try:
        assert text(inspector, "raw") == PENDING
        assert inspector.numbers.value("u8") == PENDING
        assert inspector.numbers.value("u64", 2) == PENDING
    finally:
        gate.set()
    settle(session, qtbot)
    assert inspector.numbers.value("u64", 2) == "12"


def test_bytes_that_cannot_be_had(
    inspector: Inspector, session: Session, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the source is told; the meaning of the bytes stays, and so do the dots."""

    def fail() -> None:
        raise SourceError("the disk is gone")

    shard: Any = session.shard
    monkeypatch.setattr(shard, "bytes_of", lambda name: _Held(shard.source, fail))
    session.select_span(Span("", 40, 41))
    qtbot.waitUntil(lambda: "the disk is gone" in inspector.error.text)
    assert inspector.name.text == "objects_count"
    assert inspector.numbers.value("u8") == PENDING


def test_copying(inspector: Inspector, session: Session, qtbot: QtBot, data: Path) -> None:
    """Values are copied whole, those that are shown cut as well; cells of the table by Ctrl+C, too."""
    select(session, qtbot, 1170)
    raw = inspector.node_form.value("raw")
    assert raw is not None
    raw.copy()
    assert QGuiApplication.clipboard().text() == (data / "swh/small.shard").read_bytes()[1167 : 1167 + RAW].hex(" ")
    inspector.numbers.setCurrentCell(0, 1)
    inspector.numbers.copy()
    assert QGuiApplication.clipboard().text() == inspector.numbers.value("u8")


def test_nothing_is_cut(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """In a narrow dock every value has the height that its width asks for, and nothing is wider than the dock."""
    for choose in (lambda: session.select_row(0), lambda: session.select_span(Span("", 4465, 4505))):
        choose()
        settle(session, qtbot)
        _assert_whole(inspector, qtbot)


SUMMARIES = (
    ("swh/small.shard", "Software Heritage Read Shard v1", "12", "index"),
    ("xorb/chunks.xorb", "Xet xorb v1", "6", "info block · footer"),
    ("bloscpack/array.blp", "Bloscpack v3", "3", "offsets · index"),
    ("des/archive", "DES archive, 8 shards", "11 objects and 1 BigFile", "index"),
    ("mdb/cache", "Xet MDB folder, 2 shards", "8 files, 2 xorbs and 10 chunks", "file info · index"),
    ("neuroglancer/volume", "Neuroglancer volume, 2 shards", "32", "shard index"),
)


@pytest.mark.parametrize(("sample", "format", "objects", "index"), SUMMARIES)
def test_the_summary_of_a_sample(
    session: Session, qtbot: QtBot, made: Inspector, sample: str, format: str, objects: str, index: str
) -> None:
    """A file is summed up by format, objects and sections, whole in 280 pixels; a link selects a section."""
    open_in(session, qtbot, resources.resources() / "samples" / sample)
    qtbot.waitUntil(lambda: [row.text for row in made.file.form.rows][:2] == [format, objects])
    settle(session, qtbot)
    assert not made.file.load.isVisible()
    assert made.file.picture.isVisible() is (sample in ("bloscpack/array.blp", "neuroglancer/volume"))
    _assert_whole(made, qtbot)
    link = next(link for link in made.file.links if link.text == index)
    link.clicked.emit()
    settle(session, qtbot)
    assert session.selection.path
    assert not made.file.isVisible()


def test_what_is_not_counted_is_not_none(
    session: Session, qtbot: QtBot, made: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects that opening does not count are not 0; the index is offered."""
    monkeypatch.setattr("shardscope.session.opened.AUTO_INDEX_BYTES", 0)
    with qtbot.waitSignal(session.opened):
        session.open(str(resources.resources() / "samples/des/archive"))
    settle(session, qtbot)
    assert made.file.form.rows[1].text == "not counted yet"
    assert made.file.load.isVisible()
    made.file.load.clicked.emit()
    qtbot.waitUntil(lambda: made.file.form.rows[1].text.startswith("11 objects"))


def _assert_whole(made: Inspector, qtbot: QtBot) -> None:
    values = made.findChildren(WrapText)
    qtbot.waitUntil(lambda: all(value.height() >= value.heightForWidth(value.width()) for value in values))
    assert made.widget().width() <= made.viewport().width()
    table = made.numbers
    for row in range(table.rowCount()):
        for column in range(3):
            item, span = table.item(row, column), table.columnSpan(row, column)
            assert item is not None
            metrics = QFontMetrics(item.font())
            room = sum(table.columnWidth(one) - 6 for one in range(column, column + span))
            lines = table.rowHeight(row) // metrics.height()
            assert metrics.horizontalAdvance(item.text()) <= room * lines, item.text()


def test_closing_clears(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """The file is selected once one is open; nothing of a closed shard stays."""
    assert inspector.file.isVisible()
    select(session, qtbot, 64)
    assert not inspector.file.isVisible()
    session.close()
    assert inspector.hint.isVisible()
    assert "Open a shard" in inspector.hint.text


def test_the_value_comes_first_and_says_how_it_adds_up(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """A size is shown large, in bytes, with its sum in words; what does not add up has no such line."""
    select(session, qtbot, 72)
    assert inspector.value.text == "520 bytes"
    assert inspector.sum.text == "= 13 slots × 40"
    assert inspector.value.font().pointSizeF() > 1.4 * inspector.doc.font().pointSizeF()
    assert text(inspector, "type") == "u64 BE"
    select(session, qtbot, 64)
    assert inspector.value.text == "0x1171"
    assert not inspector.sum.isVisible()
    select(session, qtbot, 0)
    assert inspector.value.text == "SWHShard"
    assert inspector.doc.text == "SWHShard, then zeros."
    assert text(inspector, "specification") == "the magic is padded with zeros to 32 bytes."
    assert text(inspector, "in practice") == "readers compare the first 9 bytes alone."
    # A key is long: its digits stand below each other, as in the bytes.
    proportional = inspector.value.font().pointSizeF()
    select(session, qtbot, 4470)
    assert len(inspector.value.text) == 64
    assert inspector.value.font().pointSizeF() < proportional
    assert inspector.value._font().family() == theme.fixed_font().family()


def test_the_numbers_mark_the_type_of_the_field(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """The table of numbers is shown for every selection; the reading of the field itself is bold, no other."""
    for choose in (session.select_nothing, lambda: session.select_row(12), lambda: session.select_span(Span("", 0, 0))):
        choose()
        settle(session, qtbot)
        assert inspector.numbers.isVisible()
    select(session, qtbot, 72)

    def bold() -> list[tuple[str, int]]:
        table = inspector.numbers
        cells = [(row, column, table.item(row, column)) for row in range(table.rowCount()) for column in (1, 2)]
        return [(table.item(row, 0).text(), column) for row, column, item in cells if item and item.font().bold()]

    assert bold() == [("u64 be", 1)]
    session.select_nothing()
    settle(session, qtbot)
    # The caret stays where it was.
    assert inspector.numbers.value("u64", 2) == "520"
    select(session, qtbot, 73)
    assert bold() == []


def test_an_unused_row_selects_the_bytes_of_its_slot(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """A row without an object moves the window to the slot that says so; every part names the slot."""
    shard: Any = session.shard
    row = next(row for row in range(len(shard.objects)) if shard.objects.ref(row).state is State.UNUSED)
    session.select_row(row)
    settle(session, qtbot)
    assert session.selection.span == Span("", 4465 + 40 * row, 4505 + 40 * row)
    assert session.selection.path[-1].name == inspector.name.text == f"slot {row}"


def test_moving_does_not_flicker(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """While the next byte is being explained the last passport stays, so that arrow keys do not make the panel jump."""
    select(session, qtbot, 64)
    session.select_span(Span("", 72, 73))
    assert not session.selection.complete
    assert inspector.name.text == "index_position"
    assert inspector.node_form.isVisible()
    settle(session, qtbot)
    assert inspector.name.text == "index_size"
    assert inspector.numbers.value("u64", 2) == "520"


SHARDS = "mdb/cas/shards"


def _segment(session: Session, qtbot: QtBot, path: Path) -> None:
    """Opens a shard and selects the first segment of its first file."""
    open_in(session, qtbot, path)
    shard: Any = session.shard
    files = next(node for node in shard.tree.children if node.children and node.children[0].name.startswith("file "))
    segment = files.children[0].children[1].children[0]
    session.select_node((shard.tree, files, files.children[0], files.children[0].children[1], segment))
    settle(session, qtbot)


def test_a_segment_leads_into_its_xorb(session: Session, qtbot: QtBot, data: Path) -> None:
    """Where the xorb is at hand, a click goes to the stored chunks in it."""
    made = Inspector(session)
    qtbot.addWidget(made)
    made.show()
    _segment(session, qtbot, sorted((data / SHARDS).glob("*.mdb"))[0])
    # Its fields lead there, too.
    field = session.selection.path[-1].children[0]
    session.select_node((*session.selection.path, field))
    settle(session, qtbot)
    link = made.node_form.value("stored in")
    assert link is not None
    assert link.text.startswith("→ chunks 0..")
    link.clicked.emit()
    qtbot.waitUntil(lambda: session.selection.span is not None and session.selection.span.source.startswith("xorb:"))
    settle(session, qtbot)
    assert session.selection.path


def test_a_missing_xorb_is_told(session: Session, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """Where it is not, the panel says which xorb is missing, and what to do."""
    path = sorted((data / SHARDS).glob("*.mdb"))[0]
    (tmp_path / path.name).write_bytes(path.read_bytes())
    made = Inspector(session)
    qtbot.addWidget(made)
    made.show()
    _segment(session, qtbot, tmp_path / path.name)
    before = session.selection.span
    link = made.node_form.value("stored in")
    assert link is not None
    link.clicked.emit()
    qtbot.waitUntil(lambda: "missing xorb" in made.error.text)
    assert made.error.isVisible()
    assert session.selection.span == before


def test_a_card_is_copied_shown_and_written(
    inspector: Inspector, session: Session, qtbot: QtBot, tmp_path: Path
) -> None:
    """What is selected is copied as Markdown, and shown as a card that becomes a picture, a page, a text."""
    select(session, qtbot, 72)
    inspector.more.menu().actions()[0].trigger()
    assert QGuiApplication.clipboard().text().startswith("### index\\_size")
    sheet = inspector.show_card()
    assert sheet is not None
    qtbot.addWidget(sheet)
    sheet.copy_picture.click()
    assert not QGuiApplication.clipboard().image().isNull()
    begins = {"card.svg": b"<?xml", "card.png": b"\x89PNG", "card.pdf": b"%PDF", "card.md": b"### index"}
    for name, first in begins.items():
        assert sheet.view.write(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(first)
    assert not sheet.view.write(tmp_path / "no folder" / "card.svg")
    sheet.close()


def test_marks_of_the_documentation_are_not_shown(
    inspector: Inspector, session: Session, qtbot: QtBot, data: Path
) -> None:
    """What practice differs in is told in plain text, without the back-ticks of the page."""
    open_in(session, qtbot, data / "des/none.des")
    select(session, qtbot, 0)
    assert text(inspector, "in practice") == "files of version 1 also have DES2."


def test_labels_of_the_details(inspector: Inspector, session: Session, qtbot: QtBot) -> None:
    """The menu and the dialogs name the details."""
    select(session, qtbot, 72)
    assert [action.text() for action in inspector.more.menu().actions()] == ["&Copy details", "&Export details…"]
    sheet = inspector.show_card()
    assert sheet is not None
    qtbot.addWidget(sheet)
    asked = sheet.ask_save()
    assert [sheet.windowTitle(), asked.windowTitle()] == ["Details", "Export details"]
    asked.reject()
    sheet.close()
