"""Settings of the user in one JSON file: recent files, theme, layout, choices."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QByteArray, QSettings  # noqa: TID251 - nothing is read by it

from shardcore.codecs.json_text import FREE, parse_json
from shardcore.errors import FormatError, ShardError, SourceError, reason_of
from shardcore.sources.local import read_side_file
from shardcore.sources.remote.address import is_address, shown_address
from shardcore.system import replace_file, user_folder
from shardcore.writing.in_place import real_path
from shardcore.writing.temporary import write_small

MAX_RECENT = 12

THEMES = {
    "system": "Follow system",
    "light": "Light",
    "dark": "Dark",
    "light-safe": "Light, colour-blind safe",
    "dark-safe": "Dark, colour-blind safe",
    "dark-room": "Dark room",
}

T = TypeVar("T")


def settings_file() -> Path:
    return user_folder("config") / "settings.json"


def keep_qt_from_settings() -> None:
    """Disable the files of QSettings: PySide unpickles Python objects in them, which would run code from the file."""
    for scope in (QSettings.Scope.UserScope, QSettings.Scope.SystemScope):
        QSettings.setPath(QSettings.Format.NativeFormat, scope, os.devnull)


class _Setting(Generic[T]):
    """Descriptor for a setting; `clean` converts its value in the file, which may be missing (None) or invalid."""

    def __init__(self, clean: Callable[[object], T]) -> None:
        self._clean = clean

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, settings: Settings, owner: type) -> T:
        return self._clean(settings.value(self._name))

    def __set__(self, settings: Settings, value: T) -> None:
        settings.set_value(self._name, value)


def _off(value: object) -> bool:
    return value is True


def _on(value: object) -> bool:
    return value is not False


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)][:MAX_RECENT] if isinstance(value, list) else []


def _by_name(value: object) -> dict[str, str]:
    return {name: str(one) for name, one in value.items()} if isinstance(value, dict) else {}


def _factor(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 < value < 100 else 1.0


def _entries(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _pairs(value: object) -> list[tuple[str, str]]:
    pairs = value if isinstance(value, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) == 2]


class Settings:
    """Settings in the file of the user, or in the file `path`. The argument `theme` applies to this start only.

    Each change is written at once, after reading the file again: another window may have changed it.
    An invalid file is renamed to `*.invalid`, and all settings get their defaults.
    """

    extraction = _Setting(_by_name)
    sketches = _Setting(_by_name)
    reduced_motion = _Setting(_off)
    decimal_offsets = _Setting(_off)
    play_speed = _Setting(_factor)
    zoom = _Setting(_factor)
    bytes_zoom = _Setting(_factor)
    """Zoom factor of the bytes, relative to `zoom`."""
    lecture_dark = _Setting(_off)
    restores_tabs = _Setting(_off)
    """At the next start, reopen `tabs`, the files that were open when the window was closed."""
    tabs = _Setting(_entries)
    connections = _Setting(_by_name)
    """Connection options by bucket or server, without credentials."""
    price = _Setting(_text)
    """Name of the price list for requests; empty: default."""
    pack_format = _Setting(_text)
    pack_folder = _Setting(_text)
    schematic = _Setting(_off)
    """Draw the sections of the overview by order of magnitude instead of to scale."""
    fields_shown = _Setting(_on)
    rows_folded = _Setting(_on)
    searches = _Setting(_pairs)
    """Byte searches as (kind, text), the latest first."""
    recent = _Setting(_texts)
    """URIs of opened files, the latest first."""
    folders = _Setting(_texts)
    searched_folders = _Setting(_texts)

    def __init__(self, path: Path | None = None, *, theme: str = "") -> None:
        self._theme = theme
        self._path = path or settings_file()
        self._values: dict[str, Any] = {}
        self._problems: list[str] = []
        self._show_problem: Callable[[str], object] = lambda text: None
        self._load()

    def report_to(self, report: Callable[[str], object]) -> None:
        self._show_problem = report
        for text in self._problems:
            report(text)

    def value(self, name: str) -> object:
        return self._values.get(name)

    def set_value(self, name: str, value: object) -> None:
        """Write a value to the file; None removes it. Problems are reported, not raised."""
        if value == self._values.get(name) or not self._load():
            return
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = value
        try:
            path = real_path(self._path)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_small(path, json.dumps(self._values, indent=1, sort_keys=True).encode(), force=True)
        except (ShardError, OSError) as error:
            self._report(f"settings are not saved: {reason_of(error) if isinstance(error, OSError) else error}")

    def _load(self) -> bool:
        """Read the file; return whether it can be written."""
        try:
            text = read_side_file(real_path(self._path), FREE.size + 1)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return True
            self._report(f"settings are neither read nor saved: {error.message}")
            return False
        try:
            values = parse_json(text, "the file", limits=FREE)
            if not isinstance(values, dict):
                raise FormatError("not a JSON object")
            self._values = values
        except ShardError as error:
            aside = self._path.with_name(f"{self._path.name}.invalid")
            try:
                replace_file(self._path, aside)
            except OSError as second:
                self._report(f"settings are neither read nor saved: {self._path} is invalid: {reason_of(second)}")
                return False
            self._report(f"invalid settings were moved to {aside}: {error.message}")
        return True

    def _report(self, text: str) -> None:
        if text not in self._problems:
            self._problems.append(text)
            self._show_problem(text)

    def add_recent(self, uri: str) -> None:
        name = uri if is_address(uri) else str(Path(uri).absolute())
        self.recent = _first(name, self.recent)

    def clear_recent(self) -> None:
        self.recent = []

    def add_folder(self, path: str) -> None:
        self.folders = _first(path, self.folders)

    def add_searched_folder(self, path: str) -> None:
        self.searched_folders = _first(shown_address(path), self.searched_folders)

    @property
    def theme(self) -> str:
        value = self._theme or self.value("theme")
        return value if isinstance(value, str) and value in THEMES else "system"

    @theme.setter
    def theme(self, name: str) -> None:
        self._theme = ""
        self.set_value("theme", name)

    def lesson_step(self, name: str) -> int:
        step = self.value(f"lessons/{name}")
        return step if type(step) is int and 0 <= step < 10_000 else -1

    def set_lesson_step(self, name: str, step: int) -> None:
        self.set_value(f"lessons/{name}", step)

    def forget_lesson(self, name: str) -> None:
        for kind in ("lessons", "lessons_done"):
            self.set_value(f"{kind}/{name}", None)

    def is_lesson_done(self, name: str) -> bool:
        return _off(self.value(f"lessons_done/{name}"))

    def set_lesson_done(self, name: str) -> None:
        self.set_value(f"lessons_done/{name}", True)

    def columns(self, format: str) -> dict[str, bool]:
        value = self.value(f"columns/{format or 'none'}")
        return {name: shown is True for name, shown in value.items()} if isinstance(value, dict) else {}

    def set_columns(self, format: str, wanted: dict[str, bool]) -> None:
        self.set_value(f"columns/{format or 'none'}", wanted or None)

    def layout(self, name: str) -> QByteArray | None:
        value = QByteArray.fromBase64(_text(self.value(f"layout/{name}")).encode("ascii", "ignore"))
        return None if value.isEmpty() else value

    def set_layout(self, name: str, value: QByteArray) -> None:
        self.set_value(f"layout/{name}", value.toBase64().toStdString())


def _first(name: str, names: list[str]) -> list[str]:
    return [name, *(other for other in names if other != name)][:MAX_RECENT]
