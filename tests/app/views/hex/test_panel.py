"""The hex panel on real shards: one selection both ways, places, rows, search, copying, decoded bytes."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from shardcore import Depth, SectionRole, Span
from shardcore.operations.offset_expression import GotoNames
from shardscope.session.byte_pages import PAGE, PageState
from shardscope.session.display_text import CopyAs
from shardscope.session.session import Session
from shardscope.views.hex.address_bar import AddressBar, EntryContext
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.tabs import stored_span
from tests.app.conftest import open_in
from tests.app.hex_samples import section

SLOT = 40


def test_bytes_and_session_have_one_selection(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    span, view = section(session, SectionRole.INDEX), swh.view
    session.select_span(span)
    assert view.state.selection.span == span
    assert view.state.visible_bytes[0] <= span.start < view.state.visible_bytes[1]
    assert f"{span.start:#x}" in swh.status.offset.text()
    view.state.move_caret(span.start + 3)
    assert session.selection.span == Span("", view.state.selection.caret, view.state.selection.caret + 1)
    qtbot.waitUntil(lambda: swh.breadcrumb.plain.endswith("key") and "index" in swh.breadcrumb.plain)
    assert swh.status.value.text().startswith("key: ")
    assert view.accessibility.place.startswith("index, ")
    view.state.move_caret(64)
    qtbot.waitUntil(swh.actions_.follow.isEnabled)
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert session.selection.span.start == span.start, "the pointer is followed"
    session.close()
    assert view.state.layout.size == swh.tabs.count() == 0
    assert swh.naming.places().names == ()
    assert swh.pages.bytes_at("", 0, 8) is None


def test_the_address_field_goes_places_and_follows(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    index, field = section(session, SectionRole.INDEX).start, swh.address.field
    swh.actions_.goto.trigger()
    qtbot.keyClicks(field, "index+12*40")
    assert swh.address.preview.isVisible()
    assert f"→ {index + 480:#x}" in swh.address.preview.text()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert session.selection.span == Span("", index + 480, index + 481)
    assert not swh.address.preview.isVisible()
    qtbot.waitUntil(lambda: session.selection.complete)
    assert field.text() == "index+12*40"
    field.clearFocus()
    session.select_row(2)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert field.text() == f"{session.selection.span.start:#x}"
    session.select_nothing()
    assert not field.text()
    name = "header.index_position"
    qtbot.waitUntil(lambda: name in swh.naming.places().starts)
    assert name in swh.naming.places().names
    for text, offset in ((f"*{name}", index), (name, 64), (f"${name}", 64), ("indx", 64)):
        field.setText(text)
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert swh.view.state.selection.caret == offset
    assert "unknown name" in swh.address.preview.text()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert not swh.address.preview.isVisible()
    assert "indx" not in field.text(), "what means nothing does not stay"


def test_a_click_beside_the_completions_is_not_lost(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    known = EntryContext(GotoNames(100), lambda text: True)
    bar, button = AddressBar(lambda: known), QPushButton("Look up")
    row.addWidget(bar)
    row.addWidget(button)
    clicks: list[int] = []
    button.clicked.connect(lambda: clicks.append(1))
    with qtbot.waitExposed(window):
        window.show()
    qtbot.keyClicks(bar.field, "1")
    qtbot.waitUntil(bar.list.isVisible)
    # Through the window system, as a mouse does: the press comes to the list, which has the mouse.
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, pos=button.geometry().center())
    qtbot.waitUntil(lambda: not bar.list.isVisible())
    assert len(clicks) == 1


def test_copying(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    actions, clip = swh.actions_, QGuiApplication.clipboard()
    session.select_span(Span("", 0, 8))
    for action, expected in (
        (actions.copy, "00000000  53 57 48 53 68 61 72 64                           SWHShard"),
        (actions.copy_as[CopyAs.HEX], "53 57 48 53 68 61 72 64"),
        (actions.copy_as[CopyAs.BASE64], "U1dIU2hhcmQ="),
    ):
        with qtbot.waitSignal(session.message) as told:
            action.trigger()
        assert clip.text() == expected
        assert "8 bytes" in told.args[0]
    session.select_span(Span("", 72, 80))
    actions.copy_command.trigger()
    assert clip.text() == f"shardcore explain {session.request.uri} 0x48"
    actions.copy_python.trigger()
    found: dict[str, bytes] = {}
    exec(clip.text(), found)  # noqa: S102 - what is copied must run
    assert int.from_bytes(found["data"], "big") == session.shard.fields["header.index_size"]
    assert not actions.copy_curl.isVisible()


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
    key = session.shard.objects.keys[row]
    for signal, entry, value in (
        (swh.look_up_wanted, "Look up object", key),
        (swh.extract_wanted, "Extract object…", row),
    ):
        with qtbot.waitSignal(signal) as told:
            entries[entry].trigger()
        assert told.args == [value]
    entries["Go to object"].trigger()
    assert session.selection.row == row


def test_findings_are_marked(qtbot: QtBot, session: Session, panel: HexPanel, data: Path, tmp_path: Path) -> None:
    raw = bytearray((data / "swh" / "small.shard").read_bytes())
    raw[520] ^= 1
    path = tmp_path / "damaged.shard"
    path.write_bytes(raw)
    open_in(session, qtbot, path)
    with qtbot.waitSignal(session.verification.changed):
        session.verification.start(Depth.CONTENT)
    place = next(f.span for f in session.verification.report.findings if f.span is not None)
    assert panel.view.state.marks.at(place.start)
    assert panel.overview.tip_at(panel.overview.x_of(place.start)).count("⚠")


def test_decoded_bytes_have_a_tab(qtbot: QtBot, session: Session, panel: HexPanel, data: Path) -> None:
    open_in(session, qtbot, data / "bloscpack" / "array.blp")
    session.select_span(Span("", 64, 65))
    qtbot.waitUntil(panel.actions_.decoded.isEnabled)
    panel.actions_.decoded.trigger()
    qtbot.waitUntil(lambda: panel.view.state.name.startswith("@64-"))
    stored = stored_span(panel.view.state.name)
    assert (len(panel.tabs.sources), panel.tabs.currentIndex()) == (2, 1)
    assert panel.view.state.sections == session.shard.sections_of(panel.view.state.name)
    panel.view.state.move_caret(3)
    assert session.selection.span == Span(panel.view.state.name, 3, 4)
    panel.tabs.setCurrentIndex(0)
    assert panel.view.state.name == ""
    panel.tabs.setCurrentIndex(1)
    assert panel.view.state.selection.caret == 3
    panel.actions_.decoded.trigger()
    assert panel.view.state.selection.span == stored
    for number in (1, 0):
        panel.tabs.close_source(panel.tabs.sources[number].name)
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


def test_a_file_that_shrinks(qtbot: QtBot, session: Session, panel: HexPanel, data: Path, tmp_path: Path) -> None:
    """Reading bytes that are gone is reported to the session; the other bytes stay on the screen."""
    path = tmp_path / "shrinking.shard"
    path.write_bytes((data / "swh" / "medium.shard").read_bytes())
    open_in(session, qtbot, path)
    qtbot.waitUntil(lambda: panel.pages.bytes_at("", 0, 512) is not None)
    size = session.shard.source.size
    os.truncate(path, 600)
    panel.pages.use(session.shard)
    with qtbot.waitSignal(session.watch.trouble_changed):
        session.select_span(Span("", size - 1, size))
    qtbot.waitUntil(lambda: panel.pages.state("", (size - 1) // PAGE) is PageState.FAILED)
