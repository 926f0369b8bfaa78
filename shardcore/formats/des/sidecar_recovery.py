"""Recovering contents of a damaged shard by its sidecar, which has their offsets and sha256."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from shardcore.codecs.decompress import decompress_stream
from shardcore.errors import BadChecksum, ShardError, ends_reading
from shardcore.formats.des.layout import CODECS, HEADER
from shardcore.formats.des.sidecar import Sidecar, created_at_of, read_sidecar, sidecar_name, uid_and_time
from shardcore.model.finding import ContentBudget
from shardcore.model.span import Span
from shardcore.shards.salvage import Damaged, SalvagedObject
from shardcore.sources.base import read_pieces

BY_SIDECAR = "the sha256 in its sidecar"
_SHA256 = 64

Pieces = Callable[[], Iterator[bytes]]


def sidecar_of(damaged: Damaged) -> Sidecar | None:
    """Return the sidecar of a file, or None; if it cannot be used, a note is added to `damaged`."""
    name, folder = sidecar_name(damaged.source.name), damaged.source.folder
    if folder is None or not name:
        return None
    sidecar, error = read_sidecar(folder, name)
    if error is not None:
        if ends_reading(error):
            raise error
        damaged.notes.append(f"the sidecar cannot be used: {error.message}")
    return sidecar


def checksum_in(entry: dict[str, Any] | None) -> str:
    """Return the sha256 in a sidecar entry, as lower-case hex; "" if it has none."""
    checksum = entry.get("checksum") if entry else None
    if not entry or entry.get("checksum_algo", "sha256") != "sha256" or not isinstance(checksum, str):
        return ""
    return checksum.lower() if len(checksum) == _SHA256 else ""


def checked_pieces(pieces: Pieces, checksum: str, span: Span | None) -> Iterator[bytes]:
    """Yield the pieces of a content, then raise BadChecksum if its sha256 differs from `checksum`."""
    digest = hashlib.sha256()
    for piece in pieces():
        digest.update(piece)
        yield piece
    if digest.hexdigest() != checksum:
        raise BadChecksum(f"sha256: computed {digest.hexdigest()}, in the sidecar {checksum}", span=span)


def plain_pieces(damaged: Damaged, codec: str, span: Span, expected: int | None) -> Iterator[bytes]:
    stored = read_pieces(damaged.source, span.start, span.stop)
    return decompress_stream(codec, stored, limit=damaged.limit, expected=expected, span=span)


def by_sidecar(damaged: Damaged, sidecar: Sidecar, listed: set[str], trials: TrialBudget) -> Iterator[SalvagedObject]:
    """Yield contents that only the sidecar lists, read at their offset, or earlier by the number of missing bytes."""
    missing = _missing(damaged, sidecar)
    for uid, entry, deleted in _said(sidecar):
        if uid in listed or deleted:
            continue
        place = _place(entry)
        if place is None:
            continue
        yield _found(damaged, uid, entry, place, missing, trials)


def deleted_places(damaged: Damaged, sidecar: Sidecar) -> Iterator[tuple[int, int]]:
    missing = _missing(damaged, sidecar)
    for _, entry, deleted in _said(sidecar):
        place = _place(entry) if deleted else None
        if place is not None:
            for span in _spans(damaged, place, missing):
                yield span.start, span.stop


def _said(sidecar: Sidecar) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for key, entry in sidecar.index.items():
        uid, created_at = uid_and_time(key, entry)
        meta = entry.get("meta")
        created_at = (created_at_of(meta) if isinstance(meta, dict) else "") or created_at
        yield uid, entry, sidecar.tombstone(uid, created_at) is not None


def _missing(damaged: Damaged, sidecar: Sidecar) -> int:
    """Return the number of bytes missing from the file, according to `shard_size` in the sidecar."""
    size = sidecar.fields.get("shard_size")
    return size - damaged.source.size if isinstance(size, int) and not isinstance(size, bool) else 0


def _spans(damaged: Damaged, place: tuple[int, int], missing: int) -> list[Span]:
    start, length = place
    return [
        Span("", at, at + length)
        for at in dict.fromkeys((start, start - missing))
        if HEADER.size <= at and at + length <= damaged.source.size
    ]


def _place(entry: dict[str, Any]) -> tuple[int, int] | None:
    start, length = entry.get("offset"), entry.get("length")
    numbers = all(isinstance(one, int) and not isinstance(one, bool) for one in (start, length))
    if not numbers or entry.get("codec") not in CODECS or not isinstance(start, int) or not isinstance(length, int):
        return None
    return (start, length) if start >= HEADER.size and length >= 0 else None


def _found(
    damaged: Damaged, uid: str, entry: dict[str, Any], place: tuple[int, int], missing: int, trials: TrialBudget
) -> SalvagedObject:
    checksum, codec = checksum_in(entry), str(entry["codec"])
    size = entry.get("uncompressed_size")
    expected = size if isinstance(size, int) and 0 <= size < 1 << 63 else None
    spans = _spans(damaged, place, missing)
    for span in spans:
        pieces = partial(plain_pieces, damaged, codec, span, expected)
        if not checksum:
            return SalvagedObject(uid, uid, (span,), pieces, without_index=True)
        whole = partial(checked_pieces, pieces, checksum, span)
        if reads_to_end(trials, whole):
            return SalvagedObject(uid, uid, (span,), whole, BY_SIDECAR, without_index=True)
    if spans and trials.left < 0:
        # The budget is spent: the checksum is compared when the content is written.
        pieces = partial(plain_pieces, damaged, codec, spans[0], expected)
        whole = partial(checked_pieces, pieces, checksum, spans[0])
        return SalvagedObject(uid, uid, (spans[0],), whole, BY_SIDECAR, without_index=True)
    why = "its bytes are no longer in the file" if not spans else "the sha256 of the bytes at its offset differs"
    return SalvagedObject(uid, uid, tuple(spans), why=why, without_index=True)


class TrialBudget:
    """Budget for contents that are decompressed only to find their location."""

    def __init__(self, size: int) -> None:
        self.left = ContentBudget(size).left


def reads_to_end(trials: TrialBudget, pieces: Pieces) -> bool:
    """Return True if a content can be read to its end; False if not, or if the budget is spent."""
    try:
        for piece in pieces():
            trials.left -= len(piece)
            if trials.left < 0:
                return False
    except ShardError as error:
        if ends_reading(error):
            raise
        return False
    return True
