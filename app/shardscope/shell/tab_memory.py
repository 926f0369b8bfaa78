"""Tabs of the last window, opened again at the start where that is set."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from shardcore import Span
from shardcore.model.inside_path import inside_link
from shardcore.shards.registry import CONTAINERS, FORMATS
from shardcore.sources.remote.address import is_address, shown_address
from shardcore.teaching.lessons.fresh import is_fresh
from shardscope.session.documents import MOST_OPEN, Document
from shardscope.session.jobs import JobPriority
from shardscope.session.open_request import OpenRequest, file_of
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.shell.notices import Notices, NoticeTone
from shardscope.startup.settings import Settings

LONGEST_OPTIONS = 16 * 1024
"""Letters of the options of one file that are remembered."""

MOST_NAMED = 5
"""Files that a notice names."""


class TabMemory(QObject):
    def __init__(self, session: Session, settings: Settings, notices: Notices, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._settings = settings
        self._notices = notices
        self.chosen = QAction(self.tr("Restore &tabs at start"), parent)
        self.chosen.setCheckable(True)
        self.chosen.setChecked(settings.restores_tabs)
        self.chosen.setToolTip(self.tr("The next start opens the files that are open when the window is closed"))
        self.chosen.toggled.connect(self._choose)

    def _choose(self, chosen: bool) -> None:
        self._settings.restores_tabs = chosen
        if not chosen:
            self._settings.tabs = []

    def save(self) -> None:
        if not self.chosen.isChecked():
            return
        entries = []
        for document in self._session.documents:
            entry = _entry(document.request, self._place_in(document))
            if entry is not None:
                entries.append({**entry, "current": document is self._session.document})
        self._settings.tabs = entries

    def _place_in(self, document: Document) -> int:
        shown = document is self._session.document
        chosen = self._session.selection if shown else document.state.get("selection")
        span = chosen.span if isinstance(chosen, Selection) else document.select
        return span.start if span is not None and not span.source else 0

    def restore(self, *, behind: bool = False) -> None:
        if not self.chosen.isChecked():
            return
        entries = [entry for entry in self._settings.tabs[:MOST_OPEN] if _is_sound(entry)]
        if not entries:
            return

        def there(_: object) -> list[bool]:
            return [_is_there(entry["uri"]) for entry in entries]

        def done(found: list[bool] | None, error: BaseException | None) -> None:
            if found is None:
                return
            gone = [entry["uri"] for entry, here in zip(entries, found, strict=True) if not here]
            kept = [entry for entry, here in zip(entries, found, strict=True) if here]
            current = next((n for n, entry in enumerate(kept) if entry.get("current")), 0)
            self._session.open_tabs([_request(entry) for entry in kept], -1 if behind else current)
            if gone:
                self._tell_gone(gone)

        self._session.jobs.submit(there, priority=JobPriority.SCREEN, lasting=True, done=done)

    def _tell_gone(self, gone: list[str]) -> None:
        more = self.tr(" and {0} more").format(len(gone) - MOST_NAMED) if len(gone) > MOST_NAMED else ""
        text = self.tr("Not found, so not restored: {0}{1}").format(", ".join(gone[:MOST_NAMED]), more)
        self._notices.tell(text, NoticeTone.WARNING, about="tabs", lasting=True)


def _is_there(uri: str) -> bool:
    # A path that is too long does not exist, and is no error.
    return is_address(uri) or os.path.exists(uri) or os.path.exists(file_of(uri))  # noqa: PTH110


def _entry(request: OpenRequest, offset: int) -> dict[str, Any] | None:
    uri = request.uri if is_address(request.uri) else str(Path(request.uri).absolute())
    if is_fresh(uri) or (is_address(uri) and shown_address(uri) != uri):
        return None
    options = {name: value for name, value in request.options.items() if _is_plain(value)}
    if len(json.dumps(options)) > LONGEST_OPTIONS:
        return None
    uri = inside_link(uri, request.inside)
    return {"uri": uri, "format": request.format, "options": options, "offset": offset}


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return shown_address(value) == value if is_address(value) else True
    return isinstance(value, (bool, int, float))


def _is_sound(entry: dict[str, Any]) -> bool:
    uri, format, options, offset = (entry.get(name) for name in ("uri", "format", "options", "offset"))
    texts = isinstance(uri, str) and bool(uri) and (format is None or format in (*FORMATS, *CONTAINERS))
    plain = isinstance(options, dict) and all(_is_plain(value) for value in options.values())
    return texts and plain and type(offset) is int and offset >= 0


def _request(entry: dict[str, Any]) -> tuple[OpenRequest, Span | None]:
    offset = entry["offset"]
    select = Span("", offset, offset + 1) if offset else None
    return OpenRequest(entry["uri"], entry["format"], entry["options"]), select
