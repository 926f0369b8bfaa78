"""The hex panel on real shards: one selection both ways, places, rows, search, copying, decoded bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from shardcore import Depth, FieldRole, SectionRole, Span
from shardcore.testing import PatternSource
from shardscope.session.copy_bytes import CopyAs
from shardscope.session.pages import PAGE, PageState
from shardscope.session.session import IndexState, Session
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.row_width import RowMode, RowWidth
from shardscope.views.hex.tabs import stored_span
from shardscope.widgets import theme
from tests.app.hex_samples import SampleReader, section

SLOT = 40


def test_a_shard_is_shown(swh: HexPanel, session: Session) -> None:
    """What is open is on the tab, the strip, the bytes and the status line."""
    assert session.shard is not None
    assert session.shard.source is not None
    assert swh.view.state.layout.size == session.shard.source.size
    assert swh.view.state.sections == session.shard.sections
    assert swh.tabs.tabText(0) == "Bytes"
    assert "small.shard" in swh.breadcrumb.plain
    assert f"{session.shard.source.size:,} bytes" in swh.status.whole.text()


def test_selecting_a_byte_selects_in_the_session(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A byte chosen here is the session's selection, and its path and its value come back."""
    swh.view.state.move_caret(section(session, SectionRole.INDEX).start + 3)
    assert session.selection.span == Span("", swh.view.state.selection.caret, swh.view.state.selection.caret + 1)
    qtbot.waitUntil(lambda: swh.breadcrumb.plain.endswith("key") and "index" in swh.breadcrumb.plain)
    assert swh.status.value.text().startswith("key: ")
    assert swh.view.accessibility.place.startswith("index, ")


