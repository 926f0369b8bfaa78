"""Manifest of an extraction: key and metadata of every file."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

from shardcore.shards.shard import Shard
from shardcore.writing.temporary import TemporaryFile

MANIFEST = "manifest.json"


def numbered(number: int) -> str:
    return MANIFEST if number == 1 else f"manifest-{number}.json"


class ManifestWriter:
    """Manifest that is streamed to a temporary file; `root` is the prefix of result paths (default: the folder)."""

    def __init__(self, shard: Shard, folder: Path, root: str = "") -> None:
        self._folder = folder
        self._root = root or str(folder)
        self._file = TemporaryFile(folder / MANIFEST)
        self._empty = True
        uri = shard.source.uri if shard.source is not None else getattr(shard, "uri", "")
        facts: dict[str, Any] = {"uri": uri, "format": shard.format}
        facts |= shard.write_options
        self._write("{" + "".join(f"\n {_json(name)}: {_json(value)}," for name, value in facts.items()))
        self._write('\n "objects": [')

    def add(self, line: dict[str, Any]) -> None:
        # `Path.relative_to` is too slow for millions of lines.
        path = line["path"].removeprefix(self._root).replace(os.sep, "/").lstrip("/")
        self._write(("\n  " if self._empty else ",\n  ") + _json(line | {"path": path}))
        self._empty = False

    def appear(self) -> Path:
        self._write("\n ]\n}\n")
        self._file.complete()
        numbers = count(2)
        return self._file.appear_as(lambda: self._folder / numbered(next(numbers)))

    def discard(self) -> None:
        self._file.discard()

    def _write(self, text: str) -> None:
        self._file.write(text.encode("ascii"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)
