"""What is remembered."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from shardscope.__main__ import quick_start
from shardscope.startup.settings import MAX_RECENT, Settings, settings_file


def test_recent_files(tmp_path: Path) -> None:
    """The latest is first, none is there twice, and the list is bounded; it survives the program."""
    settings = Settings(tmp_path / "s.json")
    for number in range(MAX_RECENT + 5):
        settings.add_recent(f"/data/{number}.shard")
    settings.add_recent("/data/9.shard")
    settings.add_recent("https://example.org/x.shard")
    again = Settings(tmp_path / "s.json")
    assert again.recent[:2] == ["https://example.org/x.shard", "/data/9.shard"]
    assert len(again.recent) == len(set(again.recent)) == MAX_RECENT
    again.clear_recent()
    assert again.recent == []


def test_theme_and_layout(tmp_path: Path) -> None:
    """The theme is one of those there are; one given for one start is not remembered; a layout comes back as it was."""
    path = tmp_path / "s.json"
    settings = Settings(path)
    assert settings.theme == "system"
    settings.theme = "light"
    settings.set_layout("state", QByteArray(b"\0\1\2\xff"))
    again, once = Settings(path), Settings(path, theme="dark")
    assert (again.theme, once.theme) == ("light", "dark")
    assert again.layout("state") == QByteArray(b"\0\1\2\xff")
    assert again.layout("geometry") is None
    once.theme = "light-safe"
    assert (once.theme, Settings(path).theme) == ("light-safe", "light-safe")
    settings.theme = "pink"
    assert settings.theme == "system"


PLANT = """
import os, sys
from PySide6.QtCore import QSettings
class Planted:
    def __reduce__(self):
        return os.mkdir, (sys.argv[1],)
for path in sys.argv[2:]:
    settings = QSettings(path, QSettings.Format.IniFormat)
    for key in ("FileDialog/history", "FileDialog/treeViewHeader", "FileDialog/viewMode", "layout/geometry", "theme"):
        settings.setValue(key, Planted())
    settings.sync()
"""
OPEN = """
import sys
from PySide6.QtWidgets import QApplication, QFileDialog
from shardscope.startup.settings import Settings, keep_qt_from_settings
keep_qt_from_settings()
application = QApplication([])
QFileDialog(options=QFileDialog.Option.DontUseNativeDialog).show()
settings = Settings()
print(settings.theme, settings.layout("geometry"))
"""


def test_settings_that_are_planted_run_nothing(tmp_path: Path) -> None:
    own = tmp_path / "shardscope"
    files = [tmp_path / "QtProject.conf", *(own / name for name in ("settings.json", "shardscope.ini"))]
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    for code in (PLANT, OPEN):
        command = [sys.executable, "-c", code, str(tmp_path / "ran"), *map(str, files)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "system None\n"
    assert b"PyObjectWrapper" in (own / "settings.json.invalid").read_bytes()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text",
    ["[layout]", "", "[]", "{", "\0" * 100, "[" * 100_000, '{"zoom": ' + "9" * 5000 + "}", " " * (17 << 20)],
    ids=["ini", "empty", "list", "cut", "zeros", "deep", "digits", "long"],
)
def test_an_invalid_file_is_renamed_and_reported(tmp_path: Path, text: str) -> None:
    path, told = tmp_path / "settings.json", list[str]()
    path.write_text(text)
    settings = Settings(path)
    settings.report_to(told.append)
    assert (settings.theme, settings.layout("geometry"), len(told)) == ("system", None, 1)
    assert str(path.with_name("settings.json.invalid")) in told[0]
    assert path.with_name("settings.json.invalid").read_text() == text
    settings.theme = "dark"
    assert (Settings(path).theme, len(told)) == ("dark", 1)


@pytest.mark.parametrize(
    "value", ["[[[]], {}, 1]", '{"a": [{}]}', "-1", "0.0", "1e999", "1" + "0" * 400, '"\\ud800"', "null"]
)
def test_values_of_another_kind_are_those_of_the_first_start(tmp_path: Path, value: str) -> None:
    stored = [name for name, one in vars(Settings).items() if hasattr(one, "__set_name__")]
    path, names = tmp_path / "s.json", ["theme", *stored]
    keys = ["layout/state", "columns/swh", "lessons/small", "lessons_done/small", *names]
    path.write_text("{" + ", ".join(f'"{key}": {value}' for key in keys) + "}")
    settings, empty = Settings(path), Settings(tmp_path / "none.json")
    assert [type(getattr(settings, name)) for name in names] == [type(getattr(empty, name)) for name in names]
    assert (settings.layout("state"), settings.lesson_step("small"), settings.zoom) == (None, -1, 1.0)
    assert not settings.is_lesson_done("small")
    assert not any(settings.columns("swh").values())


def test_two_windows_keep_the_values_of_both(tmp_path: Path) -> None:
    one, other = Settings(tmp_path / "s.json"), Settings(tmp_path / "s.json")
    one.theme, other.price = "dark", "gcs"
    one.zoom = 1.5
    again = Settings(tmp_path / "s.json")
    assert (again.theme, again.price, again.zoom) == ("dark", "gcs", 1.5)


def test_settings_that_cannot_be_written_are_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings_file() == tmp_path / "shardscope" / "settings.json"
    (tmp_path / "shardscope").mkdir()
    told: list[str] = []
    settings = Settings()
    settings.report_to(told.append)
    monkeypatch.setattr("shardscope.startup.settings.write_small", lambda *_, **__: open(tmp_path))  # noqa: SIM115
    settings.theme = "dark"
    settings.zoom = 2.0
    assert (settings.theme, len(told)) == ("dark", 1)


def test_the_collector_works_again_after_the_start() -> None:
    with quick_start():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), quick_start():
        raise ImportError("a library that Qt needs is missing")
    assert gc.isenabled()