def test_selecting_in_the_session_selects_bytes(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A span chosen elsewhere is selected, revealed and told on the status line, in decimal and hex."""
    span = section(session, SectionRole.INDEX)
    session.select_span(span)
    assert swh.view.state.selection.span == span
    assert swh.view.state.visible_bytes[0] <= span.start < swh.view.state.visible_bytes[1]
    assert swh.status.offset.text() == f"offset {span.start:#x}"
    assert swh.status.length.text() == f"{span.size:,} bytes"


def test_the_address_field_goes_places(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Ctrl+G takes the keyboard; the preview follows the typing; Enter goes there and gives the keyboard back."""
    index = section(session, SectionRole.INDEX).start
    swh.actions_.goto.trigger()
    qtbot.keyClicks(swh.address.field, "index+12*40")
    assert swh.address.preview.isVisible()
    assert f"→ {index + 480:#x}" in swh.address.preview.text()
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    assert session.selection.span == Span("", index + 480, index + 481)
    assert not swh.address.preview.isVisible()


def test_names_of_fields_are_places(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A field's name is the field, with a star what it points to; the completion offers both."""
    assert session.shard is not None
    index = section(session, SectionRole.INDEX).start
    qtbot.waitUntil(lambda: "header.index_position" in swh.naming.places().starts)
    assert "header.index_position" in swh.naming.places().names
    name = "header.index_position"
    for text, offset in ((f"*{name}", index), (name, 64), (f"${name}", 64)):
        swh.address.field.setText(text)
        qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
        assert swh.view.state.selection.caret == offset


def test_the_address_field_follows_the_selection(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """What was typed for one object is not there for the next one; without bytes the field is empty."""
    swh.actions_.goto.trigger()
    qtbot.keyClicks(swh.address.field, "index+40")
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert swh.address.field.text() == "index+40"
    swh.address.field.clearFocus()
    session.select_row(2)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert session.selection.span is not None
    assert swh.address.field.text() == f"{session.selection.span.start:#x}"
    session.select_nothing()
    assert not swh.address.field.text()


def test_a_selection_over_sections_names_all_of_them(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Few are named; many are counted, and named in the tooltip."""
    names = [one.name for one in swh.state.sections]
    session.select_span(Span("", 0, 600))
    qtbot.waitUntil(lambda: session.selection.complete)
    assert swh.status.value.text() == ", ".join(names[:3])
    swh.state.select_all()
    qtbot.waitUntil(lambda: session.selection.complete)
    assert swh.status.value.text() == f"{len(names)} sections"
    assert swh.status.value.toolTip().splitlines() == names


def test_mistakes_stay_in_the_address_field(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """What is no place is told beside the field, and nothing moves."""
    before = swh.view.state.selection
    swh.address.field.setText("indx")
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    assert "unknown name" in swh.address.preview.text()
    assert swh.view.state.selection == before
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Escape)
    assert not swh.address.preview.isVisible()
    assert "indx" not in swh.address.field.text(), "what means nothing does not stay"


def test_messages_beside_the_address_push_nothing_aside(qtbot: QtBot, swh: HexPanel) -> None:
    """However long the preview of an address is, the panel needs no more room, and the field keeps its width."""
    before, field = swh.minimumSizeHint().width(), swh.address.field.width()
    swh.address.field.setText("nowhere" * 20)
    assert swh.address.preview.isVisible()
    qtbot.wait(0)
    swh.layout().activate()
    assert swh.minimumSizeHint().width() == before
    assert swh.address.field.width() == field


def test_rows_become_records(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """In record mode rows have the size of the record under the caret, and begin where it begins."""
    swh.rows.choose(RowWidth(RowMode.RECORD))
    index = section(session, SectionRole.INDEX).start
    swh.view.state.move_caret(index + 2 * SLOT + 35)
    qtbot.waitUntil(lambda: swh.view.state.layout.width == SLOT)
    assert swh.view.state.layout.column_of(index) == 0
    swh.rows.choose(RowWidth(RowMode.FIXED, 16))
    assert swh.view.state.layout.width == 16


def test_the_header_says_how_bytes_are_shown(qtbot: QtBot, swh: HexPanel) -> None:
    """A click on its button or the right button on it opens the menu of the rows; another number is asked for."""

    def texts() -> list[str]:
        menu = next(one for one in swh.findChildren(QMenu) if one.isVisible() and one.parent() is swh)
        found = [action.text().replace("&", "") for action in menu.actions()]
        menu.close()
        return found

    qtbot.mouseClick(swh.view.looks, Qt.MouseButton.LeftButton)
    expected = ["Bytes per row: Auto", "Fold rows of equal bytes", "Fields beside the bytes"]
    assert texts()[:3] == expected
    dialog = swh.rows.ask()
    dialog.setIntValue(13)
    dialog.accept()
    assert swh.view.state.layout.width == 13
    place = QPoint(60, 5)
    reason = QContextMenuEvent.Reason.Mouse
    swh.view.contextMenuEvent(QContextMenuEvent(reason, place, swh.view.viewport().mapToGlobal(place)))
    assert texts()[0] == "Bytes per row: 13 bytes"


def test_pointers_are_followed(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Enter on a field that points somewhere selects what it points to."""
    swh.view.state.move_caret(64)
    qtbot.waitUntil(swh.actions_.follow.isEnabled)
    qtbot.keyClick(swh.view, Qt.Key.Key_Return)
    assert session.selection.span is not None
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
    """Ctrl+C copies what is seen, the menu the other forms, and the status bar is told."""
    session.select_span(Span("", 0, 8))
    action = swh.actions_.copy if form is CopyAs.SEEN else swh.actions_.copy_as[form]
    with qtbot.waitSignal(session.message) as told:
        action.trigger()
    assert QGuiApplication.clipboard().text() == expected
    assert told.args == [f"8 bytes copied {form.value}"]


def test_too_much_is_not_copied(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    """A selection over 16 MiB is refused with a sentence, and nothing is read."""
    panel.pages.use(SampleReader(PatternSource(2**60)))
    panel.view.state.set_source("", 2**60)
    panel.view.state.select_all()
    with qtbot.waitSignal(session.troubled) as told:
        panel.actions_.copy.trigger()
    assert "at most 16 MiB can be copied" in told.args[0]


def test_the_menu_offers_everything(qtbot: QtBot, swh: HexPanel) -> None:
    """The context menu opens without blocking, and holds copying, selecting, going and rows."""
    swh.view.menu_requested.emit(QPoint(10, 10))
    menu = next(m for m in swh.findChildren(QMenu) if m.isVisible() and m.parent() is swh)
    texts = {action.text().replace("&", "") for action in menu.actions()}
    assert {"Copy", "Copy as", "Select field", "Select section", "Follow pointer", "Go to …"} <= texts
    assert "Bytes per row: Auto" in texts
    menu.close()


def test_bytes_are_copied_as_commands(swh: HexPanel, session: Session) -> None:
    """The selection as a `shardcore` command and as lines of Python that read it; `curl` is for the web only."""
    session.select_span(Span("", 72, 80))
    swh.actions_.copy_command.trigger()
    assert QGuiApplication.clipboard().text() == f"shardcore explain {session.request.uri} 0x48"
    swh.actions_.copy_python.trigger()
    found: dict[str, bytes] = {}
    exec(QGuiApplication.clipboard().text(), found)  # noqa: S102 - what is copied must run
    assert int.from_bytes(found["data"], "big") == swh.naming.places().values["header.index_size"]
    assert not swh.actions_.copy_curl.isVisible()


def test_the_object_of_the_bytes_is_at_hand(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """In the menu, bytes that belong to an object lead to it: its row, its lookup, its extraction."""
    index = section(session, SectionRole.INDEX).start
    assert session.shard is not None
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


def test_select_section(swh: HexPanel, session: Session) -> None:
    """The section around the caret is selected whole."""
    swh.view.state.move_caret(section(session, SectionRole.INDEX).start + 100)
    swh.actions_.select_section.trigger()
    assert swh.view.state.selection.span == section(session, SectionRole.INDEX)


def test_closing_leaves_nothing(swh: HexPanel, session: Session) -> None:
    """When the shard is closed the bytes are gone, and no name means anything."""
    session.close()
    assert swh.view.state.layout.size == 0
    assert swh.tabs.count() == 0
    assert swh.naming.places().names == ()
    assert swh.pages.bytes_at("", 0, 8) is None


def test_the_legend_names_what_is_seen(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Sections, and the keys, pointers and sizes on the screen, in the colours of the bytes; it follows scrolling."""
    session.select_span(Span("", 0, 1))
    qtbot.waitUntil(lambda: "pointer" in [e.name for e in swh.legend.entries()])
    names = [(entry.letter, entry.name) for entry in swh.legend.entries()]
    assert ("H", "header") in names
    assert ("I", "index") in names
    assert not {"key", "magic", "version"} & {name for _, name in names}
    swh.legend.resize(900, swh.legend.height())
    image, colours = swh.legend.grab().toImage(), theme.of(swh)
    painted = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    wanted = [colours.section(SectionRole.HEADER, parity) for parity in (0, 1)]
    assert {one.rgb() for one in [*wanted, colours.underline(FieldRole.OFFSET).color()]} <= painted
    swh.view.state.scroll_to(section(session, SectionRole.INDEX).start)
    qtbot.waitUntil(lambda: "key" in [e.name for e in swh.legend.entries()])


def test_findings_are_marked(qtbot: QtBot, session: Session, panel: HexPanel, data: Path, tmp_path: Path) -> None:
    """What verification finds is marked on its bytes and on the strip."""
    raw = bytearray((data / "swh" / "small.shard").read_bytes())
    raw[520] ^= 1
    path = tmp_path / "damaged.shard"
    path.write_bytes(raw)
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(path))
    with qtbot.waitSignal(session.findings_changed, timeout=10_000):
        session.verify(Depth.CONTENT)
    assert session.report is not None
    place = next(f.span for f in session.report.findings if f.span is not None)
    assert panel.view.state.marks.at(place.start)
    assert panel.overview.tip_at(panel.overview.x_of(place.start)).count("⚠")


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("", None),
        ("info", None),
        ("@12-500", Span("", 12, 500)),
        ("a.shard@1-2", Span("a.shard", 1, 2)),
        ("mail@home", None),
        ("@5-2", None),
    ],
)
def test_decoded_names(name: str, span: Span | None) -> None:
    """The name of a decoded source tells which stored bytes it comes from; other names do not."""
    assert stored_span(name) == span


def test_decoded_bytes_have_a_tab(qtbot: QtBot, session: Session, panel: HexPanel, data: Path) -> None:
    """What bytes decode to opens in a tab of its own with its own sections; the way back selects the stored bytes."""
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "bloscpack" / "array.blp"))
    qtbot.waitUntil(lambda: session.index_state is IndexState.LOADED, timeout=10_000)
    session.select_span(Span("", 64, 65))
    qtbot.waitUntil(panel.actions_.decoded.isEnabled)
    panel.actions_.decoded.trigger()
    qtbot.waitUntil(lambda: panel.view.state.name.startswith("@64-"))
    stored = stored_span(panel.view.state.name)
    assert stored is not None
    assert len(panel.tabs.sources) == 2
    assert panel.tabs.currentIndex() == 1
    assert session.shard is not None
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


def test_the_breadcrumb_leads_up(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A click on a part of the path selects all of its bytes."""
    swh.view.state.move_caret(section(session, SectionRole.INDEX).start + 3)
    qtbot.waitUntil(lambda: swh.breadcrumb.plain.endswith("key"))
    swh.breadcrumb.linkActivated.emit("1")
    assert session.selection.span == section(session, SectionRole.INDEX)
    assert swh.view.state.selection.span == section(session, SectionRole.INDEX)


def test_keys_go_along_the_breadcrumb(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """It is one stop of Tab, at its last part; left goes up, Return follows, Shift+Tab leaves."""
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


def test_a_click_on_the_strip_goes_there(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """The overview scrolls the bytes, and the byte there becomes the selection."""
    index = section(session, SectionRole.INDEX)
    x = (swh.overview.x_of(index.start) + swh.overview.x_of(index.stop)) / 2
    qtbot.mouseClick(swh.overview, Qt.MouseButton.LeftButton, pos=QPoint(round(x), 30))
    assert session.selection.span is not None
    assert index.covers(session.selection.span.start)
    assert swh.view.state.visible_bytes[0] <= session.selection.span.start < swh.view.state.visible_bytes[1]


def test_a_file_that_shrinks_is_told(
    qtbot: QtBot, session: Session, panel: HexPanel, data: Path, tmp_path: Path
) -> None:
    """Bytes that are gone are told to the session; the rest of the file stays on the screen."""
    path = tmp_path / "shrinking.shard"
    path.write_bytes((data / "swh" / "medium.shard").read_bytes())
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(path))
    qtbot.waitUntil(lambda: panel.pages.bytes_at("", 0, 512) is not None)
    assert session.shard is not None
    assert session.shard.source is not None
    size = session.shard.source.size
    os.truncate(path, 600)
    panel.pages.use(session.shard)
    with qtbot.waitSignal(session.source_trouble, timeout=10_000):
        session.select_span(Span("", size - 1, size))
    qtbot.waitUntil(lambda: panel.pages.state("", (size - 1) // PAGE) is PageState.FAILED)
    assert not panel.grab().isNull()
