"""From 100 % to 200 %: the window is as large as it was, and no words are cut in any panel and dialog."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.contact_sheet import SIZES, ZOOMS, pictures

ROOT = Path(__file__).parents[3]


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("zoom", ZOOMS)
def test_no_words_are_cut_at_any_zoom(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], zoom: float
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_DATA_HOME", "")
    made = pictures("light", size, zoom, ())
    assert [f"{name}: {why}" for name, _, found in made for why in found] == []
