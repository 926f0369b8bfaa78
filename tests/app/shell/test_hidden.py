"""While a question of a lesson is open, its answer stands nowhere on the screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from shardcore import Depth, Finding, Node, Report, Severity, Span
from shardcore.model.drawing import Tone
from shardcore.operations.search import Pattern
from shardcore.teaching.drawing.picture import Text
from shardcore.teaching.lessons.answers import number_of, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson
from shardcore.teaching.lessons.library import lessons, missions
from shardcore.teaching.lessons.secrets import LEAST_LETTERS, LEAST_NUMBER, NOTHING, Aspect, Secrets
from shardcore.teaching.lessons.stage import LessonStage
from shardscope.learning.drawings.panel import DrawingPanel
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.session.hit_list import HitList
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.views.findings.findings import FindingsTable
from shardscope.views.findings.hits import HitsTable
from shardscope.views.hex.view import HexView
from shardscope.views.inspector.panel import Inspector
from shardscope.views.structure.tree import StructureTree
from shardscope.widgets.node_model import NODE_ROLE
from shardscope.widgets.wrap_text import WrapText

SEEN = ("structure", "objects", "inspector", "trace", "preview", "lessons")
_ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
)
_MOST_ROWS = 40


@dataclass(frozen=True)
class Seen:
    """A text on the screen.

    Attributes:
        where: Which widget shows it.
        text: The text.
    """

    where: str
    text: str


def shown_texts(window: MainWindow) -> Iterator[Seen]:
    """Every text of a window, but those of the lesson and the bytes themselves."""
    lesson = window.panels.panel(LessonPanel)
    yield Seen("window title", window.windowTitle())
    for widget in window.findChildren(QWidget):
        if not widget.isVisibleTo(window) or lesson.isAncestorOf(widget):
            continue
        name = widget.objectName() or type(widget).__name__
        for text in texts_of(widget):
            yield Seen(f"{name} in {panel_of(widget)}", text)


def panel_of(widget: QWidget) -> str:
    """The dock around a widget, by name."""
    at: QWidget | None = widget
    while at is not None and not isinstance(at, QDockWidget):
        at = at.parentWidget()
    return at.objectName() if at is not None else "the middle"


def texts_of(widget: QWidget) -> Iterator[str]:
    """Texts of a widget: its letters, its tooltip, its words for screen readers."""
    yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription(), widget.windowTitle())
    if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
        yield widget.text()
    elif isinstance(widget, WrapText):
        yield widget.text
    elif isinstance(widget, QTabBar):
        yield from (widget.tabText(number) for number in range(widget.count()))
    elif isinstance(widget, QComboBox):
        yield widget.currentText()
    elif isinstance(widget, QAbstractItemView):
        model = widget.model()
        if model is not None:
            yield from (text for text, _ in cells(model))
    elif isinstance(widget, HexView):
        rows = widget.state.rows_on_screen
        for line in (widget.column.line(widget.state.grid, rows.row_at(at)) for at in range(rows.lines)):
            yield from (f"{field.path} {field.value}" for field in line.fields)
        yield widget.accessibility.description
    elif isinstance(widget, DrawingPanel) and (picture := widget.view.picture) is not None:
        yield from (mark.text for mark in picture.shapes if isinstance(mark, Text))
        yield from (item.doc for item in picture.items)


def cells(model: QAbstractItemModel, parent: QModelIndex | None = None) -> Iterator[tuple[str, QModelIndex]]:
    """Every text of a model that was fetched, to a depth that a person looks at."""
    above = parent if parent is not None else QModelIndex()
    for row in range(min(model.rowCount(above), _MOST_ROWS)):
        for column in range(model.columnCount(above)):
            index = model.index(row, column, above)
            yield from ((str(text), index) for role in _ROLES if (text := model.data(index, role)))
        first = model.index(row, 0, above)
        if model.rowCount(first):
            yield from cells(model, first)


@pytest.fixture
def watched(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """A window in which the panels of `SEEN` are beside each other."""
    window.resize(1400, 900)
    sides = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)
    for number, name in enumerate(SEEN):
        dock = window.panels.by_name[name]
        window.removeDockWidget(dock)
        window.addDockWidget(sides[number % 2], dock)
        dock.show()
    return window


class LessonWalk:
    """Goes through the questions of a lesson; each is looked at before it is answered."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self.qtbot = window, qtbot
        self.player = window.panels.panel(LessonPanel).player
        self.player._random = Random(7)  # the same fresh files in every run
        self.tree = window.panels.panel(StructureTree)

    def idle(self) -> None:
        """Wait until no job runs."""
        self.qtbot.waitUntil(lambda: not self.window.jobs.open_jobs, timeout=30_000)

    def questions(self, lesson: Lesson) -> Iterator[LessonStage]:
        """Yield the steps that ask something, each with its question open; it is answered afterwards."""
        self.player.start(lesson)
        for number in range(len(lesson.steps)):
            if number:
                self.player.go(number)
            self.qtbot.waitUntil(partial(self.arrived, number), timeout=30_000)
            self.idle()
            stage = self.player.stage
            assert stage is not None
            if stage.question is None or stage.question.kind is Answer.MENDED:
                continue
            for path in nodes_of(stage):
                self.tree.nodes.reveal(path)
                self.idle()
            yield stage
            self.player.show_answer()
            self.qtbot.waitUntil(lambda: self.player.solved, timeout=30_000)
        self.player.leave()

    def arrived(self, number: int) -> bool:
        """Return if a step is there."""
        return self.player.number == number and self.player.stage is not None


