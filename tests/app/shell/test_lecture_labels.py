"""Drawings of lessons in a lecture on a screen of 1920 × 1080 pixels: all labels are readable from the last row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from shardcore.teaching.drawing.picture import NORMAL, Text
from shardcore.teaching.lessons.html_page import lesson_stages
from shardcore.teaching.lessons.lesson import Lesson
from shardcore.teaching.lessons.lesson_list import lessons, missions
from shardcore.teaching.slides import lesson_slide
from shardscope.shell.lecture import LectureScreen
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle

LEAST = 23.9
"""Pixels of the smallest label; on a screen, 24."""


def heights(screen: LectureScreen) -> Iterator[tuple[int, int]]:
    """The positions and heights of what stays in its place from sentence to sentence."""
    for part in (screen.sentence, screen.drawings, screen.bytes):
        yield part.y(), part.height()


@pytest.mark.thorough
@pytest.mark.parametrize("lesson", [*lessons(), *missions()], ids=lambda lesson: f"{lesson.name}-{len(lesson.steps)}")
def test_labels_are_readable_and_nothing_moves(lesson: Lesson, window: MainWindow) -> None:
    screen = window.start_lecture(full=False)
    screen.resize(1920, 1080)
    settle(window, 20)
    view = screen.drawing
    for stage in lesson_stages(lesson):
        screen._sketches, screen._stage = tuple(stage.scene.shard.sketches(stage.scene.trace)), stage
        screen._show(stage.number, lesson_slide(stage))
        settle(window, 20)
        before = list(heights(screen))
        for beat in range(len(screen.slide.beats)):
            screen.beat = beat
            screen._refresh()
            QApplication.processEvents()
            where = f"step {stage.number + 1}, sentence {beat + 1}"
            assert list(heights(screen)) == before, where
            scale, texts = view.transform().m11(), [one for one in view.picture.shapes if isinstance(one, Text)]
            small = [one.text for one in texts if max(one.size, NORMAL) * scale < LEAST]
            assert not small, where
            assert not view.verticalScrollBar().isVisible(), where
    screen.close()
