"""Open inside, in the window: an object that is a shard or an archive becomes a tab of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.sources.patched import Change
from shardscope.session.open_request import OpenRequest, file_of, name_of
from shardscope.session.session import IndexState, Session
from shardscope.shell.main_window import MainWindow
from shardscope.startup.file_links import split_link
from shardscope.views.inspector.panel import Inspector
from shardscope.views.preview.panel import PreviewPanel
from tests.remote.servers import RangeServer

CONTAINERS = Path(__file__).parents[2] / "data" / "containers"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive.des"
    with shardcore.create(path, format="des", codec="none") as writer:
        writer.add("2090", (CONTAINERS / "members.zip").read_bytes())
        writer.add("a/b#c", (CONTAINERS / "array.npy").read_bytes())
        writer.add("text", b"nothing that opens\n")
    return path


def opened(qtbot: QtBot, session: Session, what: str | OpenRequest) -> None:
    with qtbot.waitSignal(session.opened):
        session.open(what)
    qtbot.waitUntil(lambda: session.index_state is not IndexState.LOADING)


def test_an_object_opens_in_a_tab(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    session = window.session
    opened(qtbot, session, str(archive))
    table = window.objects.table
    for key in ("2090", "model.safetensors"):
        qtbot.waitUntil(lambda: session.listing is not None)
        assert session.shard is not None
        row = session.shard.find(key).row
        session.select_row(row)
        qtbot.waitUntil(lambda: table.selected_count() == 1)
        assert window.objects.actions_.inside.isEnabled()
        with qtbot.waitSignal(session.opened):
            window.objects.actions_.inside.trigger()
    assert session.shard is not None
    assert session.shard.format == "safetensors"
    assert session.request == OpenRequest(str(archive), inside=("2090", "model.safetensors"))
    assert session.uri == f"{archive}#/2090/model.safetensors"
    assert window.windowTitle() == "archive.des › 2090 › model.safetensors[*] — Shardscope"
    session.select_span(Span("", 0, 1))
    qtbot.waitUntil(lambda: window.hex.breadcrumb.plain.startswith("archive.des › 2090 › model.safetensors › length"))
    assert window.settings.recent[0] == session.uri
    shown = [document.request.title for document in session.documents]
    assert shown == ["archive.des", "archive.des › 2090", "archive.des › 2090 › model.safetensors"]
    with qtbot.waitSignal(session.opened):
        session.open_tab(OpenRequest(str(archive), inside=("2090",)))
    assert len(session.documents) == 3


def test_what_does_not_open_says_why(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    opened(qtbot, window.session, str(archive))
    with qtbot.waitSignal(window.session.troubled) as told:
        window.session.open_inside("text")
    assert told.args is not None
    assert "Cannot open it" in told.args[0]
    assert window.session.request.inside == ()


def test_members_open_from_the_preview(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    session = window.session
    opened(qtbot, session, str(archive))
    window.show_part("preview")
    preview = window.findChild(PreviewPanel)
    assert session.shard is not None
    session.select_row(session.shard.find("2090").row)
    qtbot.waitUntil(lambda: preview.shown is not None)
    with qtbot.waitSignal(session.opened):
        preview.open_member("model.safetensors")
    assert session.request.inside == ("2090", "model.safetensors")
    with qtbot.waitSignal(session.opened):
        session.open_tab(OpenRequest(str(archive)))
    with qtbot.waitSignal(session.troubled) as told:
        session.open_inside("2090", "folder/text.txt")
    assert told.args is not None
    assert "text.txt" in told.args[0]


def test_links_select_bytes_inside(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    """A link with a place opens what is inside and selects there; what is copied again is the same link."""
    link = f"{archive}#/a%2Fb%23c#128-132"
    uri, span = split_link(link)
    assert (uri, span) == (f"{archive}#/a%2Fb%23c", Span("", 128, 132))
    with qtbot.waitSignal(window.session.opened):
        window.open(uri, select=span)
    assert window.session.request == OpenRequest(str(archive), inside=("a/b#c",))
    window.show_part("inspector")
    inspector = window.findChild(Inspector)
    qtbot.waitUntil(lambda: inspector.card() is not None)
    card = inspector.card()
    assert card is not None
    assert str(archive) in str(card)
    assert "a%2Fb%23c" in str(card)
    assert (name_of(uri), file_of(uri)) == ("archive.des › a/b#c", str(archive))


def test_what_is_inside_is_read_only(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    swh = archive.parent / "outer.des"
    with shardcore.create(swh, format="des") as writer:
        writer.add("inner", archive.read_bytes())
    opened(qtbot, window.session, f"{swh}#/inner")
    switch = window.changing.switch
    qtbot.waitUntil(lambda: "part of another file" in switch.why_not)
    assert "inside another file" in window.sandbox_shell.sandbox.why_not
    assert not window.sandbox_shell.actions.switch.isEnabled()


def test_what_comes_out_of_a_sandbox_is_one(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    with shardcore.open(archive) as shard:
        at = shard.find("a/b#c").spans[0].start + 128
        assert shard.source is not None
        expects = shard.source.identity
    change = Change.overwrite(at, np.float32(42).tobytes())
    request = OpenRequest(str(archive)).with_changes((change,), expects)
    inner = OpenRequest(request.uri, sandbox=True, changes=request.changes, expects=expects, inside=("a/b#c",))
    opened(qtbot, window.session, inner)
    assert window.session.shard is not None
    assert window.session.shard.array("all").ravel()[0] == 42
    assert "(sandbox)" in window.windowTitle()
    assert not window.sandbox_shell.sandbox.on
    assert not window.objects.actions_.extract_all.isEnabled()


def test_a_remote_object_opens_inside(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    with RangeServer({"/archive.des": archive}) as server:
        opened(qtbot, window.session, f"{server.url}/archive.des#/2090")
        assert window.session.request == OpenRequest(
            f"{server.url}/archive.des", remote=window.session.request.remote, inside=("2090",)
        )
        assert window.session.request_log is not None
        assert len(server.log) < 8
        window.session.close()


def test_closing_gives_the_file_back(qtbot: QtBot, session: Session, archive: Path) -> None:
    opened(qtbot, session, OpenRequest(str(archive), inside=("2090", "model.safetensors")))
    shard = session.shard
    assert shard is not None
    with qtbot.waitSignal(session.closed):
        session.close()

    def closed() -> bool:
        try:
            shard.source.read(0, 1)  # type: ignore[union-attr]
        except shardcore.SourceError:
            return True
        return False

    qtbot.waitUntil(closed)
