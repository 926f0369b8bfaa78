"""Every action has a state in which it is enabled, and does then what it says: one row of the table for each."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLineEdit,
    QMenu,
    QToolBar,
    QWidget,
    QWidgetAction,
)
from pytestqt.qtbot import QtBot

from shardcore import Depth, Span
from shardcore.teaching import resources
from shardcore.teaching.lessons.library import lessons_of
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.session.jobs import Job
from shardscope.session.session import IndexState
from shardscope.shell.lecture import LectureActions, LectureScreen
from shardscope.shell.main_window import MainWindow
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from shardscope.views.notes.panel import NotesPanel
from shardscope.widgets import fonts
from shardscope.widgets.elided import Elided
from tests.remote.servers import RangeServer

Does = Callable[[MainWindow], object]
"""Whether an action has done what it says: false before it is triggered, true afterwards."""

Prepare = Callable[[MainWindow], object]

STEP = 1
"""A step of the first lesson; its answer is shown before the next one."""


@dataclass(frozen=True)
class Row:
    name: str
    does: Does
    prepare: Prepare = lambda window: None


# --- what actions do, by kind ---


def dialog(kind: str) -> Does:
    return lambda window: any(type(one).__name__ == kind and one.isVisible() for one in window.findChildren(QDialog))


def clipboard() -> QMimeData:
    return cast("QMimeData | None", QGuiApplication.clipboard().mimeData()) or QMimeData()


def copies(text: str) -> Does:
    return lambda _: text in clipboard().text()


def selects(start: int, stop: int) -> Does:
    return lambda window: window.session.selection.span == Span("", start, stop)


def brings(name: str) -> Does:
    return lambda window: window.panels.in_front(name)


def away(name: str) -> Prepare:
    def hide(window: MainWindow) -> None:
        window.panels.by_name[name].hide()
        QApplication.processEvents()

    return hide


def sandbox_has(count: int) -> Does:
    return lambda window: window.sandbox_shell.sandbox.on and len(window.sandbox_shell.sandbox.changes) == count


def at(start: int, stop: int) -> Prepare:
    def select(window: MainWindow) -> None:
        window.session.select_span(Span("", start, stop))
        settle(window, 20)

    return select


def noted(window: MainWindow) -> None:
    window.session.notes.add(Span("", 72, 80), "here")
    settle(window, 40)
    at(100, 101)(window)


def note_chosen(window: MainWindow) -> None:
    noted(window)
    window.panels.panel(NotesPanel).table.selectRow(0)
    settle(window, 20)


def note_deleted(window: MainWindow) -> None:
    note_chosen(window)
    window.session.notes.remove(window.session.notes.all)
    settle(window, 40)


def search(window: MainWindow) -> None:
    window.hex.search.start()
    window.hex.search.look_for("Hex", "00 00 02")
    settle(window, 20)
    at(35, 36)(window)


def moved(window: MainWindow) -> bool:
    return window.session.selection.span not in (None, Span("", 35, 36))


def two_places(window: MainWindow) -> None:
    at(40, 48)(window)
    at(4000, 4008)(window)


def flip(window: MainWindow) -> None:
    window.sandbox_shell.sandbox.start_over()
    settle(window, 20)
    at(35, 36)(window)
    window.sandbox_shell.sandbox.flip(0)
    settle(window, 20)


def undone(window: MainWindow) -> None:
    flip(window)
    window.sandbox_shell.sandbox.undo()
    settle(window, 20)


def unchanged(start: int, stop: int) -> Prepare:
    def prepare(window: MainWindow) -> None:
        window.sandbox_shell.sandbox.start_over()
        settle(window, 20)
        at(start, stop)(window)

    return prepare


def typed(window: MainWindow) -> None:
    window.changing.switch.allow(True)
    window.changing.typed.discard()
    window.hex.view.setFocus()
    window.hex.state.move_caret(1500)
    for letter in "de":
        QTest.keyClick(window.hex.view, letter)


def typing_undone(window: MainWindow) -> None:
    typed(window)
    window.changing.typed.undo()


def typed_bytes(count: int) -> Does:
    return lambda window: window.changing.typed.count == count


def with_hits(window: MainWindow) -> None:
    window.sandbox_shell.sandbox.start_over()
    settle(window, 20)
    search(window)
    window.hex.search.look()
    settle(window, 60)


def with_clipboard(window: MainWindow) -> None:
    unchanged(35, 36)(window)
    window.hex.view.setFocus()
    QGuiApplication.clipboard().setText("ff ff")


def edited(window: MainWindow) -> None:
    window.changing.switch.allow(True)
    window.objects.table.selectRow(2)
    window.changing.actions.verbs["delete", False].trigger()
    settle(window, 40)
    sheet = window.changing.editor.sheet
    assert sheet is not None
    sheet.apply.click()
    settle(window, 60)
    window.changing.switch.allow(True)
    settle(window, 20)


def allow(window: MainWindow) -> None:
    window.changing.switch.allow(True)
    window.objects.table.selectRow(0)
    settle(window, 20)


def flag(read: Callable[[MainWindow], object]) -> Callable[[], tuple[Prepare, Does]]:
    def both() -> tuple[Prepare, Does]:
        before: list[object] = []
        return (lambda window: before.append(read(window))), (lambda window: read(window) != before[-1])

    return both


def changing(name: str, read: Callable[[MainWindow], object]) -> Row:
    prepare, does = flag(read)()
    return Row(name, does, prepare)


def theme(name: str, other: str) -> Row:
    titles = {
        "system": "Follow system",
        "light": "Light",
        "dark": "Dark",
        "light-safe": "Light, colour-blind safe",
        "dark-safe": "Dark, colour-blind safe",
        "dark-room": "Dark room",
    }
    path = f"View > Theme > {titles[name]}"
    return Row(path, lambda window: window.settings.theme == name, lambda window: window.set_theme(other))


def _closed_again(screen: LectureScreen | None) -> bool:
    return screen is not None and screen.close()


def focused(widget: Callable[[MainWindow], QWidget]) -> Does:
    return lambda window: window.focusWidget() is widget(window)


def shown(window: MainWindow, name: str) -> bool:
    return not window.panels.by_name[name].isHidden()


def endless(window: MainWindow) -> None:
    def wait(job: Job) -> None:
        while True:
            job.check()
            threading.Event().wait(0.005)

    window.jobs.submit(wait, title="Waits")


def look_up(step: int) -> Prepare:
    def prepare(window: MainWindow) -> None:
        shard = window.session.shard
        assert shard is not None
        window.show_part("trace")
        window.session.look_up(next(key for key in shard.objects.keys[:5] if key))
        settle(window, 40)
        window.session.go_to_step(step)
        settle(window, 20)

    return prepare


def lesson(step: int) -> Prepare:
    def prepare(window: MainWindow) -> None:
        window.show_part("lessons")
        player = window.panels.panel(LessonPanel).player
        player.start(replace(lessons_of("swh")[0], sample=""))
        settle(window, 60)
        player.go(step)
        settle(window, 40)
        player.show_answer()
        settle(window, 40)

    return prepare


def lesson_step(number: int) -> Does:
    return lambda window: window.panels.panel(LessonPanel).player.number == number


def widen(window: MainWindow) -> None:
    window.objects.table.setColumnWidth(1, 399)


def choose_column(window: MainWindow) -> None:
    window.objects.columns.choose("state", False)


def forward(window: MainWindow) -> None:
    two_places(window)
    window.session.back()
    settle(window, 20)


def copied_file(_: MainWindow) -> bool:
    return [Path(url.toLocalFile()).is_file() for url in clipboard().urls()] == [True]


def open_(window: MainWindow, path: str | Path) -> None:
    window.open(str(path))
    settle(window, 60)


def close_tab(window: MainWindow) -> None:
    window.session.close()
    settle(window, 40)


def to_row(row: int) -> Prepare:
    def prepare(window: MainWindow) -> None:
        window.changing.switch.allow(True)
        window.objects.table.selectRow(row)
        settle(window, 20)

    return prepare


FILE_DIALOG = dialog("QFileDialog")

WELCOME = (
    Row("File > Open…", FILE_DIALOG),
    Row("File > Open folder…", FILE_DIALOG),
    Row("File > Open address…", dialog("AddressDialog")),
    Row("File > Open as…", dialog("OpenAsDialog")),
    Row("File > New shard…", dialog("NewShardDialog")),
    *(
        Row(f"File > Open sample > {one.title}", lambda window: window.session.shard is not None)
        for one in resources.main_samples()
    ),
    theme("dark", "light"),
    theme("light", "dark"),
    theme("dark-safe", "light"),
    theme("light-safe", "dark"),
    theme("dark-room", "light"),
    theme("system", "dark"),
    changing("View > Reduced motion", lambda window: window.settings.reduced_motion),
    changing("View > Full screen", lambda window: window.isFullScreen()),
    changing("View > Zoom in", lambda window: window.settings.zoom),
    changing("View > Zoom out", lambda window: window.settings.zoom),
    Row("View > 100 %", lambda _: fonts.zoom() == 1, lambda window: window.zoom(larger=True)),
    Row("View > Save picture of the window…", FILE_DIALOG),
    Row("Tools > Find key in folder…", dialog("FindKeyDialog")),
    Row("Help > Keyboard shortcuts", dialog("ShortcutDialog")),
    Row("Help > About Shardscope", dialog("QMessageBox")),
    changing("File > Restore tabs at start", lambda window: window.settings.restores_tabs),
    Row("File > Quit", lambda window: not window.isVisible()),
)
"""Nothing is open."""


SWH = (
    Row("File > Convert to…", dialog("NewShardDialog")),
    Row("File > Diff with > File…", FILE_DIALOG),
    Row("File > Diff with > Folder…", FILE_DIALOG),
    Row("File > Diff with > Address…", dialog("AddressDialog")),
    Row("File > Extract…", dialog("ExtractDialog")),
    Row("File > Extract all…", dialog("ExtractDialog")),
    Row("File > Reopen with options…", dialog("OpenAsDialog")),
    changing("File > Reload", lambda window: id(window.session.shard)),
    Row("Edit > Copy", copies("00"), at(32, 40)),
    Row("Edit > Copy as > Copy as hex", copies("53 57 48 53"), at(0, 8)),
    Row("Edit > Copy as > Copy as C array", copies("0x53"), at(0, 8)),
    Row("Edit > Copy as > Copy as Python bytes", copies(r"\x53\x57\x48\x53"), at(0, 8)),
    Row("Edit > Copy as > Copy as base64", copies("U1dIU2hhcmQ="), at(0, 8)),
    Row("Edit > Copy as > Copy as shardcore command", copies("shardcore "), at(0, 8)),
    Row("Edit > Copy as > Copy as Python lines", copies("import shardcore"), at(0, 8)),
    Row("Edit > Copy offset", copies("0x20"), at(32, 40)),
    Row("Edit > Copy keys", lambda _: len(clipboard().text()) == 64),
    Row("Edit > Copy rows", lambda _: clipboard().text().startswith("row\tkey\t")),
    Row("Edit > Copy as JSON", copies('"key": "')),
    Row(
        "Edit > Copy objects as files",
        copied_file,
    ),
    Row("Edit > Select field", selects(32, 40), at(35, 36)),
    Row("Edit > Select record", selects(0, 88), at(35, 36)),
    Row("Edit > Select section", selects(88, 512), at(100, 101)),
    Row("Edit > Add note…", dialog("NoteDialog"), at(32, 40)),
    Row("Edit > Find …", lambda window: window.hex.search.isVisible(), lambda window: window.hex.search.close_bar()),
    Row(
        "Edit > Find these bytes",
        lambda window: window.hex.search.field.text() == "53 57",
        at(0, 2),
    ),
    Row("Edit > Find next", moved, search),
    Row("Edit > Find previous", moved, search),
    changing("View > Drawing", lambda window: window.hex.drawings.in_front),
    Row("View > Copy drawing", lambda _: clipboard().hasImage()),
    Row("View > Save drawing…", FILE_DIALOG),
    changing("View > Role letters", lambda window: window.hex.state.letters),
    changing("View > Fields beside the bytes", lambda window: window.settings.fields_shown),
    changing("View > Fold rows of equal bytes", lambda window: (window.hex.state.folding, window.settings.rows_folded)),
    changing("View > Offsets in decimal", lambda window: window.settings.decimal_offsets),
    changing("View > Larger bytes", lambda window: window.hex.state.zoom),
    changing("View > Smaller bytes", lambda window: window.hex.state.zoom),
    Row("View > Lecture", lambda window: _closed_again(window.findChild(LectureScreen))),
    *(
        changing(f"View > Panels > {panel.shown_title}", lambda window, name=panel.name: shown(window, name))
        for panel in PANELS
    ),
    Row("View > Default layout", brings("objects"), lambda window: window.panels.by_name["objects"].hide()),
    Row("Go > Go to …", lambda window: (window.focusWidget() or window).objectName() == "addressField"),
    Row("Notes > Edit…", dialog("NoteDialog"), note_chosen),
    Row("Notes > Delete", lambda window: not window.session.notes.all, note_chosen),
    Row("Notes > Undo delete", lambda window: bool(window.session.notes.all), note_deleted),
    Row("Go > Next note", selects(72, 80), noted),
    Row("Go > Previous note", selects(72, 80), noted),
    Row("Go > Follow pointer", selects(4465, 4985), at(64, 72)),
    Row("Go > Find references", lambda window: window.session.question is not None, at(512, 513)),
    Row("Go > Open inside", lambda window: "Cannot open" in window.notices.text, at(512, 513)),
    Row("Go > Panel or file…", lambda _: QApplication.activePopupWidget() is not None),
    Row("Go > Back", selects(40, 48), two_places),
    Row("Go > Forward", selects(4000, 4008), forward),
    Row("Go > Filter objects", focused(lambda window: window.objects.filter)),
    Row("Go > Look up key…", brings("trace"), away("trace")),
    *(Row(f"Panels > {panel.shown_title}", brings(panel.name), away(panel.name)) for panel in PANELS),
    *(
        Row(
            f"Tools > Verify {depth.value}",
            lambda window, depth=depth: window.session.report is not None and window.session.report.depth is depth,
        )
        for depth in Depth
    ),
    Row("Tools > Verify selected objects", lambda window: "sha256" in window.notices.text),
    Row("Tools > Look up", lambda window: window.session.walk.steps, lambda window: window.session.look_up("")),
    Row("Tools > Stop all jobs", lambda window: not window.transfers.model.running, endless),
    Row("Tools > Recover objects…", dialog("RecoverDialog")),
    Row("Learn > Missions…", brings("lessons"), away("lessons")),
    Row("Learn > Lessons", brings("lessons"), away("lessons")),
    Row("Help > Format reference", brings("formatPage"), away("formatPage")),
    Row("Help > Glossary", brings("formatPage"), away("formatPage")),
    Row("Objects > Choose columns automatically", lambda window: not window.settings.columns("swh"), choose_column),
    Row(
        "Objects > Go to its bytes",
        lambda window: window.focusWidget() is window.hex.view,
        lambda window: window.objects.table.setFocus(),
    ),
    Row("Objects > Open inside", lambda window: "Cannot open" in window.notices.text),
    Row("Objects > Find references", lambda window: window.session.question is not None),
    changing("Objects > Hide unused and deleted rows", lambda window: window.objects.filter.text()),
    Row(
        "Objects > Reset column widths",
        lambda window: window.objects.table.columnWidth(1) != 399,
        widen,
    ),
    Row("Lookup > Next step", lambda window: window.session.walk.step == 1, look_up(0)),
    Row("Lookup > Previous step", lambda window: window.session.walk.step == 0, look_up(1)),
    Row("Lookup > Play", lambda window: window.session.walk.step > 0, look_up(0)),
    Row("Lessons > Next", lesson_step(STEP + 1), lesson(STEP)),
    Row("Lessons > Back", lesson_step(STEP), lesson(STEP + 1)),
    changing("Edit > Allow changes to this file", lambda window: window.changing.switch.allowed),
    Row("Edit > Delete objects…", dialog("EditDialog"), allow),
    Row("Edit > Truncate…", dialog("EditDialog"), allow),
    Row("Edit > Write typed bytes…", dialog("EditDialog"), typed),
    Row("Edit > Undo typing", typed_bytes(0), typed),
    Row("Edit > Redo typing", typed_bytes(1), typing_undone),
    Row("Edit > Discard typed bytes", typed_bytes(0), typed),
    Row("Edit > Undo last edit…", dialog("EditDialog"), edited),
    Row("File > Open recent > Clear", lambda window: window.settings.recent == []),
    Row("File > Close", lambda window: window.session.shard is None),
)
"""A shard that may be changed, with an object selected."""

SANDBOX = (
    Row("Tools > Sandbox > Flip a bit…", brings("sandbox"), away("sandbox")),
    *(Row(f"Tools > Sandbox > Flip one bit > Flip bit {n}", sandbox_has(1), unchanged(35, 36)) for n in range(8)),
    Row("Tools > Sandbox > Cut the selected bytes out", sandbox_has(1), unchanged(600, 610)),
    Row("Tools > Sandbox > Cut from here to the end", sandbox_has(1), unchanged(4000, 4001)),
    Row("Tools > Sandbox > Undo the last change", sandbox_has(0), flip),
    Row("Tools > Sandbox > Redo", sandbox_has(1), undone),
    Row("Tools > Sandbox > Start over", sandbox_has(0), flip),
    Row("Tools > Sandbox > Save as a copy…", FILE_DIALOG, flip),
    Row("Edit > Paste over", sandbox_has(1), with_clipboard),
    Row("Edit > Fill…", dialog("QInputDialog"), unchanged(35, 40)),
    Row("Edit > Replace all hits…", dialog("QInputDialog"), with_hits),
    Row(
        "Tools > Sandbox > Use sandbox",
        lambda window: not window.sandbox_shell.sandbox.on,
        lambda window: (window.sandbox_shell.sandbox.start_over(), settle(window, 20)),
    ),
)
"""The sandbox of a shard."""


OTHERS = {
    "bloscpack/array.blp": (Row("View > Show decoded bytes", lambda window: window.hex.state.name, at(64, 65)),),
    "bloscpack/append_exact.blp": (Row("Edit > Append…", dialog("EditDialog"), to_row(0)),),
    "des/sidecar/20261103_51_0000.des": (
        Row("Edit > Tombstone objects…", dialog("EditDialog"), to_row(0)),
        Row("Edit > Remove tombstones…", dialog("EditDialog"), to_row(1)),
    ),
    "mdb/REKEY": (Row("Edit > Re-key into a new file…", dialog("RekeyDialog"), to_row(0)),),
}
"""What only some files offer."""

UNREAD = (Row("Tools > Load index", lambda window: window.session.index_state is IndexState.LOADED),)
"""The index is not read by itself."""

SERVED = (Row("Edit > Copy as > Copy as curl command", copies("curl "), at(0, 8)),)
"""A file of a server."""


# --- all of them ---

OWNERS = {"NotesPanel": "Notes", "TracePanel": "Lookup", "LessonPanel": "Lessons", "MainWindow": "Panels"}
DYNAMIC = ("File > Open recent > /",)
"""Entries that the user's own files make; the test of recent files has them."""


