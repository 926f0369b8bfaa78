"""The preview beside a shard with some objects, for the tests of its views."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pytestqt.qtbot import QtBot

import shardcore
from shardscope.session.session import Session
from shardscope.views.preview import ContentView
from shardscope.views.preview.panel import PreviewPanel
from tests.app.conftest import open_in, visible

V = TypeVar("V", bound=ContentView)


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of a .npy."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def tensors() -> bytes:
    """A safetensors file with two tensors."""
    header = {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "I16", "shape": [2, 2], "data_offsets": [8, 16]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(range(16))


def selected_bytes(session: Session) -> bytes:
    """The bytes that are selected."""
    span = session.selection.span
    return session.shard.bytes_of(span.source).read(span.start, span.stop)


class PreviewRig:
    """A shard with some objects, of which one is shown.

    Args:
        session: Where it is opened.
        qtbot: Waits.
        folder: Where it is written.
        objects: The objects; the first is shown.
        codec: How they are stored.
    """

    def __init__(
        self, session: Session, qtbot: QtBot, folder: Path, objects: dict[str, bytes], codec: str = "none"
    ) -> None:
        path = folder / "x.des"
        with shardcore.create(path, format="des", codec=codec, skip="") as writer:
            for name, data in objects.items():
                writer.add(name, data)
        self.session, self.qtbot = session, qtbot
        self.panel = visible(qtbot, PreviewPanel(session), 420, 400)
        open_in(session, qtbot, path)
        self.show(next(iter(objects)))

    def show(self, key: str) -> None:
        """Show an object."""
        self.session.select_row(self.session.shard.find(key).row)
        self.qtbot.waitUntil(lambda: self.panel.shown is not None and self.panel.shown.ref.key == key)

    def view(self, kind: type[V], key: str = "") -> V:
        """The view that shows it, or another object, which has to be of a kind."""
        if key:
            self.show(key)
        assert isinstance(self.panel.view, kind)
        return self.panel.view

    def selected(self) -> bytes:
        """The bytes that are selected."""
        self.qtbot.waitUntil(lambda: self.session.selection.complete)
        return selected_bytes(self.session)

    def highlighted(self) -> bytes:
        """The bytes that are highlighted."""
        (light,) = self.session.lookup.highlights
        return self.session.shard.bytes_of(light.span.source).read(light.span.start, light.span.stop)
