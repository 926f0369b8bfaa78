"""The table and its panel as a hand meets them: focus, columns, chips, bars, the way to the bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span, State
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.paint import row_colour
from shardscope.views.objects.panel import ObjectPanel
from shardscope.widgets import theme
from tests.app.conftest import open_in

SAMPLES = Path(__file__).parents[4] / "resources" / "samples"
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot: QtBot, session: Session, settings: Settings) -> ObjectPanel:
    """A panel on nothing, shown."""
    made = ObjectPanel(session, settings)
    qtbot.addWidget(made)
    made.resize(900, 400)
    made.show()
    return made


def counted(qtbot: QtBot, panel: ObjectPanel, path: Path) -> None:
    """Opens a file, and waits until its rows are counted and there."""
    open_in(panel._session, qtbot, path)
    qtbot.waitUntil(lambda: panel._session.jobs.newest(("count", panel)) is None)
    qtbot.waitUntil(lambda: panel.model.row_texts(0)[1] is not None)


def shown_columns(panel: ObjectPanel) -> list[str]:
    """The names of the columns that are not hidden."""
    table = panel.table
    return [column.name for n, column in enumerate(panel.model.columns) if not table.isColumnHidden(n)]


@pytest.mark.parametrize("reason", [Qt.FocusReason.TabFocusReason, Qt.FocusReason.ShortcutFocusReason])
def test_focus_never_selects(qtbot: QtBot, panel: ObjectPanel, data: Path, reason: Qt.FocusReason) -> None:
    """Tab or a shortcut into the table changes neither the selection nor what is scrolled to."""
    counted(qtbot, panel, data / "swh" / "medium.shard")
    session = panel._session
    session.select_span(Span("", 40, 48))
    qtbot.waitUntil(lambda: session.selection.complete)
    panel.table.verticalScrollBar().setValue(500)
    panel.filter.setFocus()
    before = session.selection
    panel.table.setFocus(reason)
    panel.grab()
    assert session.selection is before
    assert not panel.table.selectionModel().hasSelection()
    assert panel.table.verticalScrollBar().value() == 500
    assert panel.table.currentIndex().row() in panel.table.visible_places()


def test_columns_that_say_the_same_in_every_row_are_hidden(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """Where all is live and of one codec, neither is a column; where some slots are unused, the state is one."""
    counted(qtbot, panel, data / "bloscpack" / "array.blp")
    assert shown_columns(panel) == ["row", "key", "size", "stored", "start"]
    counted(qtbot, panel, data / "swh" / "deleted.shard")
    assert shown_columns(panel) == ["row", "key", "state", "size", "start"]


def test_keys_of_digits_keep_both_ends(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path) -> None:
    """In a narrow table the middle of a decimal key is left out, never all of it."""
    keys = [864691130000000000 + number * 7_777_777_777 for number in range(12)]
    with shardcore.create(tmp_path, format="neuroglancer") as writer:
        for key in keys:
            writer.add(str(key), b"{}" * 40)
    counted(qtbot, panel, next(tmp_path.glob("*.shard")))
    for width in (900, 300, 200):
        panel.resize(width, 400)
        panel.grab()
        seen = [panel.table._painter._row(row).texts[1] for row in range(len(keys))]
        first, _, last = seen[3].partition("…")
        assert len(set(seen)) == len(keys), width
        assert str(keys[3]).startswith(first), width
        assert str(keys[3]).endswith(last), width


def test_the_users_choice_of_columns_wins_and_is_remembered(
    qtbot: QtBot, panel: ObjectPanel, session: Session, settings: Settings, data: Path
) -> None:
    """The menu of the header lists all columns but the key; what is chosen there stays, in the next window too."""
    counted(qtbot, panel, data / "bloscpack" / "array.blp")
    menu = panel.columns.menu()
    names = {action.text(): action for action in menu.actions()}
    assert "Key" not in names
    assert names["Size"].isChecked()
    assert not names["Codec"].isChecked()
    names["Codec"].trigger()
    names["Size"].trigger()
    qtbot.waitUntil(lambda: shown_columns(panel) == ["row", "key", "stored", "start", "codec"])
    other = ObjectPanel(session, settings)
    qtbot.addWidget(other)
    other.resize(900, 400)
    other.show()
    qtbot.waitUntil(lambda: shown_columns(other) == ["row", "key", "stored", "start", "codec"])
    panel.columns.automatic.trigger()
    assert shown_columns(panel) == ["row", "key", "size", "stored", "start"]
    menu.deleteLater()


@pytest.mark.parametrize(
    "sample", ["swh/small.shard", "mdb/cache", "xorb/chunks.xorb", "bloscpack/array.blp", "neuroglancer/hashed"]
)
def test_a_narrow_table_scrolls(qtbot: QtBot, panel: ObjectPanel, sample: str) -> None:
    """In a narrow dock all columns stay, and what does not fit is reached by the scroll bar."""
    found = SAMPLES / sample
    counted(qtbot, panel, next(found.glob("*.mdb")) if sample == "mdb/cache" else found)
    table, bar = panel.table, panel.table.horizontalScrollBar()
    wide = shown_columns(panel)
    assert {"row", "key", "size", "start"} <= set(wide)
    panel.resize(panel.minimumSizeHint().width(), 300)
    header, seen = table.horizontalHeader(), table.viewport()
    qtbot.waitUntil(lambda: 0 < bar.maximum() == header.length() - seen.width())
    assert shown_columns(panel) == wide
    assert table.columnWidth(1) >= table.fontMetrics().horizontalAdvance("00000000")
    bar.setValue(bar.maximum())
    names = [column.name for column in table.objects.columns]
    last = table.objects.index(0, names.index(wide[-1]))
    assert table.viewport().rect().contains(table.visualRect(last))
    panel.columns.choose("row", shown=False)
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_Home)
    assert panel._session.selection.row == 0, "the row that the keyboard stands on is selected by going to it"
    table.follow(0)
    QTest.keyClick(table, Qt.Key.Key_Down)
    assert panel._session.selection.row == 1, "arrow keys walk where the first column is hidden, too"
    panel.columns.automatic.trigger()
    panel.resize(900, 300)
    qtbot.waitUntil(lambda: bar.maximum() == 0)


def test_keys_get_the_room(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """The columns fill the table exactly: the key takes what the others leave."""
    counted(qtbot, panel, data / "swh" / "deleted.shard")
    table = panel.table
    for width in (900, 700, 1200):
        panel.resize(width, 400)
        qtbot.waitUntil(lambda: table.horizontalHeader().length() == table.viewport().width())


def test_chips_filter(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """A click on a state leaves the rows of that state, a second click shows all again."""
    counted(qtbot, panel, data / "swh" / "deleted.shard")
    assert [button.text() for button in panel.chips.buttons.values()] == ["live 10", "unused 3"]
    chip = panel.chips.buttons["state", "unused"]
    QTest.mouseClick(chip, LEFT)
    qtbot.waitUntil(lambda: panel.model.total == 3)
    assert panel.filter.text() == "state:unused"
    assert chip.isChecked()
    QTest.mouseClick(chip, LEFT)
    qtbot.waitUntil(lambda: panel.model.total == 13)
    assert not chip.isChecked()


def test_kinds_are_chips(qtbot: QtBot, panel: ObjectPanel, data: Path, tmp_path: Path) -> None:
    """Where there are several kinds, each says how many there are; what does not fit is in a menu."""
    shutil.copy(next((data / "mdb" / "cas" / "shard-cache").glob("e74f*.mdb")), tmp_path)
    counted(qtbot, panel, tmp_path)
    texts = [button.text() for button in panel.chips.buttons.values()]
    assert texts[:3] == ["5 files", "1 xorb", "10 chunks"]
    narrow = panel.minimumSizeHint().width()
    panel.resize(narrow, 300)
    assert panel.chips.more.isVisible()
    assert [action.text() for action in panel.chips.more.menu().actions()] == texts


def test_no_state_changes_the_smallest_size(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """Chips, buttons, long notes and an empty table leave the smallest size as it is."""
    smallest = panel.minimumSizeHint()
    for name in ("small", "deleted", "medium"):
        counted(qtbot, panel, data / "swh" / f"{name}.shard")
        assert panel.minimumSizeHint() == smallest
    panel._note = "a long note " * 50
    panel._update()
    assert panel.minimumSizeHint() == smallest
    assert "…" in panel.status.seen
    assert panel.status.text().endswith("a long note ")
    panel._session.close()
    assert panel.minimumSizeHint() == smallest


def test_a_wrong_filter_is_told(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """The line under the table says what is wrong, first; the rows stay."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    panel.filter.setText("state:gone")
    qtbot.waitUntil(lambda: panel.status.text().startswith("gone is not a state here"))
    assert panel.model.total == 13


