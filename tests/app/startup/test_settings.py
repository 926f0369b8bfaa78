"""What is remembered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from shardscope.startup.settings import MAX_RECENT, Settings, settings_file


def test_recent_files(tmp_path: Path) -> None:
    """The latest is first, none is there twice, and the list is bounded; it survives the program."""
    settings = Settings(tmp_path / "s.json")
    assert settings.recent == []
    for number in range(MAX_RECENT + 5):
        settings.add_recent(f"/data/{number}.shard")
    settings.add_recent("/data/9.shard")
    settings.add_recent("https://example.org/x.shard")
    again = Settings(tmp_path / "s.json")
    assert again.recent[:2] == ["https://example.org/x.shard", "/data/9.shard"]
    assert len(again.recent) == MAX_RECENT
    assert len(set(again.recent)) == MAX_RECENT
    again.clear_recent()
    assert again.recent == []


def test_theme_and_layout(tmp_path: Path) -> None:
    """The theme is one of those there are; a layout comes back byte by byte."""
    settings = Settings(tmp_path / "s.json")
    assert settings.theme == "system"
    settings.theme = "dark"
    settings.set_layout("state", QByteArray(b"\0\1\2\xff"))
    again = Settings(tmp_path / "s.json")
    assert again.theme == "dark"
    assert again.layout("state") == QByteArray(b"\0\1\2\xff")
    assert again.layout("geometry") is None
    settings.theme = "pink"
    assert settings.theme == "system"


def test_theme_of_one_start(tmp_path: Path) -> None:
    """A theme given for one start is shown and not remembered; one that is chosen then is both."""
    path = tmp_path / "settings.json"
    Settings(path).theme = "light"
    once = Settings(path, theme="dark")
    assert once.theme == "dark"
    assert Settings(path).theme == "light"
    once.theme = "light-safe"
    assert (once.theme, Settings(path).theme) == ("light-safe", "light-safe")


KINDS = ("", "_done")


def is_stored(attribute: object) -> bool:
    return hasattr(attribute, "__set_name__")


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


@pytest.mark.parametrize("value", ["[[[]], {}, 1]", '{"a": [{}]}', "-1", "1e999", "1" + "0" * 400, '"\\ud800"', "null"])
def test_values_of_another_kind_are_those_of_the_first_start(tmp_path: Path, value: str) -> None:
    path, names = tmp_path / "s.json", ["theme", *(name for name, one in vars(Settings).items() if is_stored(one))]
    keys = ["layout/state", "columns/swh", *(f"lessons{kind}/small" for kind in KINDS), *names]
    path.write_text("{" + ", ".join(f'"{key}": {value}' for key in keys) + "}")
    settings, empty = Settings(path), Settings(tmp_path / "none.json")
    assert [type(getattr(settings, name)) for name in names] == [type(getattr(empty, name)) for name in names]
    assert settings.layout("state") is None
    assert settings.lesson_step("small") == -1
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
