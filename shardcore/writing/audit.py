"""Audit log of a file, `FILE.audit.jsonl`: one JSON object per deletion, with person, time and reason."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shardcore.errors import SourceError, reason_of
from shardcore.system import give_mode, open_file, sync_file
from shardcore.writing.lock import real_path
from shardcore.writing.temporary import sync_folders

SUFFIX = ".audit.jsonl"


@dataclass(frozen=True, slots=True)
class Audit:
    """Reason and author of an edit, for the audit log; `time` is ISO 8601 in UTC (default: now)."""

    reason: str = ""
    who: str = ""
    ticket: str = ""
    time: str = ""

    def note(self, path: Path, verb: str, keys: Sequence[str], **facts: Any) -> None:
        """Append an entry to the audit log of a file, and sync it; `facts` are additional JSON members."""
        time = self.time or datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        given = {"reason": self.reason, "who": self.who, "ticket": self.ticket}
        line = {"time": time, "verb": verb, "file": real_path(path).name, "keys": list(keys), **given, **facts}
        _append(path, json.dumps(line).encode() + b"\n")


def audit_log_of(path: Path) -> Path:
    real = real_path(path)
    return real.with_name(real.name + SUFFIX)


def check_audit_log(path: Path) -> None:
    """Raise SourceError if the audit log cannot be written; called before the file is edited."""
    os.close(_opened(path))


def _append(path: Path, line: bytes) -> None:
    descriptor = _opened(path)
    try:
        size = os.fstat(descriptor).st_size
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                # Start a new line after an entry that a power failure truncated.
                line = b"\n" + line
        written = os.write(descriptor, line)
        if written < len(line):
            os.ftruncate(descriptor, size)
            raise OSError("the disk is full")
        sync_file(descriptor)
    except OSError as error:
        raise SourceError(f"cannot write {audit_log_of(path)}: {reason_of(error)}") from error
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    log = audit_log_of(path)
    flags = os.O_RDWR | os.O_APPEND
    try:
        with contextlib.suppress(FileNotFoundError):
            descriptor = open_file(log, flags)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise SourceError(f"cannot write {log}: not a regular file")
            return descriptor
        descriptor = open_file(log, flags | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            give_mode(descriptor, real_path(path))
            sync_folders([log.parent])
        except SourceError:
            os.close(descriptor)
            raise
        return descriptor
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot write {log}: {reason_of(error)}") from error
