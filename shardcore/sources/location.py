"""Opening sources and folders by path, address or bytes."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote

from shardcore.dataclasses import replace
from shardcore.errors import SourceError, StoreUntrusted, UsageError, says_absent
from shardcore.model.text import visible
from shardcore.sources.base import WHOLE_HEAD, Folder, Source
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.sources.memory import BytesSource, FileObjectSource
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.system import path_of_url

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog

Openable = str | os.PathLike[str] | bytes | BinaryIO | Source | Folder
"""A path (of a file or folder), an address, bytes, a seekable binary file object, a `Source` or a `Folder`."""

MOST_TEXT = 16 << 20
"""Maximum bytes that `text_at` reads."""


def source_of(
    where: Openable,
    remote: RemoteOptions | None = None,
    tape: RequestLog | None = None,
    first: int = WHOLE_HEAD,
    marks: tuple[str, ...] = (),
) -> Source | Folder:
    """Return the source or folder for a path, address, bytes or file object; fetches `first` bytes of a remote file.

    `marks` are names of the files that mark a folder as a data set; they are requested if the folder cannot be listed.
    """
    if isinstance(where, (Source, Folder)):
        return where
    if isinstance(where, (bytes, bytearray, memoryview)):
        return BytesSource(bytes(where))
    if not isinstance(where, (str, os.PathLike)):
        if not hasattr(where, "seekable"):
            raise UsageError(
                f"{type(where).__name__} cannot be opened: give a path, an address, bytes or a file object"
            )
        return FileObjectSource(where)
    text = os.fsdecode(where)
    if not text:
        raise UsageError("no path given")
    if is_address(text):
        # Not needed for local files.
        from shardcore.sources.remote.options import RemoteOptions
        from shardcore.sources.remote.source import open_remote

        return open_remote(parse_address(text), remote or RemoteOptions(), tape, first, marks)
    path = local_path(text)
    # Path.is_dir raises for long names and without permission.
    return LocalFolder(path) if os.path.isdir(path) else FileSource(path)  # noqa: PTH112


def local_path(where: str | os.PathLike[str]) -> Path:
    """Return the path of a local file; `~` is the home folder, unless there is a file of that name."""
    text = os.fsdecode(where)
    if text.startswith("file://"):
        text = path_of_url(text)
    elif text.startswith("~") and not os.path.lexists(text):
        text = os.path.expanduser(text)  # noqa: PTH111 - Path.expanduser raises for unknown users
    return Path(text)


def folder_of(
    where: str | Path | Folder, remote: RemoteOptions | None = None, tape: RequestLog | None = None
) -> Folder:
    """Return the folder for a path or an address; UsageError if it is a file."""
    target = source_of(where, remote, tape)
    if isinstance(target, Folder):
        return target
    target.close()
    raise UsageError(f"{where} is a file, not a folder")


def text_at(where: str, mark: str, remote: RemoteOptions | None = None, tape: RequestLog | None = None) -> bytes:
    """Return at most `MOST_TEXT` bytes of the text file at an address, or of the file `mark` if that is a folder."""
    address = parse_address(where)
    if address.is_single_file:
        target = source_of(where, remote, tape)
        with closing(target):
            return target.read_first(MOST_TEXT) if isinstance(target, Source) else b""
    places = [] if address.is_folder else [(address.folder, address.path[len(address.folder.path) :])]
    if mark or not places:
        places.append((address.as_folder, mark))
    for number, (folder, name) in enumerate(places, 1):
        with closing(folder_of(folder.text, remote, tape)) as opened:
            try:
                return opened.read(unquote(name) if not address.in_store else name, MOST_TEXT)
            except SourceError as error:
                if number == len(places) or not says_absent(error):
                    raise
    raise AssertionError("unreachable: the last location raises")


class FolderOpener:
    """Opens folders that a file refers to, with the connection options and the request log of the caller of `open`."""

    def __init__(self, remote: RemoteOptions | None, tape: RequestLog | None) -> None:
        self._remote = remote
        self.tape = tape

    def __call__(
        self, address: str, *, endpoint_url: str | None = None, region: str | None = None, trusted: bool = False
    ) -> Folder:
        """Open a folder that a file refers to; the caller's store and region take precedence over those in the file.

        Raises `StoreUntrusted` if the user has not trusted the store, unless the caller named it (`trusted`).
        """
        from shardcore.sources.remote.options import ANY_STORE, RemoteOptions
        from shardcore.sources.remote.request_log import RequestLog

        chosen = self._remote or RemoteOptions()
        if not is_address(address):
            if not trusted and not chosen.trusted & {visible(address), ANY_STORE}:
                raise StoreUntrusted(file=address, stores=(visible(address),))
            return LocalFolder(Path(address))
        if not (chosen.endpoint_url or chosen.region):
            chosen = replace(chosen, endpoint_url=endpoint_url or None, region=region or None)
        # A store that the caller named in the options is trusted.
        named = trusted or (self._remote is not None and bool(self._remote.endpoint_url))
        if not named and ANY_STORE not in chosen.trusted:
            from shardcore.sources.remote.s3 import signer_of, store_of

            if (store := store_of(chosen)) not in chosen.trusted:
                raise StoreUntrusted(file=address, stores=(store,), who=signer_of(chosen))
        self.tape = self.tape if self.tape is not None else RequestLog()
        return folder_of(address if address.endswith("/") else f"{address}/", chosen, self.tape)
