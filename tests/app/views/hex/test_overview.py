"""The overview strip: to scale, everything visible, and where a click lands."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from shardcore import Section, SectionRole, Span
from shardscope.session.byte_pages import PageCache
from shardscope.views.hex.overview import Overview
from shardscope.views.hex.state import HexState
from shardscope.views.hex.view import HexView
from shardscope.widgets import theme
from shardscope.widgets.strip_paint import LEAST, StripScale, widths_to_scale
from tests.app.conftest import visible
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, TAIL

sizes = st.lists(st.integers(1, 2**62), min_size=1, max_size=64)


@given(sizes, st.floats(50, 4000))
def test_every_section_is_wide_enough(parts: list[int], width: float) -> None:
    widths = widths_to_scale(parts, width)
    assert sum(widths) == pytest.approx(width)
    assert min(widths) >= min(LEAST, width / len(parts)) - 1e-6
    order = sorted(range(len(parts)), key=lambda number: parts[number])
    assert all(widths[a] <= widths[b] + 1e-6 for a, b in pairwise(order))


@given(sizes, st.data())
def test_pixels_and_offsets_are_inverse(parts: list[int], data: st.DataObject) -> None:
    starts = [sum(parts[:n]) for n in range(len(parts) + 1)]
    sections = [Section(str(n), SectionRole.DATA, a, b) for n, (a, b) in enumerate(pairwise(starts))]
    scale = StripScale(starts[-1], sections, 1200)
    one, other = sorted(data.draw(st.tuples(*[st.integers(0, starts[-1] - 1)] * 2)))
    assert scale.x_of(one) <= scale.x_of(other)
    assert 0 <= scale.offset_at(scale.x_of(one)) < starts[-1]
    for number, section in enumerate(sections):
        middle = (scale.edges[number] + scale.edges[number + 1]) / 2
        assert scale.section_at(middle) is section
        assert section.start <= scale.offset_at(middle) < section.stop
    assert scale.offset_at(-5) == 0
    assert scale.offset_at(5000) == starts[-1] - 1


@pytest.fixture
def state(qtbot: QtBot, pages: PageCache) -> HexState:
    """The state of a hex view of the sample, with the first object at the top."""
    view = visible(qtbot, HexView(pages), 900, 500)
    view.state.set_source("", SIZE, SECTIONS)
    view.state.set_row_width(16, OBJECTS)
    view.state.scroll_to(OBJECTS)
    return view.state


@pytest.fixture
def strip(qtbot: QtBot, state: HexState) -> Overview:
    """The strip of the sample, 900 pixels wide."""
    made = Overview(state)
    return visible(qtbot, made, 900, made.sizeHint().height())


def test_clicks_jump_and_keys_go_from_section_to_section(qtbot: QtBot, strip: Overview) -> None:
    told: list[int] = []
    strip.jumped.connect(told.append)
    for section in SECTIONS:
        x = (strip.x_of(section.start) + strip.x_of(section.stop)) / 2
        qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(round(x), 30))
        assert section.start <= told[-1] < section.stop
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(899, 30))
    assert told[-1] == SIZE - 1
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End):
        qtbot.keyClick(strip, key)
    assert told[-4:] == [INDEX, TAIL, 0, TAIL]


def test_schematic_and_true_scale(strip: Overview) -> None:
    told: list[bool] = []
    strip.scale_changed.connect(told.append)
    before = [strip.x_of(section.start) for section in SECTIONS]
    strip.set_schematic(True)
    after = [strip.x_of(section.start) for section in SECTIONS]
    assert told == [True]
    assert before != after == sorted(after)
    assert min(strip.x_of(section.stop) - strip.x_of(section.start) for section in SECTIONS) >= 6


def test_the_caret_alone_has_no_bar(strip: Overview, state: HexState) -> None:
    def accented() -> int:
        picture, accent = strip.grab().toImage(), theme.of(strip).accent.rgb()
        return sum(picture.pixel(x, y) == accent for x in range(picture.width()) for y in range(picture.height()))

    state.select(Span("", OBJECTS, TAIL))
    assert accented() > 100
    state.deselect()
    assert accented() == 0
    state.select_all()
    assert accented() > 100
