"""What is remembered."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QByteArray

from shardscope.startup.settings import MAX_RECENT, Settings


def test_recent_files(tmp_path: Path) -> None:
    """The latest is first, none is there twice, and the list is bounded; it survives the program."""
    settings = Settings(tmp_path / "s.ini")
    assert settings.recent == []
    for number in range(MAX_RECENT + 5):
        settings.add_recent(f"/data/{number}.shard")
    settings.add_recent("/data/9.shard")
    settings.add_recent("https://example.org/x.shard")
    settings.sync()
    again = Settings(tmp_path / "s.ini")
    assert again.recent[:2] == ["https://example.org/x.shard", "/data/9.shard"]
    assert len(again.recent) == MAX_RECENT
    assert len(set(again.recent)) == MAX_RECENT
    again.clear_recent()
    assert again.recent == []


def test_one_recent_file_is_a_list(tmp_path: Path) -> None:
    """A list of one comes back as a list."""
    settings = Settings(tmp_path / "s.ini")
    settings.add_recent("/data/1.shard")
    settings.sync()
    assert Settings(tmp_path / "s.ini").recent == ["/data/1.shard"]


def test_theme_and_layout(tmp_path: Path) -> None:
    """The theme is one of those there are; a layout comes back byte by byte."""
    settings = Settings(tmp_path / "s.ini")
    assert settings.theme == "system"
    settings.theme = "dark"
    settings.set_layout("state", QByteArray(b"\0\1\2\xff"))
    settings.sync()
    again = Settings(tmp_path / "s.ini")
    assert again.theme == "dark"
    assert again.layout("state") == QByteArray(b"\0\1\2\xff")
    assert again.layout("geometry") is None
    settings.theme = "pink"
    assert settings.theme == "system"


def test_theme_of_one_start(tmp_path: Path) -> None:
    """A theme given for one start is shown and not remembered; one that is chosen then is both."""
    path = tmp_path / "settings.ini"
    Settings(path).theme = "light"
    once = Settings(path, theme="dark")
    assert once.theme == "dark"
    assert Settings(path).theme == "light"
    once.theme = "light-safe"
    assert (once.theme, Settings(path).theme) == ("light-safe", "light-safe")


def test_a_lesson_on_an_address_is_remembered_without_its_signature(tmp_path: Path) -> None:
    """What is written down of a file of the user says where it is, and not how somebody gets in."""
    settings = Settings(tmp_path / "settings.ini")
    settings.set_lesson_step("small", 3, "https://me:word@host/a.shard?X-Amz-Signature=0123")
    settings.sync()
    assert settings.lesson_step("small", "https://host/a.shard?X-Amz-Signature=4567") == 3
    assert not {"word", "0123"} & set(re.findall(r"\w+", (tmp_path / "settings.ini").read_text()))
