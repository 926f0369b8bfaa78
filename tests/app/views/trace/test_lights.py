"""What a step lights: all its bytes, numbered, in the bytes, the overview and the tree; and who leads to bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.operations.references import references_to
from shardscope.session.selection import Highlight
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from shardscope.views.inspector.panel import Inspector
from shardscope.views.structure.node_model import NODE_ROLE
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel
from tests.app.conftest import open_in

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@dataclass
class Desk:
    """Everything that lights bytes, on one session."""

    session: Session
    trace: TracePanel
    hex: HexPanel
    tree: StructureTree
    inspector: Inspector
    qtbot: QtBot

    def walk(self, key: str, step: int = 0) -> None:
        """Looks a key up, and goes to a step."""
        self.session.lookup.start(key)
        self.qtbot.waitUntil(lambda: self.session.lookup.walk.key == key and self.session.lookup.walk.trace is not None)
        self.step(step)

    def step(self, number: int) -> None:
        """Goes to a step, and waits until its selection is complete."""
        self.session.lookup.go_to_step(number)
        self.qtbot.waitUntil(lambda: self.session.selection.complete)


@pytest.fixture
def desk(session: Session, qtbot: QtBot) -> Iterator[Desk]:
    """The parts, side by side."""
    whole = QWidget()
    qtbot.addWidget(whole)
    made = Desk(session, TracePanel(session), HexPanel(session), StructureTree(session), Inspector(session), qtbot)
    for number, part in enumerate((made.hex, made.trace, made.tree, made.inspector)):
        part.setParent(whole)
        part.setGeometry(number * 420, 0, 800 if number == 0 else 380, 760)
    whole.resize(2000, 760)
    whole.show()
    yield made
    session.close()


def test_all_bytes_of_a_step_are_lit_with_their_numbers(desk: Desk, qtbot: QtBot, data: Path) -> None:
    open_in(desk.session, qtbot, data / "swh/small.shard")
    desk.walk(KEY, 5)
    spans = (Span("", 5044, 5048), Span("", 5040, 5041), Span("", 5048, 5049))
    assert desk.session.lookup.highlights == tuple(Highlight(number, span) for number, span in enumerate(spans, 1))
    assert desk.session.selection.span == spans[0]
    assert desk.hex.state.scene(focused=False).highlights == desk.session.lookup.highlights
    numbers = {"entry 0": [1], "unary bits": [2], "low bits": [3]}
    lit = lambda: {name: [one.number for one in lights] for (name, _), lights in desk.tree.lit.ends.items()}  # noqa: E731
    qtbot.waitUntil(lambda: lit() == numbers)
    root = desk.tree.nodes.index(0, 0).data(NODE_ROLE)
    assert [light.number for light in desk.tree.lit.at(root, expanded=False)] == [1, 2, 3]
    assert desk.tree.lit.at(root, expanded=True) == []

    desk.step(3)
    assert desk.session.lookup.highlights == (Highlight(1, Span("", 5008, 5012), hollow=True),)
    assert desk.session.selection.span is None
    assert desk.hex.state.selection.span.size == 1
    qtbot.waitUntil(desk.inspector.file.isVisible)
    desk.session.close()
    assert desk.session.lookup.highlights == ()


def test_hollow_lights_come_into_view(desk: Desk, qtbot: QtBot, data: Path) -> None:
    open_in(desk.session, qtbot, data / "neuroglancer/skeletons_murmur_gzip/0.shard")
    desk.walk("1", 3)
    assert [light.hollow for light in desk.session.lookup.highlights] == [True, True]
    qtbot.waitUntil(lambda: desk.hex.state.name == "info")
    lit = desk.session.lookup.highlights[0].span
    start, stop = desk.hex.state.visible_bytes
    assert start <= lit.start < stop


def test_nothing_of_the_lookup_before_stays_selected(desk: Desk, qtbot: QtBot, data: Path) -> None:
    open_in(desk.session, qtbot, data / "des/tiny.des")
    desk.walk("a", 0)
    desk.step(desk.session.lookup.walk.steps - 1)
    payload = desk.session.selection.span
    desk.walk("not there")
    for number in range(desk.session.lookup.walk.steps):
        desk.step(number)
        assert desk.session.selection.span != payload
        assert desk.session.selection.ref is None


def test_what_a_first_reader_pays(desk: Desk, qtbot: QtBot, data: Path) -> None:
    """The switch shows the cold cost of each step and of the whole lookup."""
    open_in(desk.session, qtbot, data / "swh/medium.shard")
    desk.walk(str(desk.session.shard.objects.keys[5]))
    costs = desk.trace.costs
    qtbot.mouseClick(costs.cold, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: desk.session.lookup.walk.cold is not None)
    cold = desk.session.lookup.walk.cold
    for title, cost in (("Opening", cold.opening), ("Total", cold.total)):
        assert f"{title}: {cost.requests} requests" in costs.summary.text
    texts = [card.cost.text for card in desk.trace.cards]
    assert sum("request" in text for text in texts) == sum(cost.requests > 0 for cost in cold.steps) > 0
    assert all("with cache: " in text for text in texts)
    qtbot.mouseClick(costs.warm, Qt.MouseButton.LeftButton)
    assert not costs.summary.isVisible()
    assert all("with cache: " not in card.cost.text for card in desk.trace.cards)


def test_who_leads_here(desk: Desk, qtbot: QtBot, data: Path) -> None:
    open_in(desk.session, qtbot, data / "swh/small.shard")
    desk.session.select_span(Span("", 4945, 4946))
    desk.hex.actions_.references.trigger()
    links = lambda: [row.link for row in desk.inspector.references.page.rows if row.link]  # noqa: E731
    qtbot.waitUntil(lambda: bool(links()))
    wanted = references_to(desk.session.shard, Span("", 4945, 4946))
    assert len(links()) == len(wanted.found) == 2
    assert [arrow.start for arrow in desk.session.lookup.arrows] == [lead.span for lead in wanted.found]
    desk.inspector.references.page.followed.emit(links()[-1])
    assert desk.session.selection.span == wanted.found[-1].span
    desk.session.references.clear()
    assert (desk.session.lookup.arrows, links()) == ((), [])
    desk.session.select_row(0)
    desk.session.references.find()
    qtbot.waitUntil(
        lambda: desk.session.references.question is not None and desk.session.references.question.references is not None
    )
    assert desk.session.references.question.span == desk.session.shard.objects.ref(0).spans[0]
