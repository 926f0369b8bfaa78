"""The frame of the window: one bar, one status line, and docks that nothing moves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QMenu, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from shardcore import FormatError, Remedy, SectionRole, ShardError, Span
from shardcore.testing import sampled
from shardscope.session.error_words import ADVICE, plain_words
from shardscope.session.open_request import OpenRequest
from shardscope.shell.fixed_size_frame import FixedSizeFrame
from shardscope.shell.main_window import LEAST, MainWindow
from shardscope.shell.notices import NoticeTone
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.objects.table import ObjectTable
from shardscope.widgets import theme
from shardscope.widgets.wrap_text import WrapText

NORMAL = QSize(1440, 840)
ROOT = Path(__file__).parents[3]
ROWS = 26
SIDE = 420
"""Width of the left docks at the first start."""


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window of 1440 × 840."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(NORMAL)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> MainWindow:
    """Opens a file and waits until nothing moves any more."""
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(path))
    settle(window, 40)
    return window


@pytest.fixture
def small(window: MainWindow, qtbot: QtBot, data: Path) -> MainWindow:
    """The window with 12 objects."""
    return opened(window, qtbot, data / "swh" / "small.shard")


def docks(window: MainWindow) -> dict[str, QRect]:
    """Where every dock lies that can be seen; those behind a tab lie nowhere."""
    panels = window.panels
    return {name: dock.geometry() for name, dock in panels.by_name.items() if panels.in_front(name)}


def buttons(window: MainWindow) -> list[QToolButton]:
    """The buttons of the bar that have words."""
    top = window.top
    return [top.find_button, top.look_up_button, top.extract_button, top.verify_button]


def close_buttons(window: MainWindow) -> list[QToolButton]:
    """The buttons on the tabs of panels."""
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    side = QTabBar.ButtonPosition.RightSide
    found = [bar.tabButton(tab, side) for bar in bars if bar.isVisible() for tab in range(bar.count())]
    return [button for button in found if isinstance(button, QToolButton)]


_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly


def rows(window: MainWindow) -> int:
    """Rows of bytes on the screen."""
    start, stop = window.hex.state.visible_bytes
    return (stop - start) // window.hex.state.layout.width


def neighbours(window: MainWindow) -> dict[str, set[str]]:
    """The names of the docks that share a place with each."""
    found = window.panels.by_name.items()
    return {name: {other.objectName() for other in window.tabifiedDockWidgets(dock)} for name, dock in found}


# --- room for the bytes ---


def test_most_of_the_window_is_bytes(small: MainWindow) -> None:
    """At 1440 × 840, with the docks of the first start, at least 26 rows of bytes are on the screen."""
    assert rows(small) >= ROWS


def test_one_bar_one_path_one_status_line(small: MainWindow) -> None:
    """The bar has all that is done most; the path and the selection are told once each."""
    assert small.top.isVisible()
    assert [button.text() for button in buttons(small)] == ["Find", "Look up", "Extract", "Verify"]
    labels = [label for label in small.findChildren(QLabel) if label.isVisible()]
    assert sum(label.text().startswith("offset ") for label in labels) == 1
    assert small.hex.status.offset.mapTo(small, small.hex.status.offset.pos()).y() > small.height() - 60
    assert [small.hex.tabs.tabText(number) for number in range(small.hex.tabs.count())] == ["Bytes", "Drawing"]


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_icons_are_sharp_and_in_the_ink_of_the_theme(window: MainWindow, scale: float) -> None:
    """At 1x and 2x an icon has the pixels that it is painted with; tool tips end with the keys; narrow, words go."""
    window.set_theme("dark")
    for button in window.top.findChildren(QToolButton):
        if not button.objectName().startswith("top"):
            continue
        picture = button.icon().pixmap(QSize(16, 16), scale).toImage()
        assert picture.size() == QSize(16, 16) * scale
        pixels = [picture.pixelColor(x, y) for x in range(picture.width()) for y in range(picture.height())]
        assert theme.palette("dark").text.name() in {pixel.name() for pixel in pixels if pixel.alpha() == 255}
    assert window.top.find_button.toolTip().endswith("(Ctrl+F)")
    assert window.top.find_button.toolButtonStyle() is Qt.ToolButtonStyle.ToolButtonTextBesideIcon
    window.resize(LEAST)
    QApplication.processEvents()
    assert window.top.find_button.toolButtonStyle() is Qt.ToolButtonStyle.ToolButtonIconOnly


def test_the_selection_is_strong_where_the_keyboard_is(small: MainWindow) -> None:
    """The tree and the table paint selected rows with the accent while they have the keyboard, else with a tint."""
    small.session.select_row(0)
    settle(small, 40)
    colours = theme.of(small)
    for view in (small.tree, small.objects.table):
        place = view.visualRect(view.currentIndex().siblingAtColumn(1))
        grounds = []
        for taker in (small.hex.view, view):
            taker.setFocus()
            QApplication.processEvents()
            row = view.viewport().grab(place).toImage()
            grounds.append(row.pixelColor(row.width() - 3, 3).name())
        assert grounds == [theme.mixed(colours.base, colours.accent, 0.18).name(), colours.accent.name()]


def test_the_title_of_a_panel_has_its_buttons_under_the_mouse(small: MainWindow) -> None:
    """They are seen over the title, not over the content, and always have names for screen readers."""
    dock = small.panels.by_name["structure"]
    buttons = [dock.findChild(QAbstractButton, f"qt_dockwidget_{name}button") for name in ("float", "close")]
    for at, kind, seen in ((dock, "Enter", 1), (dock.widget(), "Enter", 0), (dock.widget(), "Leave", 1)):
        QApplication.sendEvent(at, QEvent(QEvent.Type[kind]))
        assert {button.graphicsEffect().opacity() for button in buttons} == {seen}
    assert all(button.isVisible() and button.accessibleName() for button in buttons)


def test_five_panels_are_there_at_the_first_start(small: MainWindow) -> None:
    """Structure over objects; inspector, trace and preview as tabs; all others are opened on demand."""
    by_name = small.panels.by_name
    assert by_name.keys() - small.panels.closed == {"structure", "objects", "inspector", "trace", "preview"}
    assert docks(small).keys() == {"structure", "objects", "inspector"}
    bars = small.findChildren(QTabBar, options=_DIRECT)
    assert "Panels: Inspector, Lookup, Preview" in {bar.accessibleName() for bar in bars}
    assert by_name["structure"].geometry().bottom() < by_name["objects"].geometry().top()


def test_panels_on_demand_are_closed_by_their_tab(small: MainWindow, qtbot: QtBot) -> None:
    """A panel that was opened has a button on its tab that closes it; the five main panels have none."""
    small.show_part("lessons")
    settle(small, 20)
    assert small.panels.in_front("lessons")
    assert [button.objectName() for button in close_buttons(small)] == ["lessons"]
    qtbot.mouseClick(close_buttons(small)[0], Qt.MouseButton.LeftButton)
    settle(small, 20)
    assert "lessons" in small.panels.closed
    assert any(small.panels.in_front(name) for name in ("inspector", "trace", "preview"))
    assert not close_buttons(small)


def test_results_open_below_the_bytes(small: MainWindow) -> None:
    """Findings, hits and activity share one place below the bytes; the sides stay as they are."""
    before = docks(small)
    small.show_part("findings")
    settle(small, 20)
    after = docks(small)
    assert after["findings"].top() > small.hex.mapTo(small, small.hex.rect().bottomLeft()).y()
    assert before["inspector"].right() > after["findings"].right() > before["structure"].right()
    small.show_part("transfers")
    settle(small, 20)
    assert docks(small)["transfers"].bottom() == after["findings"].bottom()
    assert {name: docks(small)[name] for name in before} == before


def test_a_panel_opened_in_a_small_window_stays_open(small: MainWindow, qtbot: QtBot) -> None:
    """In a small window it is one more tab; in a large one it is in its own place."""
    small.resize(700, 500)
    qtbot.waitUntil(lambda: small.panels.folded)
    small.show_part("findings")
    settle(small, 20)
    assert docks(small).keys() == {"findings"}
    small.resize(NORMAL)
    qtbot.waitUntil(lambda: "findings" in docks(small))
    settle(small, 20)
    assert docks(small).keys() == {"structure", "objects", "inspector", "findings"}


@pytest.mark.thorough
def test_another_file_brings_objects_back(small: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Findings that were dragged onto the objects give them the front when another file is opened."""
    small.show_part("findings")
    small.tabifyDockWidget(small.panels.by_name["objects"], small.panels.by_name["findings"])
    small.show_part("findings")
    settle(small, 20)
    assert not small.panels.in_front("objects")
    opened(small, qtbot, data / "swh" / "one.shard")
    assert small.panels.in_front("objects")
    assert small.panels.in_front("structure")


