"""The strips of the comparison by themselves."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from shardcore import SectionRole
from shardcore.teaching.comparison import FormatRow, SectionShare
from shardscope.learning.comparison.strips import Strips

ROLES = (SectionRole.HEADER, SectionRole.INDEX, SectionRole.LOOKUP, SectionRole.DATA, SectionRole.FOOTER)


def bottom(strips: Strips, width: int, rows: tuple[FormatRow, ...], content: int) -> QImage:
    """The legend in a sheet of this width, with what is written beside it."""
    strips.resize(width, strips.sizeHint().height())
    strips.show_rows(rows, content)
    return strips.grab(QRect(0, strips.height() - 18, width, 18)).toImage()


def test_words_do_not_lie_over_the_legend(qtbot: QtBot) -> None:
    """In a narrow sheet the legend stays whole; in a wide one the size of the contents is told beside it."""
    strips = Strips()
    qtbot.addWidget(strips)
    pieces = tuple(SectionShare(role.value, role, 100) for role in ROLES)
    rows = (FormatRow("swh", "Read Shard", "", "", "", "", 500, 3, 1, pieces),)
    strips.show_rows(rows, 0)
    narrow, wide = round(strips.legend_stop) + 20, round(strips.legend_stop) + 400
    assert bottom(strips, narrow, rows, 490) == bottom(strips, narrow, rows, 0)
    assert bottom(strips, wide, rows, 490) != bottom(strips, wide, rows, 0)
