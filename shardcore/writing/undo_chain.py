"""Chain of journals: `FILE.undo` belongs to the last edit, `FILE.undo.1`, `FILE.undo.2` … to those before it.

They are beside the real file, not beside a link to it. A new edit renames the previous journal to the next number,
and undo renames it back. A run that is killed in between leaves no `FILE.undo`; the highest number is then the last.
"""

from __future__ import annotations

import os
from pathlib import Path

from shardcore.errors import SourceError, reason_of
from shardcore.writing.lock import real_path

SUFFIX = ".undo"


def journal_of(path: Path) -> Path:
    real = real_path(path)
    return real.with_name(real.name + SUFFIX)


def earlier_journals(path: Path) -> list[Path]:
    """Return the journals of the edits before the last one, the oldest first."""
    found: list[Path] = []
    while os.path.lexists(one := _numbered(path, len(found) + 1)):
        found.append(one)
    return found


def all_journals(path: Path) -> list[Path]:
    """Return all journals, that of the last edit first; gaps in the numbers are allowed."""
    last = journal_of(path)
    lead = f"{last.name}."
    try:
        names = [one.name for one in last.parent.iterdir()]
    except OSError as error:
        raise SourceError(f"cannot list {last.parent}: {reason_of(error)}") from error
    numbers = sorted((int(name[len(lead) :]) for name in names if _is_numbered(name, lead)), reverse=True)
    return [*([last] if last.name in names else []), *(_numbered(path, number) for number in numbers)]


def _is_numbered(name: str, lead: str) -> bool:
    digits = name[len(lead) :] if name.startswith(lead) else ""
    return digits.isascii() and digits.isdigit() and str(int(digits)) == digits


def put_aside(path: Path) -> None:
    """Rename the journal of the last edit to the next number, before another edit."""
    now = journal_of(path)
    if os.path.lexists(now):
        _rename(now, _numbered(path, len(earlier_journals(path)) + 1))


def bring_back(path: Path) -> None:
    """Rename the journal with the highest number to `FILE.undo`, if that is missing."""
    if not os.path.lexists(journal_of(path)) and (earlier := earlier_journals(path)):
        _rename(earlier[-1], journal_of(path))


def forget(path: Path) -> None:
    # Remove the oldest last, so that the remaining chain has no gap.
    for one in (journal_of(path), *reversed(earlier_journals(path))):
        try:
            one.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"cannot remove {one}: {reason_of(error)}") from error


def _numbered(path: Path, number: int) -> Path:
    last = journal_of(path)
    return last.with_name(f"{last.name}.{number}")


def _rename(old: Path, new: Path) -> None:
    try:
        old.rename(new)
    except OSError as error:
        raise SourceError(f"cannot rename {old}: {reason_of(error)}") from error
