"""Main window without a display, with the actions of a user; shared by `soak`, the fuzzer and the state machine."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEventLoop, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from shardcore import Depth, Node, Shard, ShardError, Span
from shardscope.session.jobs import Job
from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import THEMES, Settings
from shardscope.views.hex.layout import HexPart

STALL_SECONDS = 60.0
"""Seconds of processor time after which a window with running jobs counts as stalled."""

KEYS = ("0", "1", "a", "0,0,0", "[24,40]", "00" * 32, "meta", "all")
"""Keys that are looked up besides those of the open file; they are valid in some formats."""


class Stalled(Exception):
    """Raised if jobs of the window still run after the time allowed."""


class WindowUser:
    """Main window, random actions of a user in it, and a record of the errors they cause.

    Args:
        folder: Folder for the settings and for saved copies.
        seed: Seed of the random choices.

    Attributes:
        wrong: Messages of Qt, exceptions of slots and jobs that failed with more than a `ShardError`.
        failures: Reasons why files could not be opened.
    """

    def __init__(self, folder: Path, seed: object = 1) -> None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        self.application: Any = QApplication.instance() or QApplication(sys.argv[:1])
        self.folder = folder
        self.dice = random.Random(str(seed))
        self.wrong: list[str] = []
        self.failures: list[str] = []
        self.copies = 0
        self._handler = qInstallMessageHandler(self._heard)
        self._hook, sys.excepthook = sys.excepthook, self._raised
        self.window = MainWindow(Settings(folder / "settings.json"))
        self.session = self.window.session
        self.sandbox = self.window.sandbox_shell.sandbox
        self.window.jobs.trouble.connect(self._trouble)
        self.session.documents.failed.connect(lambda failure: self.failures.append(str(failure.error)))
        self.window.resize(1000, 640)
        self.window.show()
        self.rest()

    def _heard(self, kind: QtMsgType, context: object, message: str) -> None:
        if not message.startswith("This plugin does not support"):
            self.wrong.append(f"Qt: {message}")

    def _raised(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
        self.wrong.append(f"{error!r} at {place}")

    def _trouble(self, job: Job) -> None:
        self.wrong.append(f"job {job.title or job.key}: {job.error!r}")

    def rest(self, seconds: float = STALL_SECONDS) -> None:
        """Process events until no job is running; raise Stalled after `seconds` of processor time."""
        began, quiet = time.process_time(), 0
        while quiet < 3:
            # An event loop is needed: without one, Qt does not delete objects passed to `deleteLater`.
            loop = QEventLoop()
            QTimer.singleShot(2, loop.quit)
            loop.exec()
            quiet = 0 if self.window.jobs.open_jobs else quiet + 1
            if time.process_time() - began > seconds:
                running = [job.title or str(job.key) for job in self.window.jobs.open_jobs]
                self.window.jobs.cancel_all()
                raise Stalled(f"no rest after {seconds:.0f} s: {', '.join(running)}")

    def end(self) -> None:
        """Close the window and delete it."""
        from PySide6.QtCore import QCoreApplication, QEvent
        from shiboken6 import delete

        self.sandbox.drop()
        self.window.end()
        self.rest()
        delete(self.window)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        qInstallMessageHandler(self._handler)
        sys.excepthook = self._hook

    # --- what a user does ---

    def open(self, path: Path, **options: Any) -> None:
        """Open a file in a tab, and wait until all jobs have ended."""
        self.session.open_tab(OpenRequest(str(path), **options))
        self.rest()

    def close_all(self) -> None:
        """Close all tabs; changes in sandboxes are dropped."""
        while self.session.shard is not None:
            self.sandbox.drop()
            self.session.close()
            self.rest()

    @property
    def shard(self) -> Shard | None:
        return self.session.shard

    def select_byte(self) -> None:
        """Select a random range of 1, 4 or 64 bytes."""
        source = self.shard.source if self.shard is not None else None
        if source is not None and source.size:
            start = self.dice.choice((0, source.size - 1, self.dice.randrange(source.size)))
            self.session.select_span(Span("", start, min(start + self.dice.choice((1, 1, 4, 64)), source.size)))

    def select_row(self) -> None:
        if (listing := self.session.listing) is not None and len(listing):
            self.session.select_row(self.dice.randrange(len(listing)))

    def select_node(self) -> None:
        """Select a random node of the tree, at most three levels down."""
        if self.shard is None:
            return
        path: list[Node] = []
        with suppress(ShardError):  # the file may have changed
            path.append(self.shard.tree)
            for _ in range(self.dice.randrange(4)):
                kids = path[-1].children
                if not len(kids):
                    break
                path.append(kids[self.dice.randrange(min(len(kids), 50))])
        self.session.select_node(tuple(path))

    def look_up(self) -> None:
        """Look up the key of the selected object or one of `KEYS`, and show the first steps and the cost."""
        ref = self.session.selection.ref
        key = ref.key if ref is not None and ref.key is not None and self.dice.random() < 0.8 else None
        self.session.lookup.start(key or self.dice.choice(KEYS))
        self.rest()
        for step in range(min(self.session.lookup.walk.steps, 6)):
            self.session.lookup.go_to_step(step)
        self.session.lookup.measure_cost()

    def refer(self) -> None:
        self.session.references.find()

    def verify(self) -> None:
        self.session.verification.start(self.dice.choice(list(Depth)))

    def search(self) -> None:
        """Search bytes or contents."""
        search = self.window.hex.search
        search.contents.setChecked(self.dice.random() < 0.3)
        search.look_for("Hex", self.dice.choice(("00", "00 00 00 01", "ff", "53 57 48")))
        self.rest()
        self.dice.choice((search.list_all, search.look))()
        self.rest()
        search.close_bar()

    def panel(self) -> None:
        self.window.show_part(self.dice.choice(sorted(self.window.panels.by_name)))

    def drawing(self) -> None:
        drawings = self.window.hex.drawings
        if drawings.sketches:
            drawings.show(self.dice.choice(drawings.sketches).name)
            self.rest()
            drawings.to_bytes()

    def unfold(self) -> None:
        self.window.tree.expandToDepth(2)
        self.rest()
        self.window.tree.collapseAll()

    def travel(self) -> None:
        self.dice.choice((self.session.selector.back, self.session.selector.forward))()

    def theme(self) -> None:
        if self.dice.random() < 0.5:
            self.window.set_theme(self.dice.choice(tuple(THEMES)))
        else:
            self.dice.choice((lambda: self.window.zoom(larger=True), self.window.reset_zoom))()

    def reload(self) -> None:
        if not self.sandbox.on:
            self.session.reload()

    def type_byte(self, value: int) -> None:
        """Type a byte over the first selected one, in the sandbox."""
        view, place = self.window.hex.view, self.sandbox.place
        if place is None:
            return
        view.state.move_caret(place.start, part=HexPart.HEX)
        QTest.keyClicks(view, f"{value:02x}")
        while self.sandbox.pending:
            self.rest()

    def break_bytes(self) -> None:
        """Change bytes in the sandbox, undo and redo, save a copy, and leave it."""
        sandbox = self.sandbox
        if sandbox.why_not or self.session.request.inside:
            return
        sandbox.switch(True)
        self.rest()
        if sandbox.source is None:
            return
        for _ in range(self.dice.randrange(1, 4)):
            self.select_byte()
            self.rest()
            self.dice.choice((lambda: sandbox.flip(self.dice.randrange(8)), lambda: self.type_byte(0xFF)))()
            self.rest()
        sandbox.undo()
        self.rest()
        sandbox.redo()
        self.rest()
        self.window.sandbox_shell.save_to(self.folder / f"copy-{self.copies % 3}", agreed=True)
        self.copies += 1
        self.rest()
        sandbox.switch(False)

    ACTIONS: tuple[Callable[[WindowUser], None], ...]

    def act(self) -> str:
        """Perform a random action, wait until its jobs have ended, and return its name."""
        action = self.dice.choice(self.ACTIONS)
        action(self)
        self.rest()
        return action.__name__


WindowUser.ACTIONS = (
    WindowUser.select_byte,
    WindowUser.select_row,
    WindowUser.select_node,
    WindowUser.look_up,
    WindowUser.refer,
    WindowUser.verify,
    WindowUser.search,
    WindowUser.panel,
    WindowUser.drawing,
    WindowUser.unfold,
    WindowUser.travel,
    WindowUser.theme,
    WindowUser.reload,
    WindowUser.break_bytes,
)
