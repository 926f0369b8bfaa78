"""Reading for the preview: how much, what cancels it, and what an error says; what leaves it again."""

from __future__ import annotations

import io
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

import shardcore
from shardcore.sources.local import FileSource
from shardcore.sources.patched_source import Change
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.views.preview.array_view import ArrayView
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.preview.picture_view import PictureView
from shardscope.views.preview.table_view import TableView
from tests.app.conftest import visible
from tests.app.views.preview.preview_rig import PreviewRig, npy, tensors

GREYS = np.array([[0, 51], [102, 255]], "u1")
PIXELS = np.zeros((6, 8, 4), np.uint8)
PIXELS[2, 3] = 10, 20, 30, 255
SPEC = dict.fromkeys(("preshift_bits", "minishard_bits", "shard_bits"), 0) | {
    "@type": "neuroglancer_uint64_sharded_v1",
    "hash": "identity",
    "minishard_index_encoding": "raw",
    "data_encoding": "raw",
}


def png() -> bytes:
    """A small picture with transparent pixels."""
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, "PNG")
    return stream.getvalue()


def sparse(path: Path, size: int, begin: bytes) -> Path:
    """A shard with one object of a size, of which only the beginning takes room on the disk."""
    with path.open("wb") as file:
        # Shard index: the minishard index is at [0, 24). Minishard index: chunk ID 7, 24 bytes on, its size.
        file.write(struct.pack("<2Q", 0, 24) + struct.pack("<3Q", 7, 24, size) + begin)
        file.truncate(40 + size)
    return path


class Reads:
    """Bytes read of files; one offset can be held until it is let go."""

    def __init__(self) -> None:
        self.count, self.held = 0, -1
        self.waiting, self.go = threading.Event(), threading.Event()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """What is read of files."""
    made, real = Reads(), FileSource._read

    def read(source: FileSource, start: int, stop: int) -> bytes:
        made.count += stop - start
        if start <= made.held < stop:
            made.waiting.set()
            made.go.wait(60)
        return real(source, start, stop)

    monkeypatch.setattr(FileSource, "_read", read)
    return made


def show_first(session: Session, qtbot: QtBot, path: Path, **options: Any) -> PreviewPanel:
    """Show the first object of a shard."""
    panel = visible(qtbot, PreviewPanel(session), 420, 400)
    with qtbot.waitSignal(session.opened):
        session.open(OpenRequest(str(path), options=options))
    session.select_row(0)
    qtbot.waitUntil(lambda: session.selection.complete)
    qtbot.waitUntil(lambda: panel.shown is not None or panel.location.isVisible())
    return panel


