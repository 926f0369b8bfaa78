"""Opening in another way than by recognising; objects that are shards or archives, in tabs of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.sources.patched_source import Change
from shardscope.session.open_request import OpenRequest, file_of, name_of
from shardscope.session.session import IndexState, Session
from shardscope.shell.main_window import MainWindow
from shardscope.shell.notices import Notices
from shardscope.shell.open_with import OpenAs, OpenAsDialog, guess_text
from shardscope.startup.single_instance import split_link
from shardscope.tasks.form import JsonField, json_problem
from shardscope.views.inspector.panel import Inspector
from shardscope.views.preview.panel import PreviewPanel
from tests.remote.servers import RangeServer

FORMATS = shardcore.shards.registry.all_formats()


@pytest.fixture
def bare(data: Path) -> Path:
    return data / "neuroglancer" / "bare_shard" / "0.shard"


@pytest.fixture
def ways(qtbot: QtBot, session: Session) -> tuple[OpenAs, Notices, QWidget]:
    window = QWidget()
    qtbot.addWidget(window)
    bar = Notices(window)
    made = OpenAs(session, bar, window)
    session.opened.connect(made.show_guess)
    return made, bar, window


def dialog_of(qtbot: QtBot, window: QWidget) -> OpenAsDialog:
    qtbot.waitUntil(lambda: window.findChild(OpenAsDialog) is not None)
    found = window.findChild(OpenAsDialog)
    assert isinstance(found, OpenAsDialog)
    return found


def spec_of(dialog: OpenAsDialog) -> JsonField:
    field = dialog.fields["spec"]
    assert isinstance(field, JsonField)
    return field


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ""),
        (" \n", ""),
        ('{"a": 1}', ""),
        ('{"a": 1', "The specification is not JSON: unexpected end of the text (column 8)"),
        ('{\n "a" 1}', "The specification is not JSON: expected a colon after a name (line 2, column 6)"),
        ("[1]", "A specification must be"),
        ("7", "A specification must be"),
        ("[" * 100_000, "The specification: nested deeper than 200 levels"),
        ('{"minishard_bits": %s}' % ("9" * 5000), "The specification: a number has 5000 digits"),
    ],
)
def test_json_is_judged_with_its_place(text: str, problem: str) -> None:
    found = json_problem(text)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_format_shows_its_own_options(qtbot: QtBot) -> None:
    dialog = OpenAsDialog(OpenRequest("a.shard"), FORMATS)
    qtbot.addWidget(dialog)
    dialog.show()
    assert all(field.toolTip() == field.option.help for field in dialog.fields.values())
    spec_of(dialog).editor.setPlainText("{")
    for name, options in ((None, set()), ("neuroglancer", {"spec"}), ("des", {"deleted", "date", "n_bits"})):
        dialog.format.setCurrentIndex(dialog.format.findData(name))
        assert {option for option, field in dialog.fields.items() if field.isVisible()} == options
        assert dialog.apply.isEnabled() == (name != "neuroglancer")


def test_what_is_open_is_shown_with_its_evidence(qtbot: QtBot, bare: Path) -> None:
    with shardcore.open(bare) as shard:
        dialog = OpenAsDialog(OpenRequest(str(bare)), FORMATS, shard)
        qtbot.addWidget(dialog)
        assert json.loads(spec_of(dialog).editor.toPlainText()) == json.loads(shard.parameters)
        for sentence in shard.evidence:
            assert sentence in spec_of(dialog).evidence.text()
        assert dialog.path.isReadOnly()
        assert dialog.request == OpenRequest(str(bare))
        spec_of(dialog).editor.setPlainText("")
        assert dialog.request.options == {}
        assert guess_text(shard).startswith("Specification inferred from the bytes: preshift_bits 0")


def test_a_guess_is_told_and_can_be_changed(
    qtbot: QtBot, session: Session, ways: tuple[OpenAs, Notices, QWidget], bare: Path
) -> None:
    _, bar, window = ways
    with qtbot.waitSignal(session.opened):
        session.open(str(bare))
    assert bar.text.startswith("Specification inferred")
    bar.button.click()
    dialog = dialog_of(qtbot, window)
    spec = json.loads(spec_of(dialog).editor.toPlainText())
    spec_of(dialog).editor.setPlainText(json.dumps(spec))
    with qtbot.waitSignal(session.opened):
        QTest.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    assert session.shard.evidence == ()
    assert json.loads(session.request.options["spec"]) == spec
    assert bar.text == ""


def test_open_with_asks_for_everything(
    qtbot: QtBot, session: Session, ways: tuple[OpenAs, Notices, QWidget], data: Path
) -> None:
    made, bar, window = ways
    assert made.change() is None
    with qtbot.waitSignal(session.opened):
        session.open(str(data / "neuroglancer" / "identity_raw"))
    assert bar.text == "", "a specification that is stated is not told"
    made.ask()
    dialog = dialog_of(qtbot, window)
    assert not dialog.apply.isEnabled()
    names = {dialog.format.itemData(n) for n in range(dialog.format.count())}
    assert names == {None, *shardcore.shards.registry.FORMATS}
    path = data / "des" / "sidecar" / "20261103_51_0000.des"
    dialog.path.setText(f" {path} ")
    dialog.format.setCurrentIndex(dialog.format.findData("des"))
    field = dialog.fields["deleted"]
    field.box.setChecked(True)
    with qtbot.waitSignal(session.opened):
        dialog.apply.click()
    assert (session.uri, session.request.format, session.request.deleted) == (str(path), "des", True)


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
    qtbot.waitUntil(lambda: session.index.state is not IndexState.LOADING)


def test_an_object_opens_in_a_tab(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    session = window.session
    opened(qtbot, session, str(archive))
    table = window.objects.table
    for key in ("2090", "model.safetensors"):
        qtbot.waitUntil(lambda: session.listing is not None)
        row = session.shard.find(key).row
        session.select_row(row)
        qtbot.waitUntil(lambda: table.selected_count() == 1)
        assert window.objects.actions_.inside.isEnabled()
        with qtbot.waitSignal(session.opened):
            window.objects.actions_.inside.trigger()
    assert session.shard.format == "safetensors"
    assert session.request == OpenRequest(str(archive), inside=("2090", "model.safetensors"))
    assert session.uri == f"{archive}#/2090/model.safetensors"
    assert window.windowTitle() == "archive.des › 2090 › model.safetensors[*] — Shardscope"
    session.select_span(Span("", 0, 1))
    qtbot.waitUntil(lambda: window.hex.breadcrumb.plain.startswith("archive.des › 2090 › model.safetensors › length"))
    assert window.settings.recent[0] == session.uri
    shown = [document.request.title for document in session.documents.all]
    assert shown == ["archive.des", "archive.des › 2090", "archive.des › 2090 › model.safetensors"]
    with qtbot.waitSignal(session.opened):
        session.open_tab(OpenRequest(str(archive), inside=("2090",)))
    assert len(session.documents.all) == 3


@pytest.mark.thorough
def test_a_double_click_opens_what_can_be_opened(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    session, table = window.session, window.objects.table
    opened(qtbot, session, str(archive))
    table.row_double_clicked.emit(session.shard.find("text").row)
    qtbot.waitUntil(lambda: window.panels.in_front("preview") and window.hex.view.hasFocus())
    assert session.request.inside == ()
    with qtbot.waitSignal(session.opened):
        table.row_double_clicked.emit(session.shard.find("2090").row)
    assert session.request.inside == ("2090",)


def test_what_does_not_open_says_why(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    opened(qtbot, window.session, str(archive))
    with qtbot.waitSignal(window.session.troubled) as told:
        window.session.open_inside("text")
    assert "Cannot open" in told.args[0]
    assert window.session.request.inside == ()


def test_members_open_from_the_preview(qtbot: QtBot, window: MainWindow, archive: Path) -> None:
    session = window.session
    opened(qtbot, session, str(archive))
    window.show_part("preview")
    preview = window.findChild(PreviewPanel)
    session.select_row(session.shard.find("2090").row)
    qtbot.waitUntil(lambda: preview.shown is not None)
    with qtbot.waitSignal(session.opened):
        preview.open_member("model.safetensors")
    assert session.request.inside == ("2090", "model.safetensors")
    with qtbot.waitSignal(session.opened):
        session.open_tab(OpenRequest(str(archive)))
    with qtbot.waitSignal(session.troubled) as told:
        session.open_inside("2090", "folder/text.txt")
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
        expects = shard.source.identity
    change = Change.overwrite(at, np.float32(42).tobytes())
    request = OpenRequest(str(archive)).with_changes((change,), expects)
    inner = OpenRequest(request.uri, sandbox=True, changes=request.changes, expects=expects, inside=("a/b#c",))
    opened(qtbot, window.session, inner)
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
        assert window.session.documents.request_log is not None
        assert len(server.log) < 8
        window.session.close()
