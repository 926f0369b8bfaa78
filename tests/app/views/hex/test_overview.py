"""The overview strip: to scale, everything visible, and where a click lands."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from pytestqt.qtbot import QtBot

from shardcore import Finding, Section, SectionRole, Severity, Span
from shardscope.session.pages import PAGE, PageCache
from shardscope.session.words import set_decimal
from shardscope.views.hex.overview import Overview
from shardscope.widgets import theme
from shardscope.widgets.picture import write_picture
from shardscope.widgets.strip_paint import LABELS_APART, fitting_label
from shardscope.widgets.strip_scale import LEAST, StripScale, widths_to_scale
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, TAIL

sizes = st.lists(st.integers(1, 2**62), min_size=1, max_size=64)


@given(sizes, st.floats(50, 4000))
def test_every_section_is_wide_enough(parts: list[int], width: float) -> None:
    """Widths add up; none is below the least, unless there are too many; the larger section is never narrower."""
    widths = widths_to_scale(parts, width)
    assert sum(widths) == pytest.approx(width)
    assert min(widths) >= min(LEAST, width / len(parts)) - 1e-6
    order = sorted(range(len(parts)), key=lambda number: parts[number])
    assert all(widths[a] <= widths[b] + 1e-6 for a, b in pairwise(order))


def test_large_sections_are_to_scale() -> None:
    """Where nothing is too small, widths are in proportion."""
    assert widths_to_scale([100, 300, 600], 1000) == pytest.approx([100, 300, 600])


@given(sizes, st.data())
def test_pixels_and_offsets_are_inverse(parts: list[int], data: st.DataObject) -> None:
    """The byte at the pixel of an offset is in the same section, and pixels rise with offsets."""
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


def test_a_source_without_bytes_has_a_scale() -> None:
    """Nothing is divided by zero."""
    scale = StripScale(0, (), 100)
    assert (scale.x_of(0), scale.offset_at(50)) == (0, 0)


@pytest.fixture
def strip(qtbot: QtBot, pages: PageCache) -> Overview:
    """The strip of the sample, 900 pixels wide."""
    made = Overview(pages)
    qtbot.addWidget(made)
    made.resize(900, made.sizeHint().height())
    made.set_source("", SIZE, SECTIONS)
    made.show()
    return made


def test_a_click_jumps(qtbot: QtBot, strip: Overview) -> None:
    """A click on a section goes into it, however small it is; dragging goes on."""
    told: list[int] = []
    strip.jumped.connect(told.append)
    for section in SECTIONS:
        x = (strip.x_of(section.start) + strip.x_of(section.stop)) / 2
        qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(round(x), 30))
        assert section.start <= told[-1] < section.stop
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(899, 30))
    assert told[-1] == SIZE - 1


def test_keys_go_from_section_to_section(qtbot: QtBot, strip: Overview) -> None:
    """Left, right, Home and End go to the beginnings of sections."""
    told: list[int] = []
    strip.jumped.connect(told.append)
    strip.set_view(OBJECTS, OBJECTS + 500)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End):
        qtbot.keyClick(strip, key)
    assert told == [INDEX, TAIL, 0, TAIL]


def test_the_frame_of_what_is_seen_leaves_the_letters(strip: Overview) -> None:
    band = QRect(0, round(strip._strip().top()) + 5, strip.width(), 10)
    without, letters = strip.grab().toImage(), strip.grab(band).toImage()
    for section in SECTIONS:
        strip.set_view(section.start, section.stop)
        assert strip.grab(band).toImage() == letters
        assert strip.grab().toImage() != without


def test_the_tip_tells_section_and_findings(strip: Overview) -> None:
    """The tool tip names section, range, size, share, and the findings near the pointer, as plain text."""
    strip.set_findings([Finding(Severity.ERROR, "a.b", Span("", TAIL, SIZE), "wrong <here>")])
    tip = strip.tip_at(strip.x_of(OBJECTS + 20_000))
    for part in ("objects", f"{OBJECTS:#x}–{TAIL - 1:#x} · 40,000 bytes", "Contents.", "39.1 KiB", "97.0 %"):
        assert part in tip
    assert "wrong" not in tip
    assert "wrong &lt;here&gt;" in strip.tip_at(strip.x_of(TAIL))


def lit(strip: Overview, offset: int) -> bool:
    """Whether the line below the strip says that a byte is loaded."""
    pixel = strip.grab().toImage().pixel(math.floor(strip.x_of(offset)), strip.height() - 7)
    return pixel == theme.of(strip).ok.rgb()


def test_the_line_of_loaded_bytes_is_of_remote_files(qtbot: QtBot, strip: Overview, pages: PageCache) -> None:
    """It is lit below what the rows show without a request: pages in memory, and whole pages that the source holds."""
    pages.want("", [0])
    qtbot.waitUntil(lambda: bool(pages.loaded("")))
    colours = theme.of(strip)
    assert strip.grab().toImage().pixel(300, strip.height() - 7) == colours.window.rgb(), "local: there is no line"
    strip.set_fetched(())
    assert lit(strip, 500)
    assert not lit(strip, PAGE + 500)
    strip.set_fetched(((PAGE - 9, 2 * PAGE - 1), (2 * PAGE, SIZE)))
    assert not lit(strip, PAGE + 500), "the last byte of the page is not there"
    assert lit(strip, SIZE - 1000)


def test_findings_are_painted(strip: Overview) -> None:
    """A finding has a mark in its colour over its bytes."""
    strip.set_findings([Finding(Severity.ERROR, "a.b", Span("", 20_000, 20_001), "wrong")])
    picture = strip.grab().toImage()
    x = round(strip.x_of(20_000))
    assert theme.of(strip).error.rgb() in {picture.pixel(x, y) for y in range(strip.height())}


def test_what_is_on_the_screen_is_framed(strip: Overview) -> None:
    """However small the visible part is, its frame is seen at its place."""
    before = strip.grab().toImage()
    strip.set_view(20_000, 20_400)
    after = strip.grab().toImage()
    changed = {
        x for x in range(strip.width()) for y in range(strip.height()) if before.pixel(x, y) != after.pixel(x, y)
    }
    assert min(changed) <= strip.x_of(20_000) <= strip.x_of(20_400) <= max(changed)
    assert max(changed) - min(changed) < 25


def test_screen_readers_get_the_sections(strip: Overview) -> None:
    """The description lists the sections with their sizes."""
    assert "index · 1.2 KiB" in strip.accessibleDescription()


def test_labels_never_touch(strip: Overview) -> None:
    """Between two labels there is room, at any width."""
    for width in (300, 500, 640, 900, 1440):
        strip.resize(width, strip.height())
        metrics = QFontMetricsF(strip.font())
        ends = 0.0
        for number, section in enumerate(strip._scale.sections):
            left, right = strip._scale.edges[number], strip._scale.edges[number + 1]
            text = fitting_label(strip.label(section), section, metrics, right - left - LABELS_APART)
            assert not text or left >= ends
            ends = left + metrics.horizontalAdvance(text) + LABELS_APART - 1 if text else ends


def test_a_pixel_is_lit_when_all_of_its_bytes_are_loaded(strip: Overview) -> None:
    """Of a large file, pages that lie apart inside of one pixel light none."""
    size = 1 << 32
    strip.set_source("", size, [Section("all", SectionRole.DATA, 0, size)])
    strip.set_fetched((*((at, at + PAGE) for at in range(0, size // 2, 8 * PAGE)), (size // 2, size)))
    assert not lit(strip, size // 4)
    assert lit(strip, size * 3 // 4)


def test_schematic_and_true_scale(strip: Overview) -> None:
    """Schematic gives small sections room, keeps their order, and marks where the scale changes."""
    told: list[bool] = []
    strip.scale_changed.connect(told.append)
    before = [strip.x_of(section.start) for section in SECTIONS]
    strip.set_schematic(True)
    after = [strip.x_of(section.start) for section in SECTIONS]
    assert told == [True]
    assert after != before
    assert after == sorted(after)
    assert strip._scale.breaks
    for section in SECTIONS:
        assert strip.x_of(section.stop) - strip.x_of(section.start) >= 6


def test_the_menu_of_a_section(strip: Overview) -> None:
    """The menu goes there, selects and copies the section, and chooses the scale."""
    told: list[object] = []
    strip.section_chosen.connect(told.append)
    menu = strip.menu_at(strip.x_of(OBJECTS + 10))
    texts = {action.text().replace("&", ""): action for action in menu.actions() if action.text()}
    assert {"Go here", "Select section", "Copy name", "True scale", "Schematic", "Save picture…"} <= set(texts)
    texts["Select section"].trigger()
    assert told == [next(section for section in SECTIONS if section.start == OBJECTS)]
    texts["Copy range"].trigger()
    assert QGuiApplication.clipboard().text() == f"{OBJECTS}..{TAIL}"
    texts["Schematic"].trigger()
    assert strip.schematic


@pytest.mark.usefixtures("in_hexadecimal")
def test_it_is_read_out_in_the_notation_of_all_offsets(strip: Overview) -> None:
    """Hexadecimal, or decimal."""
    strip.set_selection(INDEX, INDEX + 1)
    assert strip.spoken_value == f"{INDEX:#x} of {SIZE:#x}, index"
    set_decimal(True)
    assert strip.spoken_value == f"{INDEX} of {SIZE:,}, index"


@pytest.mark.parametrize("name", ["strip.svg", "strip.png"])
def test_the_strip_as_a_picture(strip: Overview, tmp_path: Path, name: str) -> None:
    """What is shown can be kept as SVG or PNG; a folder that is not there is told, not met with an exception."""
    assert write_picture(strip, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert b"<svg" in content if name.endswith("svg") else content.startswith(b"\x89PNG")
    assert not write_picture(strip, tmp_path / "none" / name)
