"""Every action has a state in which it is enabled, and does then what it says: one row of the table for each."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QMenu, QToolBar, QWidget, QWidgetAction
from pytestqt.qtbot import QtBot

from shardcore import Depth, Span
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson_list import lessons_of
from shardcore.teaching.resource_paths import Role
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.session.jobs import Job
from shardscope.session.session import IndexState
from shardscope.shell.actions import LectureActions
from shardscope.shell.lecture import LectureScreen
from shardscope.shell.main_window import MainWindow
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from shardscope.views.notes import NotesPanel
from shardscope.widgets import fonts
from shardscope.widgets.elided_label import Elided
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


def sandbox_has(count: int) -> Does:
    return lambda window: window.sandbox_shell.sandbox.on and len(window.sandbox_shell.sandbox.changes) == count


def typed_bytes(count: int) -> Does:
    return lambda window: window.changing.typed.count == count


def moved(window: MainWindow) -> bool:
    return window.session.selection.span not in (None, Span("", 35, 36))


# --- what comes before ---


def then(*acts: Prepare) -> Prepare:
    def prepare(window: MainWindow) -> None:
        for act in acts:
            act(window)
            settle(window, 40)

    return prepare


def away(name: str) -> Prepare:
    return then(lambda window: window.panels.by_name[name].hide())


def at(start: int, stop: int) -> Prepare:
    return then(lambda window: window.session.select_span(Span("", start, stop)))


def unchanged(start: int, stop: int) -> Prepare:
    return then(lambda window: window.sandbox_shell.sandbox.start_over(), at(start, stop))


def to_row(row: int) -> Prepare:
    return then(lambda window: window.changing.switch.allow(True), lambda window: window.objects.table.selectRow(row))


def typed(window: MainWindow) -> None:
    window.changing.switch.allow(True)
    window.changing.typed.discard()
    window.hex.view.setFocus()
    window.hex.state.move_caret(1500)
    QTest.keyClicks(window.hex.view, "de")


def with_clipboard(window: MainWindow) -> None:
    window.hex.view.setFocus()
    QGuiApplication.clipboard().setText("ff ff")


def look_up(step: int) -> Prepare:
    return then(
        lambda window: window.show_part("trace"),
        lambda window: window.session.lookup.start(next(key for key in window.session.shard.objects.keys[:5] if key)),
        lambda window: window.session.lookup.go_to_step(step),
    )


def lesson(step: int) -> Prepare:
    return then(
        lambda window: window.show_part("lessons"),
        lambda window: player(window).start(replace(lessons_of("swh")[0], sample="")),
        lambda window: player(window).go(step),
        lambda window: player(window).show_answer(),
    )


def player(window: MainWindow) -> LessonPlayer:
    return window.panels.panel(LessonPanel).player


def lesson_step(number: int) -> Does:
    return lambda window: player(window).number == number


NOTED = then(lambda window: window.session.notes.add(Span("", 72, 80), "here"), at(100, 101))
NOTE_CHOSEN = then(NOTED, lambda window: window.panels.panel(NotesPanel).table.selectRow(0))
NOTE_DELETED = then(NOTE_CHOSEN, lambda window: window.session.notes.remove(window.session.notes.all))
SEARCH = then(
    lambda window: window.hex.search.start(),
    lambda window: window.hex.search.look_for("Hex", "00 00 02"),
    at(35, 36),
)
TWO_PLACES = then(at(40, 48), at(4000, 4008))
FLIP = then(unchanged(35, 36), lambda window: window.sandbox_shell.sandbox.flip(0))
EDITED = then(
    to_row(2),
    lambda window: window.changing.actions.verbs["delete", False].trigger(),
    lambda window: window.changing.editor.sheet.apply.click(),
    lambda window: window.changing.switch.allow(True),
)


def changing(name: str, read: Callable[[MainWindow], object]) -> Row:
    before: list[object] = []
    return Row(name, lambda window: read(window) != before[-1], lambda window: before.append(read(window)))


def theme(name: str, title: str) -> Row:
    def other(window: MainWindow) -> None:
        window.set_theme("light" if name != "light" else "dark")

    return Row(f"View > Theme > {title}", lambda window: window.settings.theme == name, other)


def shown(window: MainWindow, name: str) -> bool:
    return not window.panels.by_name[name].isHidden()


def endless(window: MainWindow) -> None:
    def wait(job: Job) -> None:
        while True:
            job.check()
            threading.Event().wait(0.005)

    window.jobs.submit(wait, title="Waits")


def copied_file(_: MainWindow) -> bool:
    return [Path(url.toLocalFile()).is_file() for url in clipboard().urls()] == [True]


def open_(window: MainWindow, path: str | Path) -> None:
    window.open(str(path))
    settle(window, 60)


def close_tab(window: MainWindow) -> None:
    window.session.close()
    settle(window, 40)


FILE_DIALOG = dialog("QFileDialog")

WELCOME = (
    Row("File > Open…", FILE_DIALOG),
    Row("File > Open folder…", FILE_DIALOG),
    Row("File > Open address…", dialog("AddressDialog")),
    Row("File > Forget access keys", lambda window: "forgotten" in window.line.note.text()),
    Row("File > Open as…", dialog("OpenAsDialog")),
    Row("File > New shard…", dialog("NewShardDialog")),
    *(
        Row(f"File > Open sample > {one.title}", lambda window: window.session.shard is not None)
        for one in resource_paths.samples()
        if one.role in (Role.MAIN, Role.FEATURED)
    ),
    theme("dark", "Dark"),
    theme("light", "Light"),
    theme("dark-safe", "Dark, colour-blind safe"),
    theme("light-safe", "Light, colour-blind safe"),
    theme("dark-room", "Dark room"),
    theme("system", "Follow system"),
    changing("View > Reduced motion", lambda window: window.settings.reduced_motion),
    changing("View > Full screen", lambda window: window.isFullScreen()),
    changing("View > Zoom in", lambda window: window.settings.zoom),
    changing("View > Zoom out", lambda window: window.settings.zoom),
    Row("View > 100 %", lambda _: fonts.zoom() == 1, lambda window: window.zoom(larger=True)),
    Row("View > Save picture of the window…", FILE_DIALOG),
    Row("Tools > Find key in folder…", dialog("FindKeyDialog")),
    *(
        Row(name, lambda window: window.palette_.isVisible(), lambda window: window.palette_.hide())
        for name in ("Go > Go to anything…", "Go > Command palette…", "Help > Keyboard shortcuts")
    ),
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
    Row("Edit > Save selected bytes as…", FILE_DIALOG),
    Row("Edit > Copy keys", lambda _: len(clipboard().text()) == 64),
    Row("Edit > Copy rows", lambda _: clipboard().text().startswith("row\tkey\t")),
    Row("Edit > Copy as JSON", copies('"key": "')),
    Row("Edit > Copy objects as files", copied_file),
    Row("Edit > Select field", selects(32, 40), at(35, 36)),
    Row("Edit > Select record", selects(0, 88), at(35, 36)),
    Row("Edit > Select section", selects(88, 512), at(100, 101)),
    Row("Edit > Add note…", dialog("NoteDialog"), at(32, 40)),
    Row("Edit > Find…", lambda window: window.hex.search.isVisible(), lambda window: window.hex.search.close_bar()),
    Row("Edit > Find these bytes", lambda window: window.hex.search.field.text() == "53 57", at(0, 2)),
    Row("Edit > Find next", moved, SEARCH),
    Row("Edit > Find previous", moved, SEARCH),
    changing("View > Drawing", lambda window: window.hex.drawings.in_front),
    Row("View > Copy drawing", lambda _: clipboard().hasImage()),
    Row("View > Save drawing…", FILE_DIALOG),
    changing("View > Role letters", lambda window: window.hex.state.letters),
    changing("View > Fields beside the bytes", lambda window: window.settings.fields_shown),
    changing("View > Fold rows of equal bytes", lambda window: (window.hex.state.folding, window.settings.rows_folded)),
    changing("View > Offsets in decimal", lambda window: window.settings.decimal_offsets),
    changing("View > Larger bytes", lambda window: window.hex.state.zoom),
    changing("View > Smaller bytes", lambda window: window.hex.state.zoom),
    Row("View > Lecture", lambda window: any(one.close() for one in window.findChildren(LectureScreen))),
    *(
        changing(f"View > Panels > {panel.shown_title}", lambda window, name=panel.name: shown(window, name))
        for panel in PANELS
    ),
    Row("View > Default layout", brings("objects"), lambda window: window.panels.by_name["objects"].hide()),
    Row("Go > Go to…", lambda window: (window.focusWidget() or window).objectName() == "addressField"),
    Row("Notes > Edit…", dialog("NoteDialog"), NOTE_CHOSEN),
    Row("Notes > Delete", lambda window: not window.session.notes.all, NOTE_CHOSEN),
    Row("Notes > Undo delete", lambda window: bool(window.session.notes.all), NOTE_DELETED),
    Row("Go > Next note", selects(72, 80), NOTED),
    Row("Go > Previous note", selects(72, 80), NOTED),
    Row("Go > Follow pointer", selects(4465, 4985), at(64, 72)),
    Row("Go > Find references", lambda window: window.session.references.question is not None, at(512, 513)),
    Row("Go > Open inside", lambda window: "Cannot open" in window.notices.text, at(512, 513)),
    Row("Go > Back", selects(40, 48), TWO_PLACES),
    Row("Go > Forward", selects(4000, 4008), then(TWO_PLACES, lambda window: window.session.selector.back())),
    Row("Go > Filter objects", lambda window: window.focusWidget() is window.objects.filter),
    Row("Go > Look up key…", brings("trace"), away("trace")),
    *(Row(f"Panels > {panel.shown_title}", brings(panel.name), away(panel.name)) for panel in PANELS),
    *(
        Row(
            f"Tools > Verify {depth.value}",
            lambda window, depth=depth: (
                window.session.verification.report is not None and window.session.verification.report.depth is depth
            ),
        )
        for depth in Depth
    ),
    Row("Tools > Verify selected objects", lambda window: "sha256" in window.notices.text),
    Row(
        "Tools > Look up",
        lambda window: window.session.lookup.walk.steps,
        lambda window: window.session.lookup.start(""),
    ),
    Row("Tools > Stop all jobs", lambda window: not window.transfers.model.running, endless),
    Row("Tools > Recover objects…", dialog("RecoverDialog")),
    Row("Learn > Missions…", brings("lessons"), away("lessons")),
    Row("Learn > Lessons", brings("lessons"), away("lessons")),
    Row("Help > Format reference", brings("formatPage"), away("formatPage")),
    Row("Help > Glossary", brings("formatPage"), away("formatPage")),
    Row("Help > Help on this panel", brings("formatPage"), away("formatPage")),
    Row(
        "Objects > Choose columns automatically",
        lambda window: not window.settings.columns("swh"),
        lambda window: window.objects.columns.choose("state", False),
    ),
    Row(
        "Objects > Go to its bytes",
        lambda window: window.focusWidget() is window.hex.view,
        lambda window: window.objects.table.setFocus(),
    ),
    Row("Objects > Open inside", lambda window: "Cannot open" in window.notices.text),
    Row("Objects > Find references", lambda window: window.session.references.question is not None),
    changing("Objects > Hide unused and deleted rows", lambda window: window.objects.filter.text()),
    Row(
        "Objects > Reset column widths",
        lambda window: window.objects.table.columnWidth(1) != 399,
        lambda window: window.objects.table.setColumnWidth(1, 399),
    ),
    Row("Lookup > Next step", lambda window: window.session.lookup.walk.step == 1, look_up(0)),
    Row("Lookup > Previous step", lambda window: window.session.lookup.walk.step == 0, look_up(1)),
    Row("Lookup > Play", lambda window: window.session.lookup.walk.step > 0, look_up(0)),
    Row("Lessons > Next", lesson_step(STEP + 1), lesson(STEP)),
    Row("Lessons > Back", lesson_step(STEP), lesson(STEP + 1)),
    changing("Edit > Allow changes to this file", lambda window: window.changing.switch.allowed),
    Row("Edit > Delete objects…", dialog("EditDialog"), to_row(0)),
    Row("Edit > Truncate…", dialog("EditDialog"), to_row(0)),
    Row("Edit > Write typed bytes…", dialog("EditDialog"), typed),
    Row("Edit > Undo", typed_bytes(0), typed),
    Row("Edit > Redo", typed_bytes(1), then(typed, lambda window: window.changing.typed.undo())),
    Row("Edit > Discard typed bytes", typed_bytes(0), typed),
    Row("Edit > Undo", lambda window: "delete" in window.changing.undoing.redo.text(), EDITED),
    Row("File > Open recent > Clear", lambda window: window.settings.recent == []),
    Row("File > Close", lambda window: window.session.shard is None),
)
"""A shard that may be changed, with an object selected."""

SANDBOX = (
    Row("Tools > Sandbox > Flip a bit…", brings("sandbox"), away("sandbox")),
    *(Row(f"Tools > Sandbox > Flip one bit > Flip bit {n}", sandbox_has(1), unchanged(35, 36)) for n in range(8)),
    Row("Tools > Sandbox > Cut the selected bytes out", sandbox_has(1), unchanged(600, 610)),
    Row("Tools > Sandbox > Cut from here to the end", sandbox_has(1), unchanged(4000, 4001)),
    Row("Edit > Undo", sandbox_has(0), FLIP),
    Row("Edit > Redo", sandbox_has(1), then(FLIP, lambda window: window.sandbox_shell.sandbox.undo())),
    Row("Tools > Sandbox > Start over", sandbox_has(0), FLIP),
    Row("Tools > Sandbox > Save as a copy…", FILE_DIALOG, FLIP),
    Row("Edit > Paste over", sandbox_has(1), then(unchanged(35, 36), with_clipboard)),
    Row("Edit > Fill…", dialog("QInputDialog"), unchanged(35, 40)),
    Row(
        "Edit > Replace all hits…",
        dialog("QInputDialog"),
        then(unchanged(35, 36), SEARCH, lambda window: window.hex.search.look()),
    ),
    Row("Tools > Sandbox > Use sandbox", lambda window: not window.sandbox_shell.sandbox.on, unchanged(35, 36)),
)
"""The sandbox of a shard."""


OTHERS = {
    "bloscpack/array.blp": (Row("View > Show decoded bytes", lambda window: window.hex.state.name, at(64, 65)),),
    "bloscpack/append_exact.blp": (Row("Edit > Append…", dialog("EditDialog"), to_row(0)),),
    "des/sidecar/20261103_51_0000.des": (
        Row("Edit > Tombstone objects…", dialog("EditDialog"), to_row(0)),
        Row("Edit > Remove tombstones…", dialog("EditDialog"), to_row(1)),
    ),
    "mdb/cas/shard-cache/e74f*.mdb": (Row("Edit > Re-key into a new file…", dialog("RekeyDialog"), to_row(0)),),
}
"""What only some files offer."""

UNREAD = (Row("Tools > Load index", lambda window: window.session.index.state is IndexState.LOADED),)
"""The index is not read by itself."""

SERVED = (Row("Edit > Copy as > Copy as curl command", copies("curl "), at(0, 8)),)
"""A file of a server."""


# --- all of them ---

OWNERS = {"NotesPanel": "Notes", "TracePanel": "Lookup", "LessonPanel": "Lessons", "MainWindow": "Panels"}
DYNAMIC = ("File > Open recent > /", "File > Open sample > More samples of ")
"""Entries of the user's own files, and further samples, each of which is opened by another test."""