def in_menus(menu: QWidget, path: Sequence[str] = ()) -> Iterator[tuple[str, QAction]]:
    for action in menu.actions():
        inner = cast("QMenu | None", action.menu())
        name = (*path, action.text().replace("&", "").partition("\t")[0])
        if inner is not None:
            yield from in_menus(inner, name)
        elif not action.isSeparator():
            yield " > ".join(name), action


def actions(window: MainWindow) -> dict[str, QAction]:
    found: dict[str, QAction] = {}
    there: set[int] = set()
    for name, action in in_menus(window.menuBar()):
        # Some are in two menus.
        if id(action) not in there:
            found[name] = action
            there.add(id(action))
    for action in window.findChildren(QAction):
        owner = action.parent()
        own = isinstance(owner, (QLineEdit, QToolBar, QMenu, Elided, LectureActions))
        own = own or isinstance(action, QWidgetAction)
        if id(action) in there or own or action.isSeparator() or action.menu() is not None or not action.text():
            continue
        found[f"{OWNERS.get(type(owner).__name__, 'Objects')} > {action.text().replace('&', '')}"] = action
    return {name: action for name, action in found.items() if not name.startswith(DYNAMIC)}


def close_dialogs(window: MainWindow) -> None:
    for one in window.findChildren(QDialog):
        one.close()
    if (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
    QApplication.processEvents()


def run(window: MainWindow, rows: Sequence[Row], reset: Prepare, qtbot: QtBot) -> None:
    named, wrong = actions(window), []
    for row in rows:
        reset(window)
        row.prepare(window)
        action = actions(window).get(row.name) or named[row.name]
        QApplication.processEvents()
        try:
            qtbot.waitUntil(action.isEnabled)
            assert action.isVisible()
            assert not row.does(window), "is so before"
            action.trigger()
            qtbot.waitUntil(lambda row=row: bool(row.does(window)))
        except (AssertionError, TimeoutError) as error:
            why = "is not enabled" if not action.isEnabled() else "does not do it" if not str(error) else str(error)
            wrong.append(f"{row.name}: {why.splitlines()[0]}")
        except Exception as error:  # noqa: BLE001 - pytest-qt's own
            why = "does not do it" if action.isEnabled() else "is not enabled"
            wrong.append(f"{row.name}: {why}: {type(error).__name__}")
        close_dialogs(window)
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def shown_tab(window: MainWindow) -> int:
    return window.session.documents.index(window.session.document)


TABS = (
    changing("Go > Next tab", shown_tab),
    changing("Go > Previous tab", shown_tab),
    Row("File > Reopen closed tab", lambda window: len(window.session.documents) == 2, close_tab),
)
"""Two files are open."""

TABLES = (WELCOME, SWH, SANDBOX, *OTHERS.values(), UNREAD, SERVED, TABS)


def test_no_action_is_left_out(window: MainWindow, data: Path) -> None:
    names = [row.name for table in TABLES for row in table]
    assert len(set(names)) == len(names)
    open_(window, data / "swh" / "small.shard")
    assert set(actions(window)) == set(names)


@pytest.mark.thorough
def test_with_nothing_open(window: MainWindow, qtbot: QtBot) -> None:
    """Opening, making and learning need nothing."""
    run(window, WELCOME, lambda window: window.session.close(), qtbot)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_with_a_shard(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """What is done with bytes, objects, panels and lookups."""
    window.resize(1200, 800)
    path = Path(shutil.copy(data / "swh" / "small.shard", tmp_path))
    open_(window, path)

    def reset(window: MainWindow) -> None:
        QGuiApplication.clipboard().clear()
        window.notices.clear()
        window.session.clear_question()
        at(35, 36)(window)
        window.objects.table.clearSelection()
        window.objects.table.selectRow(0)
        settle(window, 20)

    run(window, SWH, reset, qtbot)


@pytest.mark.thorough
def test_with_two_tabs(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """What goes from tab to tab."""
    open_(window, data / "swh" / "small.shard")
    open_(window, data / "bloscpack" / "meta_1.blp")
    run(window, TABS, lambda window: None, qtbot)


@pytest.mark.thorough
def test_in_the_sandbox(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """What is changed in memory."""
    open_(window, shutil.copy(data / "swh" / "small.shard", tmp_path))
    named = actions(window)
    named["Tools > Sandbox > Use sandbox"].trigger()
    settle(window, 60)
    assert window.sandbox_shell.sandbox.on
    run(window, SANDBOX, lambda window: None, qtbot)


@pytest.mark.parametrize("name", OTHERS)
def test_with_other_files(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path, name: str) -> None:
    """What only some formats offer."""
    path = data / name
    if not path.exists():
        path = next((data / "mdb" / "cas" / "shard-cache").glob("e74f*.mdb"))
    copy = Path(shutil.copytree(path.parent, tmp_path / "copy")) / path.name
    open_(window, copy)
    run(window, OTHERS[name], lambda window: None, qtbot)


def test_with_an_index_that_is_not_read(
    window: MainWindow, qtbot: QtBot, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardscope.session.opened.AUTO_INDEX_BYTES", -1)
    open_(window, data / "neuroglancer" / "skeletons_murmur_gzip")
    run(window, UNREAD, lambda window: None, qtbot)


def test_with_a_file_of_a_server(window: MainWindow, qtbot: QtBot, server: RangeServer, data: Path) -> None:
    open_(window, server.put("/small.shard", data / "swh" / "small.shard"))
    run(window, SERVED, lambda window: QGuiApplication.clipboard().clear(), qtbot)
