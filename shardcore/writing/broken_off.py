"""A file under a temporary name that stays when the bytes stop coming, so that writing goes on there later."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from shardcore.errors import RemoteError, SourceChanged, SourceError, reason_of
from shardcore.writing.left_over import lock, stem_of
from shardcore.writing.temporary import BUFFER, Draining, TemporaryFile, is_replaceable, taken


class KeptFile(TemporaryFile):
    """A temporary file whose name says what it is the beginning of; it goes on where an earlier run broke off.

    Args:
        final: The name under which it appears.
        mark: Twelve hex digits of what it becomes: another content has another name.

    Raises:
        SourceError: The folder cannot be written to.
    """

    def __init__(self, final: Path, mark: str) -> None:
        Draining.__init__(self)
        self.final, self.durable, self._finishing, self._digest = final, False, None, ""
        self.path = final.parent / f".{stem_of(final)}.{mark}.part"
        self._held, self._over = None, False
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            self._file = os.fdopen(descriptor, "r+b", buffering=BUFFER)
            # Where somebody else writes it just now, both would write the same bytes; theirs go with their file.
            self._mine = lock(descriptor) or not hasattr(os, "O_NOFOLLOW")
            self.at = self._file.seek(0, os.SEEK_END)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot write {final}: {reason_of(error)}") from error

    @property
    def mine(self) -> bool:
        """Whether nobody else writes it."""
        return self._mine


def write_kept(
    path: Path, mark: str, size: int, pieces_from: Callable[[int], Iterator[bytes]], *, force: bool = False
) -> tuple[int, str] | None:
    """Writes one file that appears when it is complete, and goes on where an earlier run broke off.

    What was written stays when another machine gives no more bytes, and goes with every other failure.

    Args:
        path: The file.
        mark: See `KeptFile`.
        size: Bytes that it is going to have.
        pieces_from: Its bytes from an offset on.
        force: Whether a file is replaced.

    Returns:
        Its bytes, and their sha256; None where somebody else writes the same file.

    Raises:
        UsageError: The file exists already, and `force` is not set.
        SourceError: It cannot be written, or its bytes cannot be had.
    """
    if os.path.lexists(path) and not (force and is_replaceable(path)):
        raise taken(path)
    file = KeptFile(path, mark)
    if not file.mine:
        file.rest()
        return None
    digest = hashlib.sha256()
    try:
        if file.at > size:
            file.rewind(0)
        for piece in file.read_back():
            digest.update(piece)
        for piece in pieces_from(file.at):
            file.write(piece)
            digest.update(piece)
        if file.at != size:
            raise SourceError(f"cannot write {path}: {file.at} bytes came, not {size}")
        file.close()
        file.appear(force=force)
    except BaseException as error:
        if isinstance(error, RemoteError) and not isinstance(error, SourceChanged) and file.at:
            with contextlib.suppress(SourceError):
                file.close()
        else:
            file.discard()
        raise
    return file.at, digest.hexdigest()