@pytest.mark.thorough
def test_every_panel_has_its_name_on_a_tab_that_is_seen(small: MainWindow) -> None:
    """At 1440 × 840 no tab is behind an arrow, but for lessons and sandbox; the objects, alone, have their title."""
    beside = {"lessons", "sandbox"}
    for name in small.panels.closed - beside:
        small.show_part(name)
    settle(small, 20)
    bars = small.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    shown = [bar for bar in bars if bar.isVisible() and bar.count()]
    assert sum(bar.count() for bar in shown) == len(small.panels.by_name.keys() - beside) - 1
    for bar in shown:
        for number in range(bar.count()):
            assert bar.rect().contains(bar.tabRect(number)), bar.tabText(number)


def test_what_stands_behind_a_tab_is_hidden(small: MainWindow) -> None:
    """Qt takes docks behind a tab for visible; their parts are not, so that they read, list and draw for nobody."""
    for name in ("lessons", "trace", "findings", "transfers"):
        small.show_part(name)
        settle(small, 20)
        assert small.panels.in_front(name)
        for other, dock in small.panels.by_name.items():
            part = dock.widget()
            assert isinstance(part, FixedSizeFrame)
            assert part.part.isVisible() == small.panels.in_front(other), other


# --- nothing moves ---


def test_a_dock_that_comes_and_goes_leaves_nothing(small: MainWindow, qtbot: QtBot) -> None:
    """The empty titles of docks that left their tabs are deleted."""

    def parts() -> int:
        return sum(len(dock.findChildren(QWidget, options=_DIRECT)) for dock in small.panels.by_name.values())

    settle(small, 40)
    before = parts()
    for _ in range(6):
        small.resize(700, 500)
        settle(small, 40)
        small.resize(1440, 900)
        settle(small, 40)
    qtbot.waitUntil(lambda: parts() <= before)


