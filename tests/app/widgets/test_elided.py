"""Texts that are cut at the end."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from shardscope.widgets.elided import cut_text


@pytest.mark.parametrize("text", ["13 rows · 3,857,456 bytes", "payload [4,500]", "at 0x1f4e5a6", "46,464 rows"])
def test_numbers_are_not_cut(qapp: QApplication, text: str) -> None:
    """A number is shown entirely or not at all."""
    metrics = QFontMetricsF(qapp.font())
    numbers = {word.strip("[],") for word in text.split() if word.strip("[],")[0].isdigit()}
    for room in range(8, 400, 3):
        for word in cut_text(metrics, text, room).rstrip("…").split():
            assert not word.strip("[],")[:1].isdigit() or word.strip("[],") in numbers


@pytest.mark.parametrize("before", ["", "object "])
def test_keys_of_digits_keep_both_ends(qapp: QApplication, before: str) -> None:
    metrics, key = QFontMetricsF(qapp.font()), "864691135123456789"
    for letters in (8, 10, 14):
        room = metrics.horizontalAdvance("0" * (letters + len(before)))
        seen = cut_text(metrics, f"{before}{key} · 4,500 bytes", room)
        first, _, last = seen.partition("…")
        assert f"{before}{key}".startswith(first)
        assert last
        assert key.endswith(last)