def nodes_of(stage: LessonStage) -> list[tuple[Node, ...]]:
    """The node that the answer of a question is read from; none where it is calculated."""
    question, scene = stage.question, stage.scene
    if question is None:
        return []
    if question.kind is Answer.NODE:
        return [scene.node(scene.fill(question.answer))]
    found = _OF_NODE.fullmatch(question.answer)
    return [scene.node(scene.fill(found["path"]))] if found else []


_OF_NODE = re.compile(r"\{(?P<word>value|start|stop|size) of (?P<path>(?!file).*)\}")
_COLUMNS = {"value": 1, "start": 2, "size": 3}


def number_pattern(number: int) -> str:
    """A pattern of a number as people and programs write it."""
    return rf"(?<!\w)(?<!\d[.,])(?:{number}|{number:,}|0x0*{number:x})(?!\w)(?![.,]\d)"


def leaks(walk: LessonWalk, stage: LessonStage) -> list[str]:
    """Texts in which the answer of the open question can be read."""
    question = stage.question
    assert question is not None
    given = solution(question, stage.scene)
    if question.kind is Answer.NODE:
        return [*named(walk, stage), *lit(walk, stage)]
    if question.kind is Answer.ITEM:
        return marked(walk, given.sketch, given.text)
    if question.kind is Answer.CHOICE:
        return []
    number = number_of(given.text) if question.kind is Answer.NUMBER else None
    seen = list(dict.fromkeys(shown_texts(walk.window)))
    places = ("traceStep", "inspectorValue", "statusValue")
    if number is None and len(given.text) < LEAST_LETTERS:
        # Names of the program and sizes of other objects may be the same few letters.
        same = [one for one in seen if one.text.strip().lower() == given.text.lower()]
        return [f"{one.where}: {one.text}" for one in same if one.where.startswith(places)]
    if number is None:
        anywhere = re.compile(rf"(?<![A-Za-z0-9]){re.escape(given.text)}(?![A-Za-z0-9])", re.IGNORECASE)
        return [f"{one.where}: {one.text}" for one in seen if anywhere.search(one.text)]
    pattern = re.compile(number_pattern(number))
    if number >= LEAST_NUMBER:
        return [f"{one.where}: {one.text}" for one in seen if pattern.search(one.text)]
    told = re.compile(small_pattern(question.prompt, number))
    return [
        f"{one.where}: {one.text}"
        for one in seen
        if told.search(one.text) or (one.where.startswith(places) and one.text == f"{number}")
    ] + cells_with(walk, stage, pattern)


def small_pattern(prompt: str, number: int) -> str:
    """A pattern of a small number where it means the answer: of bytes, or of whatever is counted."""
    asks_bytes = re.search(r"how many bytes", prompt, re.IGNORECASE)
    asks_count = re.search(r"how many (?!(?:\w+ )?bytes)", prompt, re.IGNORECASE)
    unit = "bytes?" if asks_bytes else "(?:rows|chunks|files|entries|records|slots)" if asks_count else "(?!)"
    return rf"{number_pattern(number)}(?= {unit}\b)"


def cells_with(walk: LessonWalk, stage: LessonStage, pattern: re.Pattern[str]) -> list[str]:
    """The cells of the tree that the answer is read from, where they show it."""
    found = _OF_NODE.fullmatch(stage.question.answer if stage.question is not None else "")
    if found is None or found["word"] not in _COLUMNS:
        return []
    column, asked = _COLUMNS[found["word"]], nodes_of(stage)[0][-1]
    return [
        f"tree, column {column}: {text}"
        for text, index in cells(walk.tree.nodes)
        if index.column() == column and same(index, asked) and pattern.fullmatch(text)
    ]


def same(index: QModelIndex, node: Node) -> bool:
    """Return if a row of the tree stands for a node."""
    shown = index.data(NODE_ROLE)
    return isinstance(shown, Node) and (shown.name, shown.span) == (node.name, node.span)


def named(walk: LessonWalk, stage: LessonStage) -> list[str]:
    """Texts with the name of the requested bytes, after a click on them."""
    (path,) = nodes_of(stage)
    name, session = path[-1].name, walk.window.session
    rows = [text for text, index in cells(walk.tree.nodes) if same(index, path[-1]) and not index.column()]
    assert rows, "the row of the answer is in the tree"
    session.select_span(path[-1].span)
    walk.idle()
    hexes = walk.window.hex
    around = [hexes.breadcrumb.plain, hexes.status.value.text(), hexes.view.accessibility.description]
    inspector = walk.window.panels.panel(Inspector)
    texts = [*rows, *around, inspector.name.text, inspector.doc.text]
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return [f"name: {text}" for text in texts if word.search(text.partition(" in ")[0])]


