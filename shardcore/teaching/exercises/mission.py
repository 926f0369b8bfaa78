"""A mission out of a damaged copy of a file: the copy, and a lesson about it, in a folder or a zip. No Qt here.

The lesson asks which check detects the damage, where it is, and has it mended; its answers come from the two files.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import shardcore
from shardcore.errors import ShardError, SourceError, UsageError, reason_of
from shardcore.model.finding import Depth, Severity
from shardcore.model.number_words import plural
from shardcore.shards.registry import format_of
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source
from shardcore.sources.local import FileSource
from shardcore.teaching.lessons.values import literal
from shardcore.writing.temporary import write_whole

MOST_BYTES = 64 << 20
_MOST_PLACES = 12
"""Changed bytes that the last hint states."""

_DAY = (1980, 1, 1, 0, 0, 0)
"""Date of what is in a zip: equal missions are equal files."""

_OPENING, _NOTHING = "Opening the file", "No check"


def make_mission(original: Path, damaged: Path, out: Path, *, force: bool = False) -> Path:
    """Write a mission: the damaged file, and the lesson about it; return the place of the lesson or of the zip.

    Args:
        original: The file as it was.
        damaged: A damaged copy.
        out: A folder, or a file that ends in `.zip`.
        force: Whether files are replaced.

    Raises:
        UsageError: The files are equal, or there is something already.
        ShardError: One cannot be read or written, or the original is no shard.
    """
    with FileSource(original) as was, FileSource(damaged) as now:
        return write_mission(bytes_of(was), bytes_of(now), damaged.name, out, force=force)


def write_mission(was: bytes, now: bytes, name: str, out: Path, *, force: bool = False) -> Path:
    """Write a mission out of the bytes of a file and of its damaged copy; as `make_mission`.

    Args:
        was: The bytes as they were.
        now: Those of the copy.
        name: Name of the copy.
        out: A folder, or a file that ends in `.zip`.
        force: Whether files are replaced.
    """
    if was == now:
        raise UsageError("the files are equal: nothing is damaged")
    name = re.sub(r"[^\w.-]+", "_", Path(name).name).lstrip(".") or "damaged"
    lesson = f"mission-{Path(name).stem}.md"
    text = mission_text(was, now, name).encode()
    if out.suffix.lower() == ".zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for inner, data in ((lesson, text), (name, now)):
                archive.writestr(zipfile.ZipInfo(inner, _DAY), data)
        write_whole(out, [packed.getvalue()], force=force)
        return out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot write {out}: {reason_of(error)}") from error
    write_whole(out / name, [now], force=force)
    write_whole(out / lesson, [text], force=force)
    return out / lesson


def mission_text(was: bytes, now: bytes, name: str) -> str:
    """Return the lesson about a damaged file.

    Args:
        was: The bytes as they were.
        now: Those of the damaged copy.
        name: Name of the copy, which lies beside the lesson.
    """
    changed = _changed(was, now)
    first = int(changed[0]) if len(changed) else min(len(was), len(now))
    with shardcore.open(was) as shard:
        format, section = shard.format, _section_at(shard, first)
    title = format_of(format).title
    head = [
        f"# Mission: mend {name}",
        "",
        f"format: {format}",
        f"sample: {name}",
        "minutes: 15",
        f"about: A damaged file, {_safe(title)}. Find the damage, and mend it in the sandbox.",
    ]
    return "\n".join((*head, *_what(now, format), *_where(was, now, first, section), *_mend(was, now, changed))) + "\n"


def _what(now: bytes, format: str) -> Iterator[str]:
    """Yield the question which check detects the damage."""
    found, sentence = _detected(now, format)
    text = "The bytes of this file were changed. Run the checks, one after the other."
    yield from ("", "## What is wrong?", "", text, "")
    yield "- ask: Which check is the first to report an error?"
    for choice in (_OPENING, *(f"Verify {depth.value}" for depth in Depth), _NOTHING):
        if choice == found:
            yield f"- choice right: {choice}"
        else:
            yield f"- choice wrong: {choice} | Verify *structure*, *index* and *content* in turn, and read *Findings*."
    yield "- hint: *Tools › Verify structure* is Ctrl+1, *index* Ctrl+2, *content* Ctrl+3."
    yield f"- right: {_safe(sentence)}"


def _detected(now: bytes, format: str) -> tuple[str, str]:
    """Return what detects the damage first, and what it says."""
    try:
        with shardcore.open(now, format=format, partial=True) as shard:
            if shard.damage is not None:
                return _OPENING, shard.damage.message
            for depth in Depth:
                errors = [one for one in shard.verify(depth).findings if one.severity is Severity.ERROR]
                if errors:
                    return f"Verify {depth.value}", errors[0].message
    except ShardError as error:
        return _OPENING, error.message
    return _NOTHING, "No check covers these bytes: a reader returns them as they are."


def _where(was: bytes, now: bytes, first: int, section: str) -> Iterator[str]:
    """Yield the question where the damage begins."""
    yield from ("", "## Where is it?", "")
    yield f"The file has {len(now):,} bytes{_length(was, now)}. Findings point to bytes: look at those beside them."
    yield ""
    yield "- ask: At which offset is the first byte that is not as it was?"
    yield f"- answer number: {first}"
    yield f"- hint: It is in the section *{_safe(section)}*."
    yield f"- hint: It is one of the bytes {first & ~15:,} to {first | 15:,}."
    for near, text in ((first - 1, "one byte too early"), (first + 1, "one byte too late")):
        if near >= 0:
            yield f"- wrong {near}: That is {text}."
    yield "- wrong: The byte there is as it was. Read what the findings point to."
    yield f"- right: Byte {first:,}, in the section *{_safe(section)}*."


def _mend(was: bytes, now: bytes, changed: NDArray[np.int64]) -> Iterator[str]:
    """Yield the task to mend the file; of one that was cut, what can still be recovered."""
    yield from ("", "## Mend it", "")
    if len(now) < len(was):
        yield f"{plural(len(was) - len(now), 'byte')} are gone, and no sandbox brings them back."
        yield "*Tools › Recover objects…* takes out what is left."
        yield from ("", "- ask: How many bytes are missing?", f"- answer number: {len(was) - len(now)}")
        yield f"- hint: The file had {len(was):,} bytes."
        yield f"- right: The file had {len(was):,} bytes."
        return
    yield "Choose *Tools › Sandbox*, and change the bytes back. The file on disk stays as it is."
    yield from ("", "- ask: Mend the file in the sandbox; then press *Check*.")
    yield f"- answer mended: sha256 {hashlib.sha256(was).hexdigest()}"
    yield f"- hint: Bytes to mend: {len(changed) + abs(len(was) - len(now)):,}."
    yield f"- hint: {_changes(was, now, changed)}."
    yield "- right: Every byte is as it was."


def _length(was: bytes, now: bytes) -> str:
    if len(now) == len(was):
        return ", as before"
    return f"; it had {len(was):,}" if len(now) > len(was) else ""


def _changed(was: bytes, now: bytes) -> NDArray[np.int64]:
    """Return the offsets of the bytes that differ, as far as both files go."""
    common = min(len(was), len(now))
    first, second = (np.frombuffer(data, np.uint8, common) for data in (was, now))
    return np.flatnonzero(first != second)


def _changes(was: bytes, now: bytes, changed: NDArray[np.int64]) -> str:
    """Return the bytes to change; the first of them where there are many."""
    places = changed[:_MOST_PLACES].tolist()
    said = [f"byte {at:,} is `{now[at]:02x}`, and was `{was[at]:02x}`" for at in places]
    if len(changed) > _MOST_PLACES:
        said.append(f"and {len(changed) - _MOST_PLACES:,} more")
    if len(now) > len(was):
        said.append(f"{plural(len(now) - len(was), 'byte')} have to be cut out")
    return "; ".join(said)



def _section_at(shard: Shard, offset: int) -> str:
    return next((section.name for section in shard.sections if section.start <= offset < section.stop), "end")


def _safe(text: str) -> str:
    """Return a text for one line of a lesson, without the bar between its parts."""
    return literal(" ".join(text.replace("|", "/").split()))


def bytes_of(source: Source) -> bytes:
    """Return all bytes of a file that a mission is made of.

    Raises:
        UsageError: There are too many.
        SourceError: They cannot be read.
    """
    if source.size > MOST_BYTES:
        raise UsageError(f"{source.name}: a mission is made of files up to {MOST_BYTES >> 20} MiB")
    return bytes(source.read(0, source.size))


__all__ = ["bytes_of", "make_mission", "mission_text", "write_mission"]
