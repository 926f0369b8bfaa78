"""The hex panel on real shards: one selection both ways, places, rows, search, copying, decoded bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from shardcore import Depth, FieldRole, SectionRole, Span
from shardcore.testing import PatternSource
from shardscope.copying import CopyAs
from shardscope.hex.panel import HexPanel
from shardscope.hex.tabs import stored_span
from shardscope.hex.width import RowMode, RowWidth, parse_width
from shardscope.looks import theme
from shardscope.models.hit_list import HitList
from shardscope.pages import PAGE, PageState
from shardscope.session import IndexState, Session
from tests.app.hex_samples import SampleReader

SLOT = 40


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> HexPanel:
    """A panel with nothing open."""
    made = HexPanel(session)
    qtbot.addWidget(made)
    made.resize(1000, 640)
    made.show()
    # In the window it stands in the bar.
    qtbot.addWidget(made.address)
    made.address.resize(800, 40)
    made.address.show()
    return made


@pytest.fixture
def swh(qtbot: QtBot, session: Session, panel: HexPanel, data: Path) -> HexPanel:
    """A panel with a small shard, its index read and its first bytes painted."""
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "swh" / "small.shard"))
    qtbot.waitUntil(lambda: session.index_state is IndexState.LOADED, timeout=10_000)
    qtbot.waitUntil(lambda: panel.pages.bytes_at("", 0, 512) is not None)
    return panel


def section(session: Session, role: SectionRole) -> Span:
    """The span of the first section of a role."""
    assert session.shard is not None
    found = next(s for s in session.shard.sections if s.role is role)
    return Span("", found.start, found.stop)


def test_a_shard_is_shown(swh: HexPanel, session: Session) -> None:
    """What is open is on the tab, the strip, the bytes and the status line."""
    assert session.shard is not None
    assert session.shard.source is not None
    assert swh.view.state.layout.size == session.shard.source.size
    assert swh.view.state.sections == session.shard.sections
    assert [swh.tabs.tabText(n) for n in range(swh.tabs.count())] == ["Stored"]
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
    assert swh.status.offset.text() == f"offset {span.start:,} · {span.start:#x}"
    assert swh.status.length.text() == f"{span.size:,} bytes · {span.size:#x}"


def test_the_address_field_goes_places(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Ctrl+G takes the keyboard; the preview follows the typing; Enter goes there and gives the keyboard back."""
    index = section(session, SectionRole.INDEX).start
    swh.actions_.goto.trigger()
    qtbot.keyClicks(swh.address.field, "index+12*40")
    assert swh.address.preview.isVisible()
    assert f"→ {index + 480:,}" in swh.address.preview.text()
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    assert session.selection.span == Span("", index + 480, index + 481)
    assert not swh.address.preview.isVisible()


def test_names_of_fields_are_places(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A field's name is its value, with a dollar sign its place; the completion offers it."""
    assert session.shard is not None
    index = section(session, SectionRole.INDEX).start
    qtbot.waitUntil(lambda: "header.index_position" in swh.naming.places().starts)
    assert "header.index_position" in swh.naming.places().names
    for text, offset in (("header.index_position", index), ("$header.index_position", 64)):
        swh.address.field.setText(text)
        qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
        assert swh.view.state.selection.caret == offset


def test_mistakes_stay_in_the_address_field(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """What is no place is told beside the field, and nothing moves."""
    before = swh.view.state.selection
    swh.address.field.setText("indx")
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Return)
    assert "nothing here is called" in swh.address.preview.text()
    assert swh.view.state.selection == before
    qtbot.keyClick(swh.address.field, Qt.Key.Key_Escape)
    assert not swh.address.preview.isVisible()


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
    swh.set_row_width(RowWidth(RowMode.RECORD))
    index = section(session, SectionRole.INDEX).start
    swh.view.state.move_caret(index + 2 * SLOT + 35)
    qtbot.waitUntil(lambda: swh.view.state.layout.width == SLOT)
    assert swh.view.state.layout.column_of(index) == 0
    swh.set_row_width(RowWidth(RowMode.FIXED, 16))
    assert swh.view.state.layout.width == 16


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("16", RowWidth(RowMode.FIXED, 16)),
        (" 48 bytes", RowWidth(RowMode.FIXED, 48)),
        ("FIT", RowWidth(RowMode.FIT)),
        ("record", RowWidth(RowMode.RECORD)),
        ("0", None),
        ("9999", None),
        ("-3", None),
        ("x", None),
        ("", None),
    ],
)
def test_row_widths_are_understood(text: str, choice: RowWidth | None) -> None:
    """Numbers from 1 to 1024 and the two words; nothing else."""
    assert parse_width(text) == choice