def test_a_large_object_is_read_from_its_beginning(
    session: Session, qtbot: QtBot, tmp_path: Path, reads: Reads
) -> None:
    """The rest is read on request."""
    panel = show_first(session, qtbot, sparse(tmp_path / "x.shard", 10 << 30, b"hello world\n" * 10), spec=SPEC)
    assert reads.count <= 1 << 20
    assert panel.more.text() == "Read 64.0 MiB"
    session.close()
    size = 2 << 20
    text = (b"a line of a text\n" * (size // 17 + 1))[:size]
    panel = show_first(session, qtbot, sparse(tmp_path / "x.shard", size, text), spec=SPEC)
    panel.more.click()
    qtbot.waitUntil(lambda: panel.shown is not None and panel.shown.content.complete)
    assert not panel.more.isVisible()


def test_another_object_does_not_wait(session: Session, qtbot: QtBot, tmp_path: Path, reads: Reads) -> None:
    objects = {"first": b"one\n", "slow": b"x" * 300_000, "other": b"the other\n"}
    rig = PreviewRig(session, qtbot, tmp_path, objects)
    slow, other = session.shard.find("slow"), session.shard.find("other")
    reads.held = slow.spans[0].start + 150_000
    try:
        session.select_row(slow.row)
        qtbot.waitUntil(reads.waiting.is_set)
        session.select_row(other.row)
        qtbot.waitUntil(lambda: rig.panel.shown is not None and rig.panel.shown.ref.key == "other")
    finally:
        reads.go.set()
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
    assert rig.panel.shown.ref.key == "other"


def test_an_error_has_a_location(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "x.des"
    with shardcore.create(path, format="des", codec="zstd", skip="") as writer:
        writer.add("a.txt", b"a text to be compressed, " * 1000)
    with shardcore.open(path) as shard:
        stored = shard.find("a.txt").spans[0]
    data = bytearray(path.read_bytes())
    data[stored.start + 8 : stored.stop] = b"\xff" * (stored.size - 8)
    path.write_bytes(data)
    panel = show_first(session, qtbot, path)
    assert "0x" in panel.hint.text()
    panel.location.click()
    assert f"0x{session.selection.span.start:x}" in panel.hint.text()


def test_a_tensor_is_opened_as_an_array(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    rig = PreviewRig(session, qtbot, tmp_path, {"model.safetensors": tensors()})
    rig.panel.activateWindow()
    table = rig.view(TableView).table
    table.setFocus()
    table.setCurrentIndex(table.model().index(1, 0))
    qtbot.keyClick(table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: isinstance(rig.panel.view, ArrayView))
    view = rig.view(ArrayView)
    view.plane.chosen.emit(1, 1)
    assert rig.selected() == bytes((14, 15))
    view.mark(2, 4)
    assert view.plane.mark == (1, 0)
    assert rig.panel.back.isVisible()
    rig.panel.back.click()
    assert isinstance(rig.panel.view, TableView)
    assert not rig.panel.back.isVisible()


def test_a_picture(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    rig = PreviewRig(session, qtbot, tmp_path, {"a.png": png()})
    view = rig.view(PictureView)
    assert view.bar.text.text() == "8 × 6 · RGB and alpha"
    view.plane.pointed.emit(3, 2)
    assert view.bar.text.text() == "(3, 2) = #0a141e"
    assert rig.highlighted() == png()
    view.plane.chosen.emit(0, 0)
    assert rig.selected() == png()
    rig.panel.copy_content()
    assert QGuiApplication.clipboard().image().pixelColor(3, 2).getRgb() == (10, 20, 30, 255)


def test_saving(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    rig = PreviewRig(session, qtbot, tmp_path, {"model.safetensors": tensors(), "a.npy": npy(GREYS)})
    target = tmp_path / "out"

    def saved(path: Path) -> bytes:
        qtbot.waitUntil(path.exists)
        qtbot.waitUntil(lambda: not session.jobs.open_jobs)
        return path.read_bytes()

    rig.panel.save_to(target)
    assert saved(target) == tensors()
    rig.panel._open_part(1)
    qtbot.waitUntil(lambda: isinstance(rig.panel.view, ArrayView))
    assert rig.panel._proposed() == "model.safetensors.b"
    rig.panel.save_to(tmp_path / "tensor")
    assert saved(tmp_path / "tensor") == bytes(range(8, 16))
    rig.show("a.npy")
    rig.panel.save_picture(tmp_path / "a.png")
    saved(tmp_path / "a.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png").convert("L")), GREYS)


def test_nothing_leaves_a_sandbox(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    rig = PreviewRig(session, qtbot, tmp_path, {"a.py": b"import os\n"})
    change = Change.overwrite(0, Path(session.uri).read_bytes()[:1])
    with qtbot.waitSignal(session.opened):
        session.open(OpenRequest(session.uri, sandbox=True, changes=(change,)))
    rig.show("a.py")
    with qtbot.waitSignal(session.troubled) as told:
        rig.panel.ask_save()
    assert "sandbox" in told.args[0]
    rig.panel.ask_picture()
    assert not rig.panel.findChildren(QFileDialog)


def test_every_control_is_reached_by_keys(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    rig = PreviewRig(session, qtbot, tmp_path, {"a.py": b"import os\n", "a.npy": npy(GREYS)})
    rig.panel.activateWindow()
    for key, names in (
        ("a.py", {"previewCopy", "previewMenu", "previewFindButton", "previewWrap", "previewText"}),
        ("a.npy", {"previewLook", "previewLow", "previewAuto", "previewPlane", "previewFit", "previewReal"}),
    ):
        rig.show(key)
        rig.panel.copy.setFocus()
        qtbot.waitUntil(rig.panel.copy.hasFocus)
        met = set[str]()
        for _ in range(20):
            focused = rig.panel.focusWidget()
            met.add(focused.objectName())
            qtbot.keyClick(focused, Qt.Key.Key_Tab)
        assert names <= met
