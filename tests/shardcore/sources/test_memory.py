"""Files in memory as a folder."""

from __future__ import annotations

import pytest

from shardcore import SourceError
from shardcore.sources.memory import BytesFolder


def test_files_in_memory() -> None:
    root = BytesFolder({"d/b": b"22", "a": b"1", "d/e/c": b"333"})
    assert [(one.name, one.size, one.is_folder) for one in root.list()] == [("a", 1, False), ("d", -1, True)]
    assert [(one.name, one.size) for one in root.list("d")] == [("d/b", 2), ("d/e", -1)]
    inner = root.folder("d").folder("e")
    assert (inner.name, [one.name for one in inner.list()]) == ("e", ["c"])
    assert inner.open("c").read(1, 3) == b"33"
    assert root.open("d/b").uri == "memory/d/b"
    assert not root.has("x")
    for name in ("../a", "d", "/a"):
        with pytest.raises(SourceError):
            root.open(name)
    assert root.parent() is None
