"""The hex panel on real shards: one selection both ways, places, rows, search, copying, decoded bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from shardcore import Depth, SectionRole, Span
from shardscope.session.copy_bytes import CopyAs
from shardscope.session.pages import PAGE, PageState
from shardscope.session.session import IndexState, Session
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.tabs import stored_span
from tests.app.hex_samples import section

SLOT = 40


def test_selecting_a_byte_selects_in_the_session(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    swh.view.state.move_caret(section(session, SectionRole.INDEX).start + 3)
    assert session.selection.span == Span("", swh.view.state.selection.caret, swh.view.state.selection.caret + 1)
    qtbot.waitUntil(lambda: swh.breadcrumb.plain.endswith("key") and "index" in swh.breadcrumb.plain)
    assert swh.status.value.text().startswith("key: ")
    assert swh.view.accessibility.place.startswith("index, ")


def test_selecting_in_the_session_selects_bytes(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    span = section(session, SectionRole.INDEX)
    session.select_span(span)
    assert swh.view.state.selection.span == span
    assert swh.view.state.visible_bytes[0] <= span.start < swh.view.state.visible_bytes[1]
    assert f"{span.start:#x}" in swh.status.offset.text()


def test_the_address_field_goes_places(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    index = section(session, SectionRole.INDEX).start
    swh.actions_.goto.trigger()
    qtbot.keyClicks(swh.address.field, "index+12*40")
    assert swh.address.preview.isVisible()
    assert f"→ {index + 480:#x}" in swh.address.preview.text()
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    assert session.selection.span == Span("", index + 480, index + 481)
    assert not swh.address.preview.isVisible()


def test_names_of_fields_are_places(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    index = section(session, SectionRole.INDEX).start
    qtbot.waitUntil(lambda: "header.index_position" in swh.naming.places().starts)
    assert "header.index_position" in swh.naming.places().names
    name = "header.index_position"
    for text, offset in ((f"*{name}", index), (name, 64), (f"${name}", 64)):
        swh.address.field.setText(text)
        qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
        assert swh.view.state.selection.caret == offset


def test_the_address_field_follows_the_selection(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    swh.actions_.goto.trigger()
    qtbot.keyClicks(swh.address.field, "index+40")
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert swh.address.field.text() == "index+40"
    swh.address.field.clearFocus()
    session.select_row(2)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert swh.address.field.text() == f"{session.selection.span.start:#x}"
    session.select_nothing()
    assert not swh.address.field.text()


def test_mistakes_stay_in_the_address_field(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    before = swh.view.state.selection
    swh.address.field.setText("indx")
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    assert "unknown name" in swh.address.preview.text()
    assert swh.view.state.selection == before
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Escape)
    assert not swh.address.preview.isVisible()
    assert "indx" not in swh.address.field.text(), "what means nothing does not stay"


def test_pointers_are_followed(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    swh.view.state.move_caret(64)
    qtbot.waitUntil(swh.actions_.follow.isEnabled)
    qtbot.keyClick(swh.view, Qt.Key.Key_Return)
    assert session.selection.span.start == section(session, SectionRole.INDEX).start


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (CopyAs.SEEN, "00000000  53 57 48 53 68 61 72 64                           SWHShard"),
        (CopyAs.HEX, "53 57 48 53 68 61 72 64"),
        (CopyAs.BASE64, "U1dIU2hhcmQ="),
    ],
)
def test_copying(qtbot: QtBot, swh: HexPanel, session: Session, form: CopyAs, expected: str) -> None:
    session.select_span(Span("", 0, 8))
    action = swh.actions_.copy if form is CopyAs.SEEN else swh.actions_.copy_as[form]
    with qtbot.waitSignal(session.message) as told:
        action.trigger()
    assert QGuiApplication.clipboard().text() == expected
    assert told.args == [f"8 bytes copied {form.value}"]


def test_bytes_are_copied_as_commands(swh: HexPanel, session: Session) -> None:
    session.select_span(Span("", 72, 80))
    swh.actions_.copy_command.trigger()
    assert QGuiApplication.clipboard().text() == f"shardcore explain {session.request.uri} 0x48"
    swh.actions_.copy_python.trigger()
    found: dict[str, bytes] = {}
    exec(QGuiApplication.clipboard().text(), found)  # noqa: S102 - what is copied must run
    assert int.from_bytes(found["data"], "big") == swh.naming.places().values["header.index_size"]
    assert not swh.actions_.copy_curl.isVisible()


def test_the_object_of_the_bytes_is_at_hand(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    index = section(session, SectionRole.INDEX).start
    row = next(n for n, key in enumerate(session.shard.objects.keys[:20]) if key)
    for offset, known in ((8, False), (index + row * SLOT, True)):
        swh.view.state.move_caret(offset)
        qtbot.waitUntil(lambda: session.selection.complete)
        swh.view.menu_requested.emit(QPoint(10, 10))
        menu = next(m for m in swh.findChildren(QMenu) if m.isVisible() and m.parent() is swh)
        entries = {action.text().replace("&", ""): action for action in menu.actions()}
        assert entries["Look up object"].isEnabled() is known
        menu.close()
    with qtbot.waitSignal(swh.look_up_wanted) as told:
        entries["Look up object"].trigger()
    assert told.args == [session.shard.objects.keys[row]]
    with qtbot.waitSignal(swh.extract_wanted) as told:
        entries["Extract object…"].trigger()
    assert told.args == [row]
    entries["Go to object"].trigger()
    assert session.selection.row == row


def test_closing_leaves_nothing(swh: HexPanel, session: Session) -> None:
    session.close()
    assert swh.view.state.layout.size == 0
    assert swh.tabs.count() == 0
    assert swh.naming.places().names == ()
    assert swh.pages.bytes_at("", 0, 8) is None


def test_findings_are_marked(qtbot: QtBot, session: Session, panel: HexPanel, data: Path, tmp_path: Path) -> None:
    raw = bytearray((data / "swh" / "small.shard").read_bytes())
    raw[520] ^= 1
    path = tmp_path / "damaged.shard"
    path.write_bytes(raw)
    with qtbot.waitSignal(session.opened):
        session.open(str(path))
    with qtbot.waitSignal(session.findings_changed):
        session.verify(Depth.CONTENT)
    place = next(f.span for f in session.report.findings if f.span is not None)
    assert panel.view.state.marks.at(place.start)
    assert panel.overview.tip_at(panel.overview.x_of(place.start)).count("⚠")


def test_decoded_bytes_have_a_tab(qtbot: QtBot, session: Session, panel: HexPanel, data: Path) -> None:
    with qtbot.waitSignal(session.opened):
        session.open(str(data / "bloscpack" / "array.blp"))
    qtbot.waitUntil(lambda: session.index_state is IndexState.LOADED)
    session.select_span(Span("", 64, 65))
    qtbot.waitUntil(panel.actions_.decoded.isEnabled)
    panel.actions_.decoded.trigger()
    qtbot.waitUntil(lambda: panel.view.state.name.startswith("@64-"))
    stored = stored_span(panel.view.state.name)
    assert stored is not None
    assert len(panel.tabs.sources) == 2
    assert panel.tabs.currentIndex() == 1
    assert panel.view.state.sections == session.shard.sections_of(panel.view.state.name)
    assert "decoded" in panel.breadcrumb.plain
    panel.view.state.move_caret(3)
    assert session.selection.span == Span(panel.view.state.name, 3, 4)
    panel.tabs.setCurrentIndex(0)
    assert panel.view.state.name == ""
    panel.tabs.setCurrentIndex(1)
    assert panel.view.state.selection.caret == 3
    panel.actions_.decoded.trigger()
    assert panel.view.state.selection.span == stored
    panel.tabs.close_source(panel.tabs.sources[1].name)
    assert len(panel.tabs.sources) == 1
    panel.tabs.close_source(panel.tabs.sources[0].name)
    assert len(panel.tabs.sources) == 1


def test_keys_go_along_the_breadcrumb(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    swh.view.state.move_caret(section(session, SectionRole.INDEX).start + 3)
    qtbot.waitUntil(lambda: swh.breadcrumb.plain.endswith("key"))
    with qtbot.waitActive(swh):
        swh.activateWindow()
    swh.breadcrumb.setFocus(Qt.FocusReason.TabFocusReason)
    assert swh.breadcrumb.accessibleDescription() == "key"
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(swh.breadcrumb, key)
    assert session.selection.span == section(session, SectionRole.INDEX)
    qtbot.keyClick(swh.breadcrumb, Qt.Key.Key_Backtab)
    assert not swh.breadcrumb.hasFocus()


def test_a_file_that_shrinks_is_told(
    qtbot: QtBot, session: Session, panel: HexPanel, data: Path, tmp_path: Path
) -> None:
    """Reading bytes that are gone is reported to the session; the other bytes stay on the screen."""
    path = tmp_path / "shrinking.shard"
    path.write_bytes((data / "swh" / "medium.shard").read_bytes())
    with qtbot.waitSignal(session.opened):
        session.open(str(path))
    qtbot.waitUntil(lambda: panel.pages.bytes_at("", 0, 512) is not None)
    size = session.shard.source.size
    os.truncate(path, 600)
    panel.pages.use(session.shard)
    with qtbot.waitSignal(session.source_trouble):
        session.select_span(Span("", size - 1, size))
    qtbot.waitUntil(lambda: panel.pages.state("", (size - 1) // PAGE) is PageState.FAILED)
    assert not panel.grab().isNull()