def in_menus(menu: QWidget, path: Sequence[str] = ()) -> Iterator[tuple[str, QAction]]:
    for action in menu.actions():
        inner = cast("QMenu | None", action.menu())
        name = (*path, re.split(r"\t|: ", action.text().replace("&", ""))[0])
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
        except Exception as error:  # noqa: BLE001 - also pytest-qt's own
            why = "does not do it" if action.isEnabled() else "is not enabled"
            wrong.append(f"{row.name}: {why}: {error!r}")
        close_dialogs(window)
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def shown_tab(window: MainWindow) -> int:
    return window.session.documents.all.index(window.session.document)


TABS = (
    changing("Go > Next tab", shown_tab),
    changing("Go > Previous tab", shown_tab),
    Row("File > Reopen closed tab", lambda window: len(window.session.documents.all) == 2, close_tab),
    Row("Help > Welcome page", lambda window: window.welcome.isVisible()),
)
"""Two files are open."""

TABLES = (WELCOME, SWH, SANDBOX, *OTHERS.values(), UNREAD, SERVED, TABS)


ALWAYS = {
    *(
        "Learn > Missions…",
        "Learn > Lessons",
        "Help > Format reference",
        "Help > Glossary",
        "Help > Help on this panel",
    ),
    "View > Offsets in decimal",
}
"""Enabled with nothing open, beside `WELCOME`; tested with a shard."""


