"""The inspector: details of the selection, the summary of the file, and the bytes at the caret as numbers."""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import BytesSource, SourceError, Span
from shardcore.teaching import resource_paths
from shardscope.session.session import Session
from shardscope.views.inspector.details import PENDING, RAW
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets.details_page import DetailsPage
from tests.app.conftest import open_in, visible


@pytest.fixture
def made(session: Session, qtbot: QtBot) -> Inspector:
    return visible(qtbot, Inspector(session), 280, 800)


@pytest.fixture
def inspector(made: Inspector, session: Session, qtbot: QtBot, data: Path) -> Inspector:
    open_in(session, qtbot, data / "swh/small.shard")
    return made


def select(session: Session, qtbot: QtBot, start: int, stop: int | None = None) -> None:
    session.select_span(Span("", start, start + 1 if stop is None else stop))
    settle(session, qtbot)


def settle(session: Session, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: session.selection.complete and not session.jobs.open_jobs)


def text(inspector: Inspector, name: str) -> str:
    """The value of a row about the node; empty when there is none."""
    row = inspector.page.row(name)
    return row.text if row is not None else ""


def heading(inspector: Inspector) -> str:
    return inspector.page.rows[0].text if inspector.page.rows else ""


def click(page: DetailsPage, text: str) -> None:
    found = page.document().find(text)
    assert not found.isNull()
    QTest.mouseClick(page.viewport(), Qt.MouseButton.LeftButton, pos=page.cursorRect(found).center() - QPoint(3, 0))


def test_details_of_fields_and_objects(inspector: Inspector, session: Session, qtbot: QtBot, data: Path) -> None:
    clip = QGuiApplication.clipboard()
    assert inspector.file.isVisible()
    select(session, qtbot, 64)
    assert not inspector.file.isVisible()
    assert heading(inspector) == "index_position"
    assert any(row.tone == "muted" for row in inspector.page.rows)
    for name, value in (
        ("role", "offset"),
        ("bytes", "0x40–0x47 · 8 bytes"),
        ("raw", "00 00 00 00 00 00 11 71"),
        ("value", "4465"),
        ("hex", "0x1171"),
        ("points to", "→ 0x1171–0x1378 · 520 bytes"),
    ):
        assert text(inspector, name) == value
    session.select_row(12)
    settle(session, qtbot)
    shown = {row.name: row.text for row in inspector.page.rows}
    assert shown["key"].startswith("ca978112")
    expected = {"size": "1 byte", "stored": "1 byte · not compressed", "state": "live", "slot": "12"}
    assert (expected | {"content": "→ 0x210 · 1 byte"}).items() <= shown.items()
    assert "OBJECT" in inspector.page.toPlainText()
    select(session, qtbot, 1170)
    raw = inspector.page.document().find(text(inspector, "raw")[:8])
    inspector.page.setTextCursor(raw)
    QTest.keySequence(inspector.page, QKeySequence.StandardKey.Copy)
    assert clip.text() == text(inspector, "raw")[:8]
    raw.clearSelection()
    inspector.page.setTextCursor(raw)
    QTest.keySequence(inspector.page, QKeySequence.StandardKey.Copy)
    assert clip.text() == (data / "swh/small.shard").read_bytes()[1167 : 1167 + RAW].hex(" ")
    select(session, qtbot, 72)
    assert "OBJECT" not in inspector.page.toPlainText()
    inspector.more.menu().actions()[0].trigger()
    assert clip.text().startswith("### index\\_size")
    session.close()
    assert inspector.hint.isVisible()


def test_checksums_of_the_selection(inspector: Inspector, session: Session, qtbot: QtBot, data: Path) -> None:
    content, clip = (data / "swh/small.shard").read_bytes(), QGuiApplication.clipboard()
    select(session, qtbot, 100, 900)
    click(inspector.page, "→ compute")
    qtbot.waitUntil(lambda: text(inspector, "sha1") == hashlib.sha1(content[100:900]).hexdigest())
    assert text(inspector, "sha256") == hashlib.sha256(content[100:900]).hexdigest()
    click(inspector.page, text(inspector, "crc32"))
    assert clip.text() == f"{zlib.crc32(content[100:900]):08x}"
    select(session, qtbot, 200, 300)
    assert text(inspector, "sha1") == hashlib.sha1(content[200:300]).hexdigest(), "once requested, of each selection"


def test_numbers_at_the_caret(inspector: Inspector, session: Session, qtbot: QtBot, data: Path) -> None:
    numbers, content = inspector.numbers, (data / "swh/small.shard").read_bytes()
    select(session, qtbot, 67)
    assert numbers.value("u64", 1) == str(int.from_bytes(content[67:75], "little"))
    assert numbers.value("u64", 2) == str(int.from_bytes(content[67:75], "big"))
    assert numbers.value("u8") == str(content[67])
    numbers.setCurrentCell(0, 1)
    numbers.copy()
    assert QGuiApplication.clipboard().text() == numbers.value("u8")
    select(session, qtbot, len(content) - 2)
    assert numbers.value("u16") == str(int.from_bytes(content[-2:], "little"))
    assert numbers.value("u32") == "—"