@pytest.mark.parametrize("by_key", [False, True])
def test_a_row_is_left_for_its_bytes(qtbot: QtBot, panel: ObjectPanel, data: Path, by_key: bool) -> None:
    """A double click or Enter selects the stored bytes of the object, and asks for them to be shown."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    table, session = panel.table, panel._session
    place = table.visualRect(panel.model.index(3, 1)).center()
    QTest.mouseClick(table.viewport(), LEFT, pos=place)
    session.select_span(Span("", 0, 8), table)
    qtbot.waitUntil(lambda: session.selection.complete)
    table.follow(3)
    with qtbot.waitSignal(panel.bytes_wanted):
        if by_key:
            QTest.keyClick(table, Qt.Key.Key_Return)
        else:
            QTest.mouseDClick(table.viewport(), LEFT, pos=place)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert session.shard is not None
    assert session.selection.span == session.shard.objects.ref(3).spans[0]


def test_the_selection_is_added_up(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """Several selected rows tell how many they are and how many bytes they come to."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    panel.table.selectAll()
    assert panel._session.listing is not None
    total = sum(size for size in panel._session.listing[0:13].size.tolist() if size > 0)
    qtbot.waitUntil(lambda: f"13 selected, {total:,} bytes" in panel.status.text())


def test_a_row_is_found_in_a_large_order_by_a_job(
    qtbot: QtBot, panel: ObjectPanel, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many rows in an order of their own, the selected one is looked for off the GUI thread."""
    monkeypatch.setattr("shardscope.widgets.object_model.MANY_PLACES", 3)
    counted(qtbot, panel, data / "swh" / "small.shard")
    panel.table.horizontalHeader().sectionClicked.emit([c.name for c in panel.model.columns].index("size"))
    qtbot.waitUntil(lambda: panel.model.scattered)
    panel._session.select_row(5)
    qtbot.waitUntil(lambda: panel.model.row_of(panel.table.currentIndex()) == 5)


def test_sizes_have_bars(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """Each size is a share of the largest of all rows."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    assert panel._session.listing is not None
    sizes = panel._session.listing[0:13].size
    assert panel.model.largest == sizes.max()
    assert panel.model.share_of(int(sizes.argmax())) == 1.0
    row = panel.table._painter._row(int(sizes.argmax()))
    assert row.share == 1.0


def test_widths_are_reset(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """*Reset column widths* gives columns the widths that suit them."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    before = [panel.table.columnWidth(n) for n in range(len(panel.model.columns))]
    panel.table._by_hand["size"] = 300
    panel.table.setColumnWidth([c.name for c in panel.model.columns].index("size"), 300)
    panel.table.setFocus()
    panel.columns.reset_widths.trigger()
    assert [panel.table.columnWidth(n) for n in range(len(panel.model.columns))] == before


def test_the_menu_of_a_row_has_all_there_is(panel: ObjectPanel) -> None:
    """What buttons and menus offer for a row, its own menu offers, too."""
    texts = [action.text().replace("&", "") for action in panel.table.actions()]
    for text in ("Go to its bytes", "Look up", "Extract…", "Copy keys", "Verify selected objects"):
        assert text in texts


def test_a_tombstoned_object_looks_deleted(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """Its key is struck out, in the quiet colour, and its state stands beside it: never like a live one."""
    counted(qtbot, panel, data / "des" / "sidecar" / "20261103_51_0000.des")
    states = [panel.model.row_texts(place)[1] for place in range(3)]
    at = states.index(State.TOMBSTONED)
    struck = [panel.model.index(n, 1).data(Qt.ItemDataRole.FontRole) is not None for n in range(3)]
    assert struck == [n == at for n in range(3)]
    colours = theme.of(panel.table)
    assert row_colour(colours, State.TOMBSTONED) == colours.muted
    assert row_colour(colours, State.LIVE) is None
    assert "state" in shown_columns(panel)


def test_what_is_shown_is_selected(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """A row that is current and not selected shows nothing; where the row that is shown is deselected, another is."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    table, session, keys = panel.table, panel._session, Qt.KeyboardModifier
    control, shift = keys.ControlModifier, keys.ShiftModifier

    def click(row: int, modifier: Qt.KeyboardModifier = keys.NoModifier) -> None:
        place = table.visualRect(panel.model.index(row, 1)).center()
        QTest.mouseClick(table.viewport(), LEFT, modifier, place)

    def state() -> tuple[int | None, list[int]]:
        return session.selection.row, table.selected_ranges().rows().tolist()

    click(1)
    QTest.keyClick(table, Qt.Key.Key_Down, control)
    QTest.keyClick(table, Qt.Key.Key_Down, control)
    assert (table.currentIndex().row(), state()) == (3, (1, [1]))
    QTest.keyClick(table, Qt.Key.Key_Space, control)
    assert state() == (3, [1, 3])
    click(3, control)
    assert state() == (1, [1])
    click(5, control)
    click(1, control)
    assert state() == (5, [5])
    click(5, control)
    assert state() == (5, [])
    click(5)
    QTest.keyClick(table, Qt.Key.Key_Down, shift)
    assert state() == (6, [5, 6])
    QTest.keyClick(table, Qt.Key.Key_Up, shift)
    assert state() == (5, [5])
    QTest.keyClick(table, Qt.Key.Key_Down, control)
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert state() == (6, [6])


def test_a_filter_keeps_what_is_selected(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """A row chosen here stays selected while the filter or the order shows it, and is again once they do."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    table = panel.table
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(panel.model.index(5, 1)).center())
    for text, total, selected in (("row:4..7", 4, [5]), ("row:1", 1, []), ("", 13, [5])):
        panel.filter.setText(text)
        qtbot.waitUntil(lambda total=total: panel.model.total == total)  # type: ignore[misc]
        assert table.selected_ranges().rows().tolist() == selected
        assert panel.actions_.extract.isEnabled() is bool(selected)
        assert panel._session.selection.row == 5
    table.horizontalHeader().sectionClicked.emit([c.name for c in panel.model.columns].index("size"))
    qtbot.waitUntil(lambda: panel.model.order is not None)
    assert table.selected_ranges().rows().tolist() == [5]
