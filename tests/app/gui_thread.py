"""A guard: on the GUI thread nothing reads a source and nothing lists or opens what lies in a folder."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest

from shardcore import Folder, Source

SOURCE_METHODS = ("_read", "_read_first", "_read_last", "_read_many")
FOLDER_METHODS = ("list", "open", "open_on_demand", "read", "has")

PACKAGE = "/app/shardscope/"


def subclasses(base: type) -> Iterator[type]:
    """A class and all that derive from it."""
    yield base
    for kind in base.__subclasses__():
        yield from subclasses(kind)


@cache
def knows_qt(file: str) -> bool:
    """Whether a module of the window stands on Qt; what does not is called by jobs, and by tests as they like."""
    return "PySide6" in Path(file).read_text("utf-8")


class GuiReads:
    """What was read where nothing may be.

    Attributes:
        found: Each read, and the calls of the window that led to it.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._thread = threading.get_ident()

    def note(self, what: str) -> None:
        """Keeps a read that the window made, on the thread of the test."""
        if threading.get_ident() != self._thread:
            return
        frames = [frame for frame in traceback.extract_stack() if PACKAGE in frame.filename]
        if frames and knows_qt(frames[0].filename):
            calls = [f"{frame.filename.rpartition(PACKAGE)[2]}:{frame.lineno} {frame.name}" for frame in frames]
            self.found.append(f"{what} by {' > '.join(calls[-4:])}")


@contextmanager
def guarded(reads: GuiReads) -> Iterator[None]:
    """Notes what the window reads on this thread."""
    with pytest.MonkeyPatch.context() as patch:
        for base, names in ((Source, SOURCE_METHODS), (Folder, FOLDER_METHODS)):
            for kind in {*subclasses(base)}:
                for name in names:
                    if callable(method := vars(kind).get(name)):
                        patch.setattr(kind, name, _watched(reads, f"{kind.__name__}.{name}", method))
        yield


def _watched(reads: GuiReads, what: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        reads.note(what)
        return method(*given, **named)

    return call