def test_no_message_moves_a_dock(small: MainWindow, qtbot: QtBot) -> None:
    """Messages, long texts on the status line and the search bar: each dock stays where it is."""
    before = docks(small)
    small.notices.tell("Something is wrong with this file. " * 40, NoticeTone.ERROR, action="Do something about it")
    small.session.message.emit("a very long sentence about what was done " * 60)
    small.line.tell_format("swh 1", "because of many things " * 40)
    small.hex.actions_.find.trigger()
    small.hex.search.status.setText("not found " * 60)
    qtbot.wait(30)
    assert docks(small) == before
    assert small.notices.isVisible()
    small.notices.clear()
    small.hex.search.close_bar()
    qtbot.wait(30)
    assert docks(small) == before


@pytest.mark.thorough
def test_no_theme_moves_a_dock(small: MainWindow) -> None:
    """Another theme, and back: the bar and each dock stay as high as they are."""
    before = docks(small)
    for name in ("dark", "light"):
        small.set_theme(name)
        settle(small)
        assert docks(small) == before


def test_no_button_takes_the_letter_of_a_menu(small: MainWindow) -> None:
    """Alt and a letter opens a menu of the window, whatever panel is in front."""
    menus = {QKeySequence.mnemonic(action.text()).toString() for action in small.menuBar().actions()}
    buttons = {button.text() for button in small.findChildren(QAbstractButton) if button.window() is small}
    assert not {text for text in buttons if text and QKeySequence.mnemonic(text).toString() in menus - {""}}


def test_letters_open_one_entry_of_a_menu(small: MainWindow) -> None:
    """No two entries of a menu have the same letter, and each that had one keeps one."""
    menus = [menu for menu in small.menuBar().findChildren(QMenu) if menu.actions()]
    assert len(menus) > 6
    for menu in menus:
        letters = [QKeySequence.mnemonic(action.text()).toString() for action in menu.actions()]
        used = [letter for letter in letters if letter]
        assert len(used) == len(set(used)), [action.text() for action in menu.actions()]