def test_any_row_width_can_be_typed(qtbot: QtBot, swh: HexPanel) -> None:
    """The control takes a number that it does not offer, and drops what is none."""
    field = swh.rows.box.lineEdit()
    assert field is not None
    field.setText("13")
    field.editingFinished.emit()
    assert swh.view.state.layout.width == 13
    field.setText("nonsense")
    field.editingFinished.emit()
    assert (field.text(), swh.view.state.layout.width) == ("13", 13)


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


def test_search_finds_wildcards(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Enter goes from hit to hit and around the end, and says so; what is found is selected."""
    swh.actions_.find.trigger()
    assert swh.search.isVisible()
    swh.search.field.setText("53 57 ?? 5? 68")
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.selection.span == Span("", 0, 5))
    assert "at 0" in swh.search.status.text()
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "went around" in swh.search.status.text())


def test_all_hits_are_listed_and_marked(qtbot: QtBot, swh: HexPanel, session: Session, data: Path) -> None:
    """All hits are counted and listed, marked on the strip and in the bytes on the screen, until the bar is closed."""
    raw = (data / "swh" / "small.shard").read_bytes()
    wanted = [at for at in range(len(raw) - 3) if raw[at : at + 4] == bytes(4)]
    lists: list[HitList] = []
    swh.search.hits_changed.connect(lists.append)
    swh.search.start()
    swh.search.field.setText("00000000")
    with qtbot.waitSignal(swh.search.list_wanted, timeout=10_000):
        swh.search.list_all()
    assert lists[-1].offsets.tolist() == wanted
    assert swh.search.status.text() == f"{len(wanted):,} found"
    start, stop = swh.state.visible_bytes
    shown = [(at, at + 4) for at in wanted if at + 4 > start and at < stop]
    assert list(swh.state.scene(focused=True).hits) == shown
    marked = swh.view.viewport().grab().toImage()
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Escape)
    assert swh.state.scene(focused=True).hits == ()
    assert swh.view.viewport().grab().toImage() != marked
    assert not swh.search.isVisible()


def test_a_number_search_says_which_hit(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """*Number* tries widths and byte orders, goes to the nearest, and says what it is and how many there are."""
    assert session.shard is not None
    size = session.shard.fields["header.index_size"]
    swh.search.look_for("Number", str(size))
    qtbot.waitUntil(lambda: session.selection.span == Span("", 72, 80))
    assert swh.search.status.text().startswith("1 of ")
    assert "at 72 · u64 big-endian" in swh.search.status.text()
    swh.search.close_bar()


def test_searches_come_back(qtbot: QtBot, swh: HexPanel) -> None:
    """Up and Down bring back what was searched before, with its kind, and what was being typed; so does the menu."""
    swh.search.start()
    for kind, text in (("Hex", "53 57"), ("Text", "SWH")):
        swh.search.look_for(kind, text)
        qtbot.waitUntil(lambda: " of " in swh.search.status.text())
    swh.search.field.setText("typing")
    seen = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(swh.search.field, key)
        seen.append((swh.search.kind.currentText(), swh.search.field.text()))
    first, second, typed = ("Hex", "53 57"), ("Text", "SWH"), ("Text", "typing")
    assert seen == [second, first, first, second, typed, typed]
    menu = swh.search.earlier_menu()
    assert [action.text() for action in menu.actions()] == ["SWH\tText", "53 57\tHex"]
    menu.actions()[1].trigger()
    assert (swh.search.kind.currentText(), swh.search.field.text()) == first
    qtbot.waitUntil(lambda: " of " in swh.search.status.text())
    swh.search.field.setText("53 57")
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Up)
    assert swh.search.field.text() == "SWH"
    swh.search.close_bar()


def test_the_selected_bytes_are_found_elsewhere(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """*Find these bytes* searches the selection: the next place that has the same bytes."""
    session.select_span(Span("", 88, 92))
    swh.actions_.find_these.trigger()
    assert swh.search.field.text() == "00 00 00 00"
    qtbot.waitUntil(lambda: session.selection.span == Span("", 89, 93))
    swh.search.close_bar()


def test_search_mistakes_are_told(qtbot: QtBot, swh: HexPanel) -> None:
    """What is no pattern is told at once; what is not there is told when all was searched."""
    swh.search.start()
    swh.search.field.setText("5")
    swh.search.look()
    assert "odd number" in swh.search.status.text()
    swh.search.kind.setCurrentText("Text")
    swh.search.field.setText("surely not in this file")
    swh.search.look()
    qtbot.waitUntil(lambda: swh.search.status.text() == "not found")


def test_a_search_can_be_stopped(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    """A search in a source without end shows its progress, is stopped by its button at once, and says so."""
    panel.pages.use(SampleReader(PatternSource(2**60)))
    panel.view.state.set_source("", 2**60)
    panel.search.start()
    panel.search.field.setText("00 01 02 03 04 05 06 07")
    panel.search.list_all()
    assert panel.search.stop.isVisible()
    qtbot.waitUntil(lambda: any(job.done_amount > 0 for job in session.jobs.open_jobs))
    qtbot.mouseClick(panel.search.stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel.search.status.text() == "stopped", timeout=2000)
    assert not panel.search.stop.isVisible()
    assert not session.jobs.open_jobs


def test_too_much_is_not_copied(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    """A selection over 16 MiB is refused with a sentence, and nothing is read."""
    panel.pages.use(SampleReader(PatternSource(2**60)))
    panel.view.state.set_source("", 2**60)
    panel.view.state.select_all()
    with qtbot.waitSignal(session.message) as told:
        panel.actions_.copy.trigger()
    assert "at most 16 MiB can be copied" in told.args[0]


def test_the_menu_offers_everything(qtbot: QtBot, swh: HexPanel) -> None:
    """The context menu opens without blocking, and holds copying, selecting, going and rows."""
    swh.view.menu_requested.emit(QPoint(10, 10))
    menu = next(m for m in swh.findChildren(QMenu) if m.isVisible() and m.parent() is swh)
    texts = {action.text().replace("&", "") for action in menu.actions()}
    assert {"Copy", "Copy as", "Select field", "Select section", "Follow pointer", "Go to …", "Row width"} <= texts
    menu.close()


def test_the_caret_has_its_field_and_its_record_framed(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A click frames the field and the record of the byte; the record is selected by its action, then by its chip."""
    index = section(session, SectionRole.INDEX).start
    assert swh.rows.chip.isHidden()
    before = swh.view.geometry()
    swh.view.state.move_caret(index + 2 * SLOT + 35)
    slot = (index + 2 * SLOT, index + 3 * SLOT)
    qtbot.waitUntil(lambda: swh.state.frames == ((slot[0] + 32, slot[1]), slot))
    assert swh.rows.chip.text() == "40 · slot"
    assert swh.view.geometry() == before
    swh.rows.chip.click()
    assert (swh.state.layout.width, swh.state.layout.column_of(index)) == (SLOT, 0)
    assert swh.rows.chip.isChecked()
    assert swh.rows.box.currentText() == "Record"
    swh.rows.chip.click()
    assert swh.state.layout.width == 16
    swh.actions_.select_record.trigger()
    assert session.selection.span == Span("", *slot)
    session.select_span(Span("", 100, 101))
    qtbot.waitUntil(swh.rows.chip.isHidden)


def test_fields_stand_beside_the_bytes(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """Where there is room each row names the fields that begin in it; a click selects one, its arrow follows it."""
    column, grid = swh.view.column, swh.state.grid
    swh.resize(1300, 640)
    qtbot.waitUntil(lambda: column.shown and len(column.line(grid, 4).places) == 2)
    line = column.line(grid, 4)
    assert [(f.path, f.value, f.target is not None) for f in line.fields] == [
        ("header › index_position", f"{section(session, SectionRole.INDEX).start:,}", True),
        ("header › index_size", f"{session.shard.fields['header.index_size']:,}" if session.shard else "", False),
    ]

    def click(x: float) -> None:
        y = grid.row_y(4) + grid.row / 2
        place = QPoint(round(column.left(grid) + x), round(y))
        qtbot.mouseClick(swh.view.viewport(), Qt.MouseButton.LeftButton, pos=place)

    click(line.places[1].left + 3)
    assert session.selection.span == Span("", 72, 80)
    click(line.places[0].left + 3)
    assert session.selection.span == Span("", 64, 72)
    click((line.places[0].arrow + line.places[0].right) / 2)
    assert session.selection.span == section(session, SectionRole.INDEX)
    session.select_span(Span("", 0, 1))
    point = QPointF(column.left(grid) + 3, grid.row_y(4) + 3)
    assert "header › index_size" in column.tip_at(grid, point, swh.state.top_row)
    with_fields = swh.view.viewport().grab().toImage()
    swh.actions_.fields.setChecked(False)
    assert not column.shown
    assert swh.view.viewport().grab().toImage() != with_fields
    swh.actions_.fields.setChecked(True)
    swh.resize(700, 640)
    assert not column.shown


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
    header = next(entry for entry in swh.legend.entries() if entry.name == "header")
    assert header.colour == theme.of(swh).field(SectionRole.HEADER, FieldRole.MAGIC, 1)
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
    assert panel.view.state.marks_at(place.start)
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
    assert panel.tabs.count() == 2
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
    panel.tabs.close_source(1)
    assert panel.tabs.count() == 1
    panel.tabs.close_source(0)
    assert panel.tabs.count() == 1


def test_the_breadcrumb_leads_up(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    """A click on a part of the path selects all of its bytes."""
    swh.view.state.move_caret(section(session, SectionRole.INDEX).start + 3)
    qtbot.waitUntil(lambda: swh.breadcrumb.plain.endswith("key"))
    swh.breadcrumb.linkActivated.emit("1")
    assert session.selection.span == section(session, SectionRole.INDEX)
    assert swh.view.state.selection.span == section(session, SectionRole.INDEX)


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