def lit(walk: LessonWalk, stage: LessonStage) -> list[str]:
    """The highlighted bytes that are no more than those that are asked for."""
    span = nodes_of(stage)[0][-1].span
    return [f"highlighted: {light.span}" for light in walk.window.session.lights if span.holds(light.span)]


def marked(walk: LessonWalk, sketch: str, name: str) -> list[str]:
    """Marks by which a drawing gives the requested item away."""
    panel = walk.window.findChild(DrawingPanel)
    assert isinstance(panel, DrawingPanel)

    def drawn() -> bool:
        return panel.name == sketch and panel.drawing is not None and name in {one.name for one in panel.drawing.items}

    walk.qtbot.waitUntil(drawn, timeout=30_000)
    assert panel.drawing is not None
    item = next(one for one in panel.drawing.items if one.name == name)
    peers = [one for one in panel.drawing.items if re.sub(r"\d+", "", one.name) == re.sub(r"\d+", "", name)]
    hit = item.tone is Tone.HIT and not all(one.tone is Tone.HIT for one in peers)
    return [f"item {name}: {why}" for why, shows in (("framed", item.here), ("coloured", hit)) if shows]


def all_leaks(walk: LessonWalk, lesson: Lesson) -> dict[str, list[str]]:
    """Texts in which answers of a lesson can be read, by question."""
    found = {}
    for stage in walk.questions(lesson):
        assert stage.question is not None
        if there := leaks(walk, stage):
            found[f"{lesson.name}, line {stage.step.line}: {stage.question.prompt}"] = there
    return found


def lesson_called(name: str) -> Lesson:
    """A lesson, by name."""
    return next(lesson for lesson in lessons() if lesson.name == name)


@pytest.mark.thorough
def test_an_answer_is_hidden_and_comes_back(
    watched: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one lesson no answer can be read; the tree shows it once it is given; without hiding this test finds it."""
    walk = LessonWalk(watched, qtbot)
    lesson = lesson_called("swh-1-meet-the-file")
    assert all_leaks(walk, lesson) == {}
    monkeypatch.setattr(Secrets, "text", lambda self, text, aspect=None: text)
    monkeypatch.setattr(Secrets, "node", lambda self, node: node)
    found = all_leaks(walk, lesson)
    assert len(found) >= 4, "hidden values and names are what the walk looks for"


def test_lists_messages_and_copies(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Findings, hits, chips and messages hide what is asked, and hidden keys are not copied; then all comes back."""
    with qtbot.waitSignal(window.session.opened):
        window.open(str(data / "swh" / "small.shard"))
    settle(window, 20)
    secrets, clipboard = window.session.secrets, QApplication.clipboard()
    finding = Finding(Severity.ERROR, "swh.index", Span("", 4465, 4985), "the index begins at byte 4465")
    window.session.tell_report(Report(Depth.STRUCTURE, 1, (finding,)))
    findings, hits = window.panels.panel(FindingsTable), window.panels.panel(HitsTable)
    hits.set_hits(HitList("", "01", (Pattern(b"1", b"\xff"),), np.array([4465]), np.array([0]), 1))
    settle(window, 20)
    secrets.hide(Secrets(numbers=frozenset({4465}), aspects=frozenset({Aspect.COUNT}), keys=True))
    window.session.message.emit("at byte 4,465")
    window.objects.table.selectAll()
    clipboard.setText("before")
    window.objects.actions_.copy_keys.trigger()
    window.objects.actions_.copy_rows.trigger()
    settle(window, 20)
    assert clipboard.text() == "before"
    pattern = re.compile(number_pattern(4465))
    seen = [*shown_texts(window), *(Seen("", text) for one in (findings, hits) for text, _ in cells(one.model))]
    assert [one for one in seen if pattern.search(one.text)] == []
    assert {button.text() for button in window.objects.chips.buttons.values()} == {"live", "unused"}
    secrets.hide(Secrets(texts=frozenset({"small.shard"})))
    names = (window.windowTitle(), window.file_tabs.tabs.tabText(0), window.file_tabs.tabs.tabToolTip(0))
    assert [name for name in names if "small.shard" in name] == []
    secrets.hide(NOTHING)
    assert "small.shard" in window.windowTitle()
    assert "small.shard" in window.file_tabs.tabs.tabText(0)
    assert all(any(pattern.search(text) for text, _ in cells(one.model)) for one in (findings, hits))
    window.objects.actions_.copy_keys.trigger()
    settle(window, 20)
    assert len(clipboard.text().split()) == 12


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_no_answer_is_on_the_screen(watched: MainWindow, qtbot: QtBot) -> None:
    """All questions of all lessons and missions, but those that are answered in the sandbox."""
    walk = LessonWalk(watched, qtbot)
    found: dict[str, list[str]] = {}
    for lesson in (*lessons(), *missions()):
        kinds = {step.question.kind for step in lesson.steps if step.question is not None}
        if Answer.BYTES not in kinds:
            found |= all_leaks(walk, lesson)
    assert found == {}