@pytest.mark.parametrize(
    "content", sampled([b"", b"Dear reader, this is not a shard. " * 20, b"SWHShard" + b"\xff" * 300], 1)
)
def test_no_file_moves_a_dock(
    small: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path, content: bytes
) -> None:
    """An empty, a foreign and a damaged file are shown in the same frame as a sound one."""
    # The tabs of several files are there.
    opened(small, qtbot, data / "swh" / "one.shard")
    before = docks(small)
    path = tmp_path / "other.shard"
    path.write_bytes(content)
    opened(small, qtbot, path)
    assert small.notices.text
    assert docks(small) == before


@pytest.mark.thorough
def test_a_guess_moves_no_dock(small: MainWindow, qtbot: QtBot, data: Path) -> None:
    """That a specification was inferred is told over the bytes; the objects keep all their rows."""
    opened(small, qtbot, data / "swh" / "one.shard")
    before = small.objects.table.size()
    opened(small, qtbot, data / "neuroglancer" / "bare_shard" / "0.shard")
    assert small.notices.isVisible()
    assert small.objects.table.height() >= before.height() - 2


@pytest.mark.thorough
def test_the_default_layout_is_exactly_that(small: MainWindow, qtbot: QtBot) -> None:
    """However the docks were torn about, *Default layout* brings each back to its place and size."""
    settle(small, 100)
    before, tabs = docks(small), neighbours(small)
    assert before["structure"].width() == SIDE
    by_name = small.panels.by_name
    by_name["objects"].setFloating(True)
    by_name["inspector"].close()
    small.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, by_name["structure"])
    small.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, by_name["findings"])
    small.resizeDocks([by_name["structure"]], [600], Qt.Orientation.Horizontal)
    settle(small, 100)
    assert docks(small) != before
    small.actions_.default_layout.trigger()
    settle(small, 100)
    assert docks(small) == before
    assert neighbours(small) == tabs
    assert small.panels.closed == {panel.name for panel in PANELS if panel.on_demand}


def test_a_second_file_comes_without_the_welcome_page(small: MainWindow, qtbot: QtBot, data: Path) -> None:
    """From one file to the next the page changes not once."""
    pages: list[int] = []
    small.pages.currentChanged.connect(pages.append)
    opened(small, qtbot, data / "swh" / "one.shard")
    assert pages == []
    assert small.windowTitle() == "one.shard[*] — Shardscope"


# --- sizes ---


@pytest.mark.parametrize("size", [(640, 420), (1440, 840), (2560, 1440)])
def test_the_window_has_the_size_that_is_asked_for(small: MainWindow, qtbot: QtBot, size: tuple[int, int]) -> None:
    """Small and large: the window obeys, every dock lies inside, and there are bytes to see."""
    small.resize(*size)
    assert small.size() == QSize(*size)
    qtbot.waitUntil(lambda: small.panels.folded is (size[0] < 1100))
    least = 4 if size[1] < 500 else ROWS
    qtbot.waitUntil(lambda: rows(small) >= least)
    for place in docks(small).values():
        assert small.rect().contains(place)


def test_small_windows_fold_and_unfold(small: MainWindow, qtbot: QtBot) -> None:
    """In a small window the docks are tabs of one place; in a large one again each lies where it was."""
    before = docks(small)
    structure = small.panels.by_name["structure"]
    QApplication.processEvents()
    small.resize(700, 500)
    qtbot.waitUntil(lambda: len(small.tabifiedDockWidgets(structure)) == 4)
    small.resize(NORMAL)
    qtbot.waitUntil(lambda: docks(small) == before)


