"""The legend explains the sections of the file that is open."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from shardcore import Section, SectionRole
from shardscope.views.hex.legend import Legend


def test_the_tooltip_has_the_sentence_of_each_section(qtbot: QtBot) -> None:
    legend = Legend()
    qtbot.addWidget(legend)
    legend.parts = (
        Section("file info", SectionRole.INDEX, 0, 8, "The segments of every file."),
        Section("file lookup", SectionRole.LOOKUP, 8, 16, "Hashes, sorted."),
    )
    legend.set_roles([part.role for part in legend.parts], ())
    assert legend.told.splitlines()[:4] == [
        "I · index (section)",
        "    file info: The segments of every file.",
        "L · lookup (section)",
        "    file lookup: Hashes, sorted.",
    ]
