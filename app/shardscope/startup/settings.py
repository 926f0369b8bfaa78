"""Settings: recent files, theme, layout of the window."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings

from shardcore.sources.remote.address import is_address, shown_address

MAX_RECENT = 12
MAX_LESSONS = 40
"""Of so many lessons on files of the user the step is remembered."""

THEMES = ("system", "light", "dark", "light-safe", "dark-safe", "dark-room")


class Settings:
    """The settings of the user, or those of a file.

    Args:
        path: Keeps the settings in this file instead of the user's own.
        theme: The theme of this start; what is remembered stays until the user chooses another.
    """

    def __init__(self, path: Path | None = None, *, theme: str = "") -> None:
        self._theme = theme
        if path is None:
            ini = QSettings.Format.IniFormat
            self._store = QSettings(ini, QSettings.Scope.UserScope, "shardscope", "shardscope")
        else:
            self._store = QSettings(str(path), QSettings.Format.IniFormat)

    @property
    def recent(self) -> list[str]:
        """Return what was opened, the latest first."""
        value = self._store.value("recent", [])
        names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return [str(name) for name in names][:MAX_RECENT]

    def add_recent(self, uri: str) -> None:
        """Put something that was opened first; paths are made absolute."""
        name = uri if is_address(uri) else str(Path(uri).absolute())
        self._store.setValue("recent", [name, *(other for other in self.recent if other != name)][:MAX_RECENT])

    def clear_recent(self) -> None:
        """Forget all."""
        self._store.remove("recent")

    @property
    def theme(self) -> str:
        """The chosen theme, one of `THEMES`."""
        value = self._theme or str(self._store.value("theme", "system"))
        return value if value in THEMES else "system"

    @theme.setter
    def theme(self, name: str) -> None:
        self._theme = ""
        self._store.setValue("theme", name)

    @property
    def extraction(self) -> dict[str, str]:
        """The choices of the last extraction, by name; empty at the first start."""
        found = self._json("extraction")
        return {str(name): str(one) for name, one in found.items()} if isinstance(found, dict) else {}

    @extraction.setter
    def extraction(self, choices: dict[str, str]) -> None:
        self._store.setValue("extraction", json.dumps(choices))

    @property
    def sketches(self) -> dict[str, str]:
        """The drawing that was looked at last, by format."""
        found = self._json("sketches")
        return {str(name): str(one) for name, one in found.items()} if isinstance(found, dict) else {}

    @sketches.setter
    def sketches(self, names: dict[str, str]) -> None:
        self._store.setValue("sketches", json.dumps(names))

    @property
    def folders(self) -> list[str]:
        """The folders that were extracted to, the latest first."""
        value = self._store.value("folders", [])
        names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return [str(name) for name in names][:MAX_RECENT]

    def add_folder(self, path: str) -> None:
        """Put a folder that was extracted to first."""
        self._store.setValue("folders", [path, *(other for other in self.folders if other != path)][:MAX_RECENT])

    @property
    def searched_folders(self) -> list[str]:
        """The folders that were searched for a key, the latest first."""
        value = self._store.value("searched_folders", [])
        names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return [str(name) for name in names][:MAX_RECENT]

    def add_searched_folder(self, path: str) -> None:
        """Put a folder that was searched for a key first."""
        shown = shown_address(path)
        others = [other for other in self.searched_folders if other != shown]
        self._store.setValue("searched_folders", [shown, *others][:MAX_RECENT])

    @property
    def reduced_motion(self) -> bool:
        """Return whether nothing shall move by itself."""
        return str(self._store.value("reduced_motion", "false")) == "true"

    @reduced_motion.setter
    def reduced_motion(self, reduced: bool) -> None:
        self._store.setValue("reduced_motion", "true" if reduced else "false")

    @property
    def play_speed(self) -> float:
        """Return the speed at which steps and walks are played; 1 at the first start."""
        return self._number("play_speed")

    @play_speed.setter
    def play_speed(self, factor: float) -> None:
        self._store.setValue("play_speed", str(factor))

    @property
    def zoom(self) -> float:
        """Return the zoom of the window: 1 is 100 %; 1 at the first start."""
        return self._number("zoom")

    @zoom.setter
    def zoom(self, factor: float) -> None:
        self._store.setValue("zoom", str(factor))

    @property
    def bytes_zoom(self) -> float:
        """Return the zoom of the bytes, relative to that of the window; 1 at the first start."""
        return self._number("bytes_zoom")

    @bytes_zoom.setter
    def bytes_zoom(self, factor: float) -> None:
        self._store.setValue("bytes_zoom", str(factor))

    @property
    def lecture_dark(self) -> bool:
        """Return whether lectures are shown in the dark room theme."""
        return self._flag("lecture_dark")

    @lecture_dark.setter
    def lecture_dark(self, chosen: bool) -> None:
        self._set_flag("lecture_dark", chosen)

    def _flag(self, name: str, *, usual: bool = False) -> bool:
        """Return a choice that is stored as `yes` or `no`."""
        return str(self._store.value(name, "yes" if usual else "no")) == "yes"

    def _set_flag(self, name: str, chosen: bool) -> None:
        self._store.setValue(name, "yes" if chosen else "no")

    def _json(self, name: str) -> object:
        """Return a value that is stored as JSON; None where it is none."""
        value = self._store.value(name, "")
        try:
            return json.loads(value) if isinstance(value, str) else None
        except ValueError:
            return None

    def _number(self, name: str) -> float:
        """Return a factor that is remembered; 1 where it is none."""
        try:
            return float(str(self._store.value(name, "1")))
        except ValueError:
            return 1.0

    @property
    def restores_tabs(self) -> bool:
        """Return whether the tabs of the last window are opened at the start."""
        return self._flag("restores_tabs")

    @restores_tabs.setter
    def restores_tabs(self, chosen: bool) -> None:
        self._set_flag("restores_tabs", chosen)

    @property
    def tabs(self) -> list[dict[str, Any]]:
        """Return the tabs of the last window, as they were stored."""
        found = self._json("tabs")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    @tabs.setter
    def tabs(self, entries: list[dict[str, Any]]) -> None:
        self._store.setValue("tabs", json.dumps(entries))

    @property
    def connections(self) -> dict[str, str]:
        """Return how remote places were reached, by bucket or server; without secrets."""
        found = self._json("connections")
        return {str(place): str(way) for place, way in found.items()} if isinstance(found, dict) else {}

    @connections.setter
    def connections(self, ways: dict[str, str]) -> None:
        self._store.setValue("connections", json.dumps(ways))

    @property
    def price(self) -> str:
        """The name of the prices by which requests are counted; empty for the usual ones."""
        return str(self._store.value("price", ""))

    @price.setter
    def price(self, name: str) -> None:
        self._store.setValue("price", name)

    def lesson_step(self, name: str, uri: str = "") -> int:
        """Return the step of a lesson that was seen last, from 0; -1 when it was never begun.

        Args:
            name: The lesson.
            uri: The file of the user that it is walked through on; empty for its sample.
        """
        if uri:
            return self._lessons_on_files().get(_place(name, uri), -1)
        value = str(self._store.value(f"lessons/{name}", ""))
        return int(value) if value.isdecimal() else -1

    def set_lesson_step(self, name: str, step: int, uri: str = "") -> None:
        """Remember a step of a lesson; of lessons on files of the user, the latest of them."""
        if not uri:
            self._store.setValue(f"lessons/{name}", step)
            return
        place = _place(name, uri)
        others = [(other, at) for other, at in self._lessons_on_files().items() if other != place]
        self._store.setValue("lessons_on_files", json.dumps(dict([*others, (place, step)][-MAX_LESSONS:])))

    def _lessons_on_files(self) -> dict[str, int]:
        """Steps by lesson and file, the latest last."""
        found = self._json("lessons_on_files")
        some = found.items() if isinstance(found, dict) else ()
        return {str(place): step for place, step in some if isinstance(step, int) and step >= 0}

    def forget_lesson(self, name: str) -> None:
        """A lesson is as if nobody had begun it, on its sample and on all files."""
        self._store.remove(f"lessons/{name}")
        self._store.remove(f"lessons_done/{name}")
        self._store.remove(f"lessons_shown/{name}")
        kept = {place: at for place, at in self._lessons_on_files().items() if not place.startswith(f"{name} ")}
        self._store.setValue("lessons_on_files", json.dumps(kept))

    def lesson_shown(self, name: str) -> frozenset[int]:
        """Return the steps of a lesson, from 0, whose answers *Show me* gave, and which were not answered since."""
        value = str(self._store.value(f"lessons_shown/{name}", ""))
        return frozenset(int(number) for number in value.split(" ") if number.isdecimal())

    def set_lesson_shown(self, name: str, steps: Iterable[int]) -> None:
        """Remember the steps of a lesson whose answers were shown."""
        self._store.setValue(f"lessons_shown/{name}", " ".join(map(str, sorted(steps))))

    def is_lesson_done(self, name: str) -> bool:
        """Return whether a lesson was gone through to its end."""
        return self._flag(f"lessons_done/{name}")

    def set_lesson_done(self, name: str) -> None:
        """Remember that a lesson was gone through."""
        self._set_flag(f"lessons_done/{name}", True)

    @property
    def pack_format(self) -> str:
        """The name of the format that was last written, or empty."""
        return str(self._store.value("pack_format", ""))

    @pack_format.setter
    def pack_format(self, name: str) -> None:
        self._store.setValue("pack_format", name)

    @property
    def pack_folder(self) -> str:
        """The folder of the shard that was last written, or empty."""
        return str(self._store.value("pack_folder", ""))

    @pack_folder.setter
    def pack_folder(self, path: str) -> None:
        self._store.setValue("pack_folder", path)

    @property
    def schematic(self) -> bool:
        """Return whether the overview is schematic, and not to scale."""
        return self._flag("schematic")

    @schematic.setter
    def schematic(self, chosen: bool) -> None:
        self._set_flag("schematic", chosen)

    @property
    def fields_shown(self) -> bool:
        """Return whether the fields is beside the bytes."""
        return self._flag("fields_shown", usual=True)

    @fields_shown.setter
    def fields_shown(self, shown: bool) -> None:
        self._set_flag("fields_shown", shown)

    @property
    def searches(self) -> list[tuple[str, str]]:
        """Return what was searched for in bytes, the latest first: kind and text."""
        found = self._json("searches")
        pairs = found if isinstance(found, list) else []
        return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]

    @searches.setter
    def searches(self, entries: list[tuple[str, str]]) -> None:
        self._store.setValue("searches", json.dumps(entries))

    def columns(self, format: str) -> dict[str, bool]:
        """The columns of objects that the user wants to see or to hide, in files of a format; others are free."""
        value = self._store.value(f"columns/{format or 'none'}", [])
        names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return {str(name).lstrip("-"): not str(name).startswith("-") for name in names if name}

    def set_columns(self, format: str, wanted: dict[str, bool]) -> None:
        """Remember what the user wants to see; nothing wanted is nothing remembered."""
        names = [name if shown else f"-{name}" for name, shown in sorted(wanted.items())]
        self._store.setValue(f"columns/{format or 'none'}", names)

    def layout(self, name: str) -> QByteArray | None:
        """Return the saved layout of that name (`geometry`, `state`), or None."""
        value = self._store.value(f"layout/{name}")
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None

    def set_layout(self, name: str, value: QByteArray) -> None:
        """Save a layout."""
        self._store.setValue(f"layout/{name}", value)

    def sync(self) -> None:
        """Write what is not written yet."""
        self._store.sync()


def _place(lesson: str, uri: str) -> str:
    """Return a lesson on a file of the user, as it may be written down: without login and signature."""
    return f"{lesson} {shown_address(uri) if is_address(uri) else Path(uri).absolute()}"