@pytest.mark.thorough
def test_scale_two_fits_the_screen(tmp_path: Path, data: Path) -> None:
    """At scale 2 on a screen of 1280 × 800 the window is no larger than the screen."""
    config = tmp_path / "screen.json"
    config.write_text('{"screens": [{"name": "s", "x": 0, "y": 0, "width": 1280, "height": 800}]}')
    program = (
        "import sys; from pathlib import Path; from PySide6.QtWidgets import QApplication;"
        "from shardscope.startup.settings import Settings; from shardscope.shell.main_window import MainWindow;"
        "from shardscope.shell.screenshot import settle;"
        "app = QApplication([]); w = MainWindow(Settings(Path(sys.argv[1]) / 's.json')); w.show();"
        "w.open(sys.argv[2]); settle(w); s = app.primaryScreen().availableSize();"
        "print(w.width() <= s.width() and w.height() <= s.height() and w.minimumSize().width() <= s.width(),"
        " s.width(), w.width(), w.height()); w.close()"
    )
    environment = {**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": f"offscreen:configfile={config}"}
    command = [sys.executable, "-c", program, str(tmp_path), str(data / "swh" / "small.shard")]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("True 640 "), (done.stdout, done.stderr)


def test_the_least_size_is_agreed(window: MainWindow) -> None:
    """The window gets as small as 640 × 420, on the welcome page too."""
    assert window.minimumSize() == LEAST == QSize(640, 420)
    window.resize(10, 10)
    assert window.size() == LEAST


# --- actions ---

ALWAYS = {
    "Missions…",
    *(
        "Open…",
        "Open folder…",
        "Find key in folder…",
        "Open address…",
        "Open as…",
        "New shard…",
        "Restore tabs at start",
        "Quit",
        "Panel or file…",
        "Full screen",
        "About Shardscope",
    ),
    *("Zoom in", "Zoom out", "100 %"),
    *("As the system", "Light", "Dark", "Light, colour-blind safe", "Dark, colour-blind safe", "Dark room"),
    *("Lessons", "Glossary", "Keyboard shortcuts", "Format reference", "Offsets in decimal", "Reduced motion"),
    "Save picture of the window…",
}


def menu_actions(window: MainWindow) -> list[QAction]:
    """Every action of the menus, but recent files and samples, which are places to open."""
    found: list[QAction] = []

    def walk(actions: list[QAction]) -> None:
        for action in actions:
            menu = action.menu()
            if menu in (window.actions_.recent, window.actions_.samples):
                continue
            if menu is not None:
                walk(menu.actions())  # type: ignore[attr-defined]
            elif not action.isSeparator():
                found.append(action)

    walk(window.menuBar().actions())
    return found


def test_what_needs_a_file_is_off_without_one(window: MainWindow) -> None:
    """On the welcome page exactly those actions can be chosen that make sense without a file."""
    assert {action.text().replace("&", "") for action in menu_actions(window) if action.isEnabled()} == ALWAYS
    assert not window.hex.address.isEnabled()
    for button in buttons(window):
        assert not button.isEnabled()


def test_with_a_file_actions_are_on_and_off_again(small: MainWindow) -> None:
    """A file turns them on, closing it turns them off."""
    enabled = {action.text().replace("&", "") for action in menu_actions(small) if action.isEnabled()}
    assert {"Go to …", "Find …", "Reload", "Close", "Verify content", "Look up key…", "Default layout"} <= enabled
    small.session.close()
    enabled = {action.text().replace("&", "") for action in menu_actions(small) if action.isEnabled()}
    assert enabled == ALWAYS | {"Reopen closed tab"}


def test_keys_of_menus_work_everywhere(small: MainWindow) -> None:
    """Every shortcut of a menu belongs to the window, not to one part of it."""
    for action in menu_actions(small):
        if not action.shortcut().isEmpty():
            assert action.shortcutContext() is Qt.ShortcutContext.WindowShortcut, action.text()


@pytest.mark.thorough
@pytest.mark.parametrize("line", ["addressField", "traceKey"])
def test_lines_leave_the_keys_of_menus_alone(small: MainWindow, qtbot: QtBot, line: str) -> None:
    """Ctrl+D shows decoded bytes, also while a key is typed, where lines would take it for a letter to delete."""
    field = small.findChild(QLineEdit, line)
    assert field is not None
    small.to_trace() if line == "traceKey" else small.hex.address.start()
    field.setText("abc")
    field.setCursorPosition(0)
    action = small.hex.actions_.decoded
    action.setEnabled(True)
    with qtbot.waitSignal(action.triggered, timeout=1000):
        QTest.keyClick(field, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert field.text() == "abc"


@pytest.mark.thorough
def test_full_screen_and_back(small: MainWindow) -> None:
    """Shift+F11 fills the screen, Escape leaves it."""
    assert small.actions_.full_screen.shortcut().toString() == "Shift+F11"
    small.actions_.full_screen.trigger()
    assert small.isFullScreen()
    QTest.keyClick(small.hex.view, Qt.Key.Key_Escape)
    assert not small.isFullScreen()


@pytest.mark.thorough
def test_focus_never_selects(small: MainWindow, qtbot: QtBot) -> None:
    """Going to a part by its key leaves the selection as it is."""
    small.session.select_span(Span("", 700, 701))
    settle(small, 40)
    before = small.session.selection.span
    for name in ("structure", "inspector", "trace", "objects", "findings", "transfers", "places"):
        small.show_part(name, focus=True)
        QTest.keyClick(small.hex.view if name == "places" else small.focusWidget(), Qt.Key.Key_Tab)
        settle(small, 40)
        assert small.session.selection.span == before, name


# --- texts ---


@pytest.mark.thorough
def test_long_texts_are_cut_at_the_end(small: MainWindow, qtbot: QtBot) -> None:
    """The status line shows the beginning of a long text, and copies the whole."""
    small.session.message.emit("begins " + "and goes on " * 60 + "ends")
    qtbot.wait(10)
    note = small.line.note
    assert note.seen.startswith("begins")
    assert note.seen.endswith("…")


def test_parts_have_focus_rings(small: MainWindow) -> None:
    """Tables, trees, lists, lines and buttons are drawn otherwise while they have the keyboard."""
    sheet = QWidget.styleSheet(small) or ""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    sheet += application.styleSheet()
    for kind in ("QTreeView", "QTableView", "QListView", "QLineEdit", "QPushButton", "QToolButton", "QComboBox"):
        assert f"{kind}:focus" in sheet
    assert isinstance(small.objects.table, ObjectTable)


# --- what the window says ---


def test_every_remedy_is_said_in_words_of_the_window() -> None:
    """For each remedy there is a sentence that names no option of the command line or the library."""
    assert set(ADVICE) == set(Remedy)
    for remedy in Remedy:
        said = plain_words(ShardError("It cannot be read", remedy=remedy))
        assert said.startswith("It cannot be read. ")
        assert said.endswith(".")
        assert "--" not in said
        assert "=" not in said
    assert plain_words(FormatError("Cut off", span=Span("", 3, 5))) == "Cut off (0x3–0x4 · 2 bytes)"


def test_a_tombstoned_object_says_what_to_do_here(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Nothing that the window shows of a deleted object speaks of options."""
    opened(window, qtbot, next((data / "des" / "sidecar").glob("*.des")))
    for row in range(3):
        window.session.select_row(row)
        settle(window, 40)
        for label in window.findChildren(QLabel):
            assert "deleted=True" not in label.text()
            assert "--deleted" not in label.text()


def test_a_wrong_specification_says_so(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """What was given by hand is checked against the bytes, and the first thing that does not fit is named."""
    spec = {
        "@type": "neuroglancer_uint64_sharded_v1",
        "hash": "identity",
        "preshift_bits": 0,
        "minishard_bits": 1,
        "shard_bits": 2,
        "minishard_index_encoding": "raw",
        "data_encoding": "raw",
    }
    path = data / "neuroglancer" / "bare_shard" / "0.shard"
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.session.open(OpenRequest(str(path), "neuroglancer", {"spec": spec}))
    qtbot.waitUntil(lambda: window.notices.text.startswith("The specification does not match the file: "))
    assert "minishard 0" in window.notices.text
    assert window.notices.button.text() == "Change…"
    settle(window, 40)


def test_sample_cards_have_their_strips(window: MainWindow, qtbot: QtBot) -> None:
    """Each card draws the sections of its sample; the page scrolls in the smallest window."""
    window.resize(LEAST)
    cards = window.welcome.samples.cards
    qtbot.waitUntil(lambda: all(card.parts for card in cards), timeout=20_000)
    assert cards[0].parts[0].role is SectionRole.HEADER
    for card in cards:
        for text in card.findChildren(WrapText):
            assert text.height() >= text.heightForWidth(text.width())
    assert window.welcome.verticalScrollBar().maximum() > 0
    assert not window.welcome.horizontalScrollBar().isVisible()
