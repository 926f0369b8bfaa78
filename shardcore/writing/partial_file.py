"""Partial file of an interrupted download, and the record with which a later run continues it.

The folder may be shared, or created by another user, so nothing in it is trusted: a record in the home folder of the
user has the digest of the bytes received so far.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, RemoteError, SourceChanged, SourceError
from shardcore.sources.local import open_side_file, read_side_file
from shardcore.system import is_own, open_file, replace_file, user_folder
from shardcore.writing.temporary import BUFFER, STREAM_PIECE, TemporaryFile, free_name
from shardcore.writing.temporary_names import is_left_over, lock, new_run

NOTED_EVERY = 64 << 20
"""Number of received bytes after which the record is written again; a later run resumes from it."""

MOST_RECORDS = 200
"""Maximum number of records of partial files; the oldest are removed."""

_MOST_TEXT = 4096
_DIGEST = re.compile(r"[0-9a-f]{64}")


class PartialRecord:
    """Record of a partial file: its name, and size and digest of its bytes.

    `mark` identifies the content: address, size and ETag of the source, and the key.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self._final = path
        # Resolve links: the folder may be given by a descriptor path, which differs between runs.
        real = os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118
        name = hashlib.sha256(f"{real}\n{mark}".encode("utf-8", "surrogatepass")).hexdigest()
        self._path = user_folder("state") / "resume" / f"{name}.json"

    def note(self, file: TemporaryFile, sha256: str) -> bool:
        """Write the record; return whether that succeeded."""
        text = json.dumps({"part": file.path.name, "size": file.at, "sha256": sha256})
        fresh = self._path.with_name(f"{new_run()}.new")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(fresh, "x", encoding="utf-8", opener=partial(open_file, mode=0o600)) as stream:
                stream.write(text)
            replace_file(fresh, self._path)
            records = list(self._path.parent.iterdir())
            if len(records) > MOST_RECORDS:
                records.sort(key=lambda path: path.stat().st_mtime)
                for path in records[:-MOST_RECORDS]:
                    path.unlink(missing_ok=True)
        except (OSError, ValueError):
            return False
        return True

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()

    def left(self, size: int) -> tuple[TemporaryFile, hashlib._Hash] | None:
        """Open and hash the partial file of an earlier run; None if it is missing or differs from the record."""
        noted = self._noted()
        if noted is None or noted[1] > size:
            return None
        part, came, sha256 = noted
        path = self._final.parent / part
        try:
            file: IO[bytes] = io.BufferedRandom(open_side_file(path, writable=True), BUFFER)  # type: ignore[arg-type]
        except SourceError:
            return None
        kept = TemporaryFile(self._final, path=path, file=file)
        digest, ours = hashlib.sha256(), False
        with contextlib.suppress(OSError):
            found = os.fstat(file.fileno())
            # If the file has a second hard link, writing would also change that file.
            ours = found.st_nlink == 1 and is_own(found) and lock(file.fileno())
            # Another run may have completed and renamed it.
            ours = ours and os.path.samestat(found, path.lstat())
        if not ours:
            kept.rest()
            return None
        try:
            while kept.at < came and (piece := file.read(min(STREAM_PIECE, came - kept.at))):
                digest.update(piece)
                kept.at += len(piece)
            if digest.hexdigest() == sha256:
                kept.rewind(came)
                return kept, digest
        except (OSError, SourceError):
            pass
        kept.discard()
        return None

    def _noted(self) -> tuple[str, int, str] | None:
        try:
            found = parse_json(read_side_file(self._path, _MOST_TEXT).decode(), "the record")
            part, size, sha256 = found["part"], found["size"], found["sha256"]
        except (SourceError, FormatError, ValueError, LookupError, TypeError):
            return None
        fits = isinstance(part, str) and is_left_over(part) and Path(part).name == part
        fits = fits and type(size) is int and size > 0 and isinstance(sha256, str) and bool(_DIGEST.fullmatch(sha256))
        return (part, size, sha256) if fits else None


def write_resumable(
    path: Path,
    mark: str,
    size: int,
    pieces_from: Callable[[int], Iterator[bytes]],
    *,
    force: bool = False,
    other: Callable[[], Path] | None = None,
) -> tuple[Path, int, str]:
    """Write a file, or continue the partial file of an earlier run; return its name, size and sha256.

    The partial file is kept if the remote source fails, and removed after any other error. `other` returns another
    name if `path` exists; see `TemporaryFile.appear`.
    """
    path = free_name(path, force=force, other=other)
    record = PartialRecord(path, mark)
    file, digest = record.left(size) or (TemporaryFile(path), hashlib.sha256())
    due = file.at + NOTED_EVERY
    try:
        for piece in pieces_from(file.at):
            file.write(piece)
            digest.update(piece)
            if file.at >= due:
                file.file.flush()
                record.note(file, digest.hexdigest())
                due = file.at + NOTED_EVERY
        if file.at != size:
            raise SourceError(f"cannot write {path}: received {file.at} bytes instead of {size}")
        # Keep the lock until the rename; otherwise another run would continue the complete file.
        file.hold()
        file.close()
        file.appear(other, force=force)
    except BaseException as error:
        may_go_on = isinstance(error, RemoteError) and not isinstance(error, SourceChanged) and file.at > 0
        if may_go_on and record.note(file, digest.hexdigest()):
            with contextlib.suppress(SourceError):
                file.close()
            file.let_go()
        else:
            file.discard()
            record.drop()
        raise
    file.let_go()
    record.drop()
    return file.final, file.at, digest.hexdigest()