class _Held(BytesSource):
    act: Callable[[], object]

    def _read(self, start: int, stop: int) -> bytes:
        self.act()
        return super()._read(start, stop)


def test_bytes_that_are_not_there_or_cannot_be_had(
    inspector: Inspector, session: Session, qtbot: QtBot, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise SourceError("the disk is gone")

    gate, held = threading.Event(), _Held((data / "swh/small.shard").read_bytes())
    held.act = lambda: gate.wait(60)
    monkeypatch.setattr(session.shard, "bytes_of", lambda name: held)
    session.select_span(Span("", 40, 41))
    qtbot.waitUntil(lambda: session.selection.complete and heading(inspector) == "objects_count")
    try:
        assert text(inspector, "raw") == inspector.numbers.value("u64", 2) == PENDING
    finally:
        gate.set()
    settle(session, qtbot)
    assert inspector.numbers.value("u64", 2) == "12"
    held.act = fail
    session.select_span(Span("", 41, 42))
    qtbot.waitUntil(lambda: "the disk is gone" in inspector.page.toPlainText())
    assert heading(inspector) == "objects_count"
    assert inspector.numbers.value("u8") == PENDING


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
    open_in(session, qtbot, resource_paths.resources() / "samples" / sample)
    qtbot.waitUntil(lambda: [row.text for row in made.file.form.rows][1:3] == [format, objects])
    settle(session, qtbot)
    assert made.file.picture.isVisible() is (sample in ("bloscpack/array.blp", "neuroglancer/volume"))
    click(made.file.parts, index)
    settle(session, qtbot)
    assert session.selection.path
    assert not made.file.isVisible()


def test_every_height_is_laid_out(session: Session, qtbot: QtBot, made: Inspector, data: Path) -> None:
    """Text that fits only without scroll bar, which Qt added and removed until the stack overflowed."""
    open_in(session, qtbot, data / "swh/small.shard")
    qtbot.waitUntil(lambda: bool(made.file.parts.rows))
    for height in range(500, 900):
        made.resize(283, height)
        assert made.verticalScrollBar().maximum() or made.pages.height() <= height


SHARDS = "mdb/cas/shards"


def _segment(session: Session, qtbot: QtBot, path: Path) -> None:
    """Opens a shard and selects the first segment of its first file."""
    open_in(session, qtbot, path)
    shard: Any = session.shard
    files = next(node for node in shard.tree.children if node.children and node.children[0].name.startswith("file "))
    segment = files.children[0].children[1].children[0]
    session.select_node((shard.tree, files, files.children[0], files.children[0].children[1], segment))
    settle(session, qtbot)


def test_counting_on_request(session: Session, qtbot: QtBot, made: Inspector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardscope.session.index.AUTO_INDEX_BYTES", 0)
    with qtbot.waitSignal(session.opened):
        session.open(str(resource_paths.resources() / "samples/des/archive"))
    settle(session, qtbot)
    assert made.file.form.row("objects").text == "not counted yet"
    click(made.file.form, "Load index")
    qtbot.waitUntil(lambda: made.file.form.row("objects").text.startswith("11 objects"))


def test_a_segment_leads_into_its_xorb(session: Session, qtbot: QtBot, made: Inspector, data: Path) -> None:
    open_in(session, qtbot, data / "mdb/derived/keyed_full.mdb")
    select(session, qtbot, 40)
    assert "" != text(made, "specification") != text(made, "in practice") != ""
    _segment(session, qtbot, sorted((data / SHARDS).glob("*.mdb"))[0])
    # Its fields lead there, too.
    field = session.selection.path[-1].children[0]
    session.select_node((*session.selection.path, field))
    settle(session, qtbot)
    assert text(made, "stored in").startswith("→ chunks 0..")
    click(made.page, text(made, "stored in")[:10])
    qtbot.waitUntil(lambda: session.selection.span is not None and session.selection.span.source.startswith("xorb:"))
    settle(session, qtbot)
    assert session.selection.path


def test_a_missing_xorb(session: Session, qtbot: QtBot, made: Inspector, data: Path, tmp_path: Path) -> None:
    path = sorted((data / SHARDS).glob("*.mdb"))[0]
    (tmp_path / path.name).write_bytes(path.read_bytes())
    _segment(session, qtbot, tmp_path / path.name)
    before = session.selection.span
    click(made.page, text(made, "stored in")[:10])
    qtbot.waitUntil(lambda: "missing xorb" in made.page.toPlainText())
    assert session.selection.span == before


def test_details_are_shown_and_written(inspector: Inspector, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    select(session, qtbot, 72)
    sheet = inspector.export_details()
    qtbot.addWidget(sheet)
    sheet.copy_picture.click()
    assert not QGuiApplication.clipboard().image().isNull()
    begins = {"card.svg": b"<?xml", "card.png": b"\x89PNG", "card.pdf": b"%PDF", "card.md": b"### index"}
    for name, first in begins.items():
        assert sheet.write(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(first)
    assert not sheet.write(tmp_path / "no folder" / "card.svg")
    sheet.close()
