"""The window as a state machine: any order of opening, selecting, editing, undoing and closing keeps its promises.

A full run makes 100 steps, `make test` fewer, always the same ones. `SHARDSCOPE_STEPS=5000` makes as many, others each
time; where they fail, Hypothesis prints the shortest program that does.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QMessageBox

from shardcore import Depth
from shardcore.sources.base import read_pieces
from shardcore.teaching import resource_paths
from shardcore.testing import FULL
from shardscope.session.documents import Document
from shardscope.session.open_request import OpenRequest
from shardscope.views.structure.tree import StructureTree
from tests.window_user import WindowUser

STEPS = int(os.environ.get("SHARDSCOPE_STEPS", "100" if FULL else "40"))
EACH = 20
"""Steps with one set of tabs at most."""
MOST_TABS = 4
SMALL = 20_000
"""Bytes of a sample at most: all of them are compared after each step."""
T = TypeVar("T")
NUMBERS = st.integers(0, 1 << 16)


Draw = Callable[[st.SearchStrategy[T]], T]


@dataclass
class Tab:
    path: Path
    states: list[bytes]
    undone: list[bytes] = field(default_factory=list)
    saved: list[bytes] | None = None
    sandbox: bool = False

    @property
    def unsaved(self) -> bool:
        return len(self.states) > 1 and self.states != self.saved


class WindowMachine(RuleBasedStateMachine):
    user: WindowUser
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(dir=self.folder))
        self.tabs: dict[Document, Tab] = {}
        self.disk: dict[Path, bytes] = {}

    def teardown(self) -> None:
        user = self.user
        while user.session.documents.all:
            user.sandbox.drop()
            user.session.close()
            user.rest()
        assert user.window.jobs.open_jobs == ()
        assert user.wrong == []
        shutil.rmtree(self.home)

    # --- what is there ---

    @property
    def tab(self) -> Tab:
        return self.tabs[self.user.session.document]

    def is_open(self) -> bool:
        return self.user.shard is not None

    def has_file(self) -> bool:
        return self.user.shard is not None and self.user.shard.source is not None

    def in_sandbox(self) -> bool:
        return self.is_open() and self.tab.sandbox

    def may_begin(self) -> bool:
        return self.has_file() and not self.tab.sandbox

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        possible = [action for action, weight, when in ACTIONS if when(self) for _ in range(weight)]
        action = data.draw(st.sampled_from(possible))
        action(self, data.draw)

    # --- opening and closing ---

    def open(self, draw: Draw[Any]) -> None:
        number = draw(NUMBERS)
        samples = [
            one.path for one in resource_paths.samples() if one.path.is_file() and one.path.stat().st_size < SMALL
        ]
        sample = samples[number % len(samples)]
        path = self.home / f"{len(self.disk)}" / sample.name
        path.parent.mkdir()
        shutil.copy(sample, path)
        self.disk[path] = path.read_bytes()
        self.user.open(path)
        document = self.user.session.document
        modal = self.user.application.activeModalWidget()
        assert self.user.session.uri == str(path), (self.user.failures, modal)
        self.tabs[document] = Tab(path, [self.disk[path]])

    def close(self, draw: Draw[Any]) -> None:
        wait = draw(st.booleans())
        if not wait:
            self.user.session.verification.start(Depth.CONTENT)
        del self.tabs[self.user.session.document]
        self.user.sandbox.drop()
        self.user.session.close()
        self.user.rest()

    def switch_tab(self, draw: Draw[Any]) -> None:
        by = draw(st.sampled_from((1, -1)))
        self.user.session.documents.step(by)
        self.user.rest()

    def force_format(self, draw: Draw[Any]) -> None:
        self.user.session.open(OpenRequest(str(self.tab.path), self.user.shard.format))
        self.user.rest()

    # --- looking ---

    def cancel(self, draw: Draw[Any]) -> None:
        self.user.session.verification.start(Depth.CONTENT)
        self.user.window.stop_jobs()
        self.user.rest()

    # --- editing ---

    def begin_sandbox(self, draw: Draw[Any]) -> None:
        self.user.sandbox.switch(True)
        self.user.rest()
        self.tab.sandbox = True

    def end_sandbox(self, draw: Draw[Any]) -> None:
        agree = draw(st.booleans())
        user, tab = self.user, self.tab
        user.sandbox.switch(False)
        box = user.window.findChild(QMessageBox, "discardSandbox")
        assert (box is not None) == tab.unsaved
        if box is not None:
            roles = {box.buttonRole(button): button for button in box.buttons()}
            role = QMessageBox.ButtonRole
            roles[role.DestructiveRole if agree else role.RejectRole].click()
        user.rest()
        user.application.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        if box is None or agree:
            self.tabs[user.session.document] = Tab(tab.path, tab.states[:1])

    def edit(self, draw: Draw[Any]) -> None:
        number = draw(NUMBERS)
        bits = draw(st.lists(st.integers(0, 7), min_size=1, max_size=3))
        flip = draw(st.booleans())
        user, tab = self.user, self.tab
        user.dice = random.Random(number)
        for bit in bits:
            user.select_byte()
            user.rest()
            place = user.sandbox.place
            if flip:
                user.sandbox.flip(bit)
            else:
                user.type_byte(bit)
            user.rest()
            data = bytearray(tab.states[-1])
            data[place.start] = data[place.start] ^ 1 << bit if flip else bit
            tab.states.append(bytes(data))
            tab.undone.clear()

    def undo(self, draw: Draw[Any]) -> None:
        times = draw(st.integers(1, 3))
        for _ in range(times):
            self.user.sandbox.undo()
            if len(self.tab.states) > 1:
                self.tab.undone.append(self.tab.states.pop())
        self.user.rest()

    def redo(self, draw: Draw[Any]) -> None:
        times = draw(st.integers(1, 3))
        for _ in range(times):
            self.user.sandbox.redo()
            if self.tab.undone:
                self.tab.states.append(self.tab.undone.pop())
        self.user.rest()

    def save_copy(self, draw: Draw[Any]) -> None:
        path = self.home / f"copy-{len(self.disk)}"
        self.user.window.sandbox_shell.save_to(path, agreed=True)
        self.user.rest()
        self.disk[path] = self.tab.states[-1]
        self.tab.saved = list(self.tab.states)

    # --- promises ---

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.user.wrong == []
        assert self.user.window.jobs.open_jobs == ()

    @invariant()
    def files_change_only_when_saved(self) -> None:
        for path, data in self.disk.items():
            assert path.read_bytes() == data, path

    @invariant()
    def bytes_are_those_of_the_changes(self) -> None:
        session = self.user.session
        assert set(session.documents.all) == set(self.tabs)
        if self.has_file():
            assert session.shard.source is not None
            source = session.shard.source
            assert b"".join(read_pieces(source, 0, source.size)) == self.tab.states[-1]
            assert self.user.sandbox.on == self.tab.sandbox
            assert self.user.window.hex.state.layout.size == source.size or self.user.window.hex.state.name

    @invariant()
    def title_says_what_is_shown(self) -> None:
        window = self.user.window
        if self.is_open():
            assert self.tab.path.name in window.windowTitle()
            assert ("(sandbox)" in window.windowTitle()) == self.tab.sandbox
        assert window.isWindowModified() == (self.is_open() and self.tab.unsaved)

    @invariant()
    def panels_agree(self) -> None:
        window, chosen = self.user.window, self.user.session.selection
        if not self.is_open() or not chosen.complete or chosen.error:
            return
        if chosen.span is not None and chosen.span.source == window.hex.state.name:
            assert window.hex.state.selection.span == chosen.span
        tree = window.panels.panel(StructureTree)
        node = tree.nodes.node(tree.currentIndex().siblingAtColumn(0))
        if tree.isVisible() and chosen.path and node is not None:
            assert (node.name, node.span) == (chosen.path[-1].name, chosen.path[-1].span)
        table = window.objects.table
        if chosen.row is not None and table.currentIndex().isValid() and not window.objects.filter.text():
            assert table.objects.row_of(table.currentIndex()) == chosen.row


def doing(*names: str, times: int = 1) -> Callable[[WindowMachine, Draw[Any]], None]:
    def act(machine: WindowMachine, draw: Draw[Any]) -> None:
        machine.user.dice = random.Random(draw(NUMBERS))
        for name in machine.user.dice.choices(names, k=times):
            getattr(machine.user, name)()
        machine.user.rest()

    return act


SELECTS = ("select_byte", "select_row", "select_node")
ACTIONS: tuple[tuple[Callable[[WindowMachine, Draw[Any]], None], int, Callable[[WindowMachine], bool]], ...] = (
    (WindowMachine.begin_sandbox, 4, WindowMachine.may_begin),
    (WindowMachine.edit, 3, WindowMachine.in_sandbox),
    (WindowMachine.undo, 3, WindowMachine.in_sandbox),
    (WindowMachine.redo, 3, WindowMachine.in_sandbox),
    (doing("look_up", "search", "refer", "verify", "panel", "drawing", "unfold"), 3, WindowMachine.is_open),
    (doing(*SELECTS, "travel"), 3, WindowMachine.is_open),
    (doing(*SELECTS, "refer", "verify", "panel", times=4), 1, WindowMachine.is_open),
    (WindowMachine.cancel, 1, WindowMachine.is_open),
    (WindowMachine.save_copy, 1, WindowMachine.in_sandbox),
    (WindowMachine.end_sandbox, 1, WindowMachine.in_sandbox),
    (WindowMachine.switch_tab, 2, lambda machine: len(machine.tabs) > 1),
    (WindowMachine.force_format, 1, WindowMachine.may_begin),
    (WindowMachine.open, 1, lambda machine: len(machine.tabs) < MOST_TABS),
    (WindowMachine.close, 1, WindowMachine.is_open),
)
"""Actions, how often each comes, and when it is possible. The first run of Hypothesis takes the first that is."""


@pytest.fixture
def user(qapp: Any, tmp_path: Path) -> Iterator[WindowUser]:
    made = WindowUser(tmp_path)
    yield made
    made.end()


def test_any_order_of_actions_keeps_the_promises(user: WindowUser, tmp_path: Path) -> None:
    class Machine(WindowMachine):
        pass

    Machine.user, Machine.folder = user, tmp_path
    steps = settings(
        max_examples=max(STEPS // EACH, 1),
        stateful_step_count=min(STEPS, EACH),
        suppress_health_check=list(HealthCheck),
        deadline=None,
        phases=[Phase.generate],  # making an example smaller takes longer than a test may
        derandomize="SHARDSCOPE_STEPS" not in os.environ,
    )
    run_state_machine_as_test(Machine, settings=steps)
