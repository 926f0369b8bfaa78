"""A guard: on the GUI thread nothing reads a source and nothing lists or opens what lies in a folder."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

import shardcore.testing
from shardcore import Folder, Source

SOURCE_METHODS = ("read", "read_many", "read_last", "read_first", "_read", "_read_many", "_read_last", "_read_first")
FOLDER_METHODS = ("list", "open", "open_on_demand", "read", "has", "parent")

assert shardcore.testing.__name__, "its sources are guarded, too"


def subclasses(base: type) -> Iterator[type]:
    """A class and all that derive from it."""
    yield base
    for kind in base.__subclasses__():
        yield from subclasses(kind)


class GuiReads:
    """What was read where nothing may be.

    Attributes:
        found: Where from, the calls from the window down to the read.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.thread = threading.get_ident()

    def note(self, what: str) -> None:
        """Keeps a read when the window asked for it, not the test itself."""
        frames = [frame for frame in traceback.extract_stack() if "/shardscope/" in frame.filename]
        if frames and threading.get_ident() == self.thread:
            calls = [f"{frame.filename.rpartition('/shardscope/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
            self.found.append(f"{what} from {' > '.join(calls[-4:])}")


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
