"""Bytes in memory and open file objects as sources, and files in memory as a folder."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

from shardcore.errors import SourceError, UsageError, reported_as
from shardcore.model.span import Span
from shardcore.sources.base import Entry, Folder, Source, check_name

if TYPE_CHECKING:
    from tempfile import SpooledTemporaryFile


class BytesSource(Source):
    """Bytes in memory.

    Args:
        data: The bytes.
        name: Name for display; `@start-stop` for decoded bytes.
        folder: Folder of the files beside it, or None.
    """

    def __init__(self, data: bytes, name: str = "bytes", *, folder: Folder | None = None) -> None:
        self.data = data
        self.name = name
        self.uri = name
        self.folder = folder

    @property
    def size(self) -> int:
        return len(self.data)

    @cached_property
    def identity(self) -> str:
        import hashlib

        return f"{self.uri}#{self.size}-{hashlib.blake2b(self.data, digest_size=16).hexdigest()}"

    def _read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]


class FileObjectSource(Source):
    """An open binary file object. The caller closes it, and must expect that its position changes.

    Raises:
        UsageError: It is not seekable, or was opened as text.
        SourceError: It is closed, or cannot be read.
    """

    def __init__(self, file: BinaryIO | SpooledTemporaryFile[bytes], name: str = "") -> None:
        self._file = file
        self._lock = threading.Lock()
        self.name = self.uri = name or str(getattr(file, "name", "") or type(file).__name__)
        with reported_as(f"cannot read {self.name}"):
            if not file.seekable():
                raise UsageError(f"{self.name} is not seekable: read it, and open the bytes")
            if isinstance(file.read(0), str):
                raise UsageError(f"{self.name} was opened as text: open it in binary mode, such as open(path, 'rb')")
            self._size = file.seek(0, 2)

    @property
    def size(self) -> int:
        return self._size

    def _read(self, start: int, stop: int) -> bytes:
        with self._lock, reported_as(f"cannot read {self.name}"):
            self._file.seek(start)
            data = self._file.read(stop - start)
        if len(data) != stop - start:
            raise SourceError(f"{self.name} ended at byte {start + len(data):,}", span=Span("", start, stop))
        return data


class BytesFolder(Folder):
    """Files in memory by path; `inside` is the prefix of this folder, empty or ending with `/`."""

    def __init__(self, files: Mapping[str, bytes], inside: str = "") -> None:
        self.name = inside.rstrip("/").rpartition("/")[2] or "memory"
        self.uri = f"memory/{inside}"
        self._files = files
        self._inside = inside

    def list(self, prefix: str = "") -> builtins.list[Entry]:
        lead = f"{self._inside}{prefix.rstrip('/')}/" if prefix else self._inside
        names = [name[len(self._inside) :] for name in self._files if name.startswith(lead)]
        depth = len(lead) - len(self._inside)
        files = [Entry(n, len(self._files[self._inside + n]), False) for n in names if "/" not in n[depth:]]
        folders = {n[: n.index("/", depth)] for n in names if "/" in n[depth:]}
        return sorted([*files, *(Entry(n, -1, True) for n in folders)], key=lambda entry: entry.name)

    def open(self, name: str) -> Source:
        path = self._inside + check_name(name)
        if path not in self._files:
            raise SourceError(f"{name} not found") from FileNotFoundError(path)
        source = BytesSource(self._files[path], path.rpartition("/")[2], folder=self)
        source.uri = f"memory/{path}"
        return source

    def folder(self, name: str) -> Folder:
        return BytesFolder(self._files, f"{self._inside}{check_name(name)}/")

    def parent(self) -> Folder | None:
        return None
