"""The journals of a file: `FILE.undo` is about its last edit, `FILE.undo.1`, `FILE.undo.2` … about those before it.

A new edit moves the journal of the one before to the next number, and undoing moves it back. A run that is killed in
between leaves no `FILE.undo`: then the highest number is about the last edit.
"""

from __future__ import annotations

import os
from pathlib import Path

from shardcore.errors import SourceError, reason_of

SUFFIX = ".undo"


def journal_of(path: Path) -> Path:
    """The name of the journal of the last edit of a file."""
    return path.with_name(path.name + SUFFIX)


def earlier_journals(path: Path) -> list[Path]:
    """The journals of the edits before the last one, the oldest first."""
    found: list[Path] = []
    while os.path.lexists(one := _numbered(path, len(found) + 1)):
        found.append(one)
    return found


def put_aside(path: Path) -> None:
    """Makes room for the journal of another edit.

    Raises:
        SourceError: The journal cannot be renamed.
    """
    now = journal_of(path)
    if os.path.lexists(now):
        _rename(now, _numbered(path, len(earlier_journals(path)) + 1))


def bring_back(path: Path) -> None:
    """Makes the journal of the edit before the one that counts, where that has none any more.

    Raises:
        SourceError: The journal cannot be renamed.
    """
    if not os.path.lexists(journal_of(path)) and (earlier := earlier_journals(path)):
        _rename(earlier[-1], journal_of(path))


def forget(path: Path) -> None:
    """Removes all journals of a file.

    Raises:
        SourceError: One cannot be removed.
    """
    # The oldest goes last: what is left of the row is never torn.
    for one in (journal_of(path), *reversed(earlier_journals(path))):
        try:
            one.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"cannot remove {one}: {reason_of(error)}") from error


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}{SUFFIX}.{number}")


def _rename(old: Path, new: Path) -> None:
    try:
        old.rename(new)
    except OSError as error:
        raise SourceError(f"cannot rename {old}: {reason_of(error)}") from error
