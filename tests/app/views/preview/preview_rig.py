"""The preview beside a shard with some objects, for the tests of its views."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pytestqt.qtbot import QtBot

import shardcore
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView
from shardscope.views.preview.panel import PreviewPanel
from tests.app.conftest import open_in
from tests.app.views.preview.test_panel import selected_bytes, show, view

V = TypeVar("V", bound=ContentView)


class PreviewRig:
    """A shard with one object, which is shown.

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
        self.panel = PreviewPanel(session)
        qtbot.addWidget(self.panel)
        self.panel.resize(420, 400)
        self.panel.show()
        open_in(session, qtbot, path)
        self.show(next(iter(objects)))

    def show(self, key: str) -> None:
        """Show an object."""
        show(self.panel, self.session, self.qtbot, key)

    def view(self, kind: type[V]) -> V:
        """The view that shows it."""
        return view(self.panel, kind)

    def show_as(self, label: str, kind: type[V]) -> V:
        """Show the object in another view."""
        self.panel.show_as(label)
        self.qtbot.waitUntil(lambda: isinstance(self.panel.view, kind))
        return self.view(kind)

    def selected(self) -> bytes:
        """The bytes that are selected."""
        self.qtbot.waitUntil(lambda: self.session.selection.complete)
        return selected_bytes(self.session)

    def highlighted(self) -> bytes:
        """The bytes that are highlighted."""
        shard = self.session.shard
        assert shard is not None
        (light,) = self.session.lights
        return shard.bytes_of(light.span.source).read(light.span.start, light.span.stop)
