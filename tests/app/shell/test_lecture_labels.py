"""Labels of drawings in a lecture on a screen of 1920 × 1080: large enough for the last row."""

from __future__ import annotations

import os
import pytest
from pytestqt.qtbot import QtBot
from PySide6.QtWidgets import QApplication

from shardcore.teaching.drawing.picture import NORMAL, Text
from shardcore.teaching.lessons.html_page import lesson_stages
from shardcore.teaching.lessons.lesson import Lesson
from shardcore.teaching.lessons.lesson_list import lessons, missions
from shardcore.teaching.slides import lesson_slide
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle

LEAST = 24
"""Pixels of the smallest label."""


@pytest.mark.thorough
@pytest.mark.parametrize("lesson", [*lessons(), *missions()], ids=lambda lesson: lesson.name)
def test_labels_are_readable(lesson: Lesson, window: MainWindow) -> None:
    screen = window.start_lecture(full=False)
    screen.resize(1920, 1080)
    view, small = screen.drawing, []
    for stage in lesson_stages(lesson):
        screen._sketches, screen._stage = tuple(stage.scene.shard.sketches(stage.scene.trace)), stage
        screen._show(stage.number, lesson_slide(stage))
        QApplication.processEvents()
        was=None
        for beat in range(len(screen.slide.beats)):
            screen.beat = beat
            screen._refresh()
            QApplication.processEvents()
            if view.picture is None or view.picture is was: continue
            was=view.picture
            scale = view.transform().m11()
            size, text = min((max(shape.size, NORMAL) * scale, shape.text) for shape in view.picture.shapes if isinstance(shape, Text))
            bars = [b.isVisible() for b in (view.verticalScrollBar(), view.horizontalScrollBar())]
            cut=[t.text for t in view.picture.shapes if isinstance(t,Text) and t.text.endswith("…")]
            if "TOOL" in os.environ: print(lesson.name, stage.number, beat, f"{size:.1f}", repr(text), (round(view.picture.width*scale),round(view.picture.height*scale)), view.viewport().size().toTuple(), "CROWDED" if screen._crowded else "", "BARS" if any(bars) else "", screen.bytes.isVisible(), cut[:5])
            if size < LEAST - 0.5: small.append((stage.number,beat,size,text))
    screen.close()
    settle(window, 20)
    assert not small