def enabled(window: MainWindow) -> set[str]:
    return {name for name, action in in_menus(window.menuBar()) if action.isEnabled() and not name.startswith(DYNAMIC)}


def test_no_action_is_left_out(window: MainWindow, data: Path) -> None:
    names = [row.name for table in TABLES for row in table]
    assert {name for name in names if names.count(name) > 1} == {"Edit > Undo", "Edit > Redo"}, (
        "of sandbox, bytes, file"
    )
    always = {row.name for row in WELCOME} | ALWAYS
    assert enabled(window) == always
    open_(window, data / "swh" / "small.shard")
    assert set(actions(window)) == set(names)
    assert {"Go > Go to…", "Edit > Find…", "File > Reload", "File > Close"} <= enabled(window)
    close_tab(window)
    assert enabled(window) == always | {"File > Reopen closed tab", "File > Open recent > Clear"}
    for name, action in in_menus(window.menuBar()):
        in_window = action.shortcutContext() is Qt.ShortcutContext.WindowShortcut
        assert action.shortcut().isEmpty() or in_window, f"the key of {name} works everywhere"


@pytest.mark.thorough
def test_with_nothing_open(window: MainWindow, qtbot: QtBot) -> None:
    """Opening, making and learning need nothing."""
    run(window, WELCOME, lambda window: window.session.close(), qtbot)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_with_a_shard(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """What is done with bytes, objects, panels and lookups."""
    window.resize(1200, 800)
    open_(window, shutil.copy(data / "swh" / "small.shard", tmp_path))

    def reset(window: MainWindow) -> None:
        QGuiApplication.clipboard().clear()
        window.notices.clear()
        window.session.references.clear()
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
    actions(window)["Tools > Sandbox > Use sandbox"].trigger()
    settle(window, 60)
    run(window, SANDBOX, lambda window: None, qtbot)


@pytest.mark.parametrize("name", OTHERS)
def test_with_other_files(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path, name: str) -> None:
    """What only some formats offer."""
    path = next(data.glob(name))
    open_(window, shutil.copytree(path.parent, tmp_path / "copy") / path.name)
    run(window, OTHERS[name], lambda window: None, qtbot)


def test_with_an_index_that_is_not_read(
    window: MainWindow, qtbot: QtBot, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardscope.session.index.AUTO_INDEX_BYTES", -1)
    open_(window, data / "neuroglancer" / "skeletons_murmur_gzip")
    run(window, UNREAD, lambda window: None, qtbot)


def test_with_a_file_of_a_server(window: MainWindow, qtbot: QtBot, server: RangeServer, data: Path) -> None:
    open_(window, server.put("/small.shard", data / "swh" / "small.shard"))
    run(window, SERVED, lambda window: QGuiApplication.clipboard().clear(), qtbot)
