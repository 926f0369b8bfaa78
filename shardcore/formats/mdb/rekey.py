"""Rekeying: copying a shard with an HMAC key for its chunk hashes, or with a new expiry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shardcore.codecs.xet.hashes import SIZE, ZERO, words
from shardcore.errors import FormatError, UsageError
from shardcore.formats.mdb.footer_text import expiry_field, read_key, read_time
from shardcore.formats.mdb.hashes import protect_many
from shardcore.formats.mdb.layout import CHUNK, CHUNK_LOOKUP, FOOTER, FOOTER_SIZE, RECORD_SIZE
from shardcore.writing.in_place import check_other_file
from shardcore.writing.output import Output

if TYPE_CHECKING:
    from shardcore.formats.mdb.file import MdbFile
    from shardcore.formats.mdb.shard import MdbShard
    from shardcore.writing.plan import WrittenFile


def rekey(
    shard: MdbShard, target: str | Path, *, key: str = "", expiry: str = "", force: bool = False
) -> tuple[WrittenFile, ...]:
    """Write a copy of a shard with an HMAC key, a new expiry, or both; all other bytes stay the same.

    Args:
        shard: The shard; it does not change.
        target: Path of the new file.
        key: The HMAC key, 64 hex digits; empty to keep the chunk hashes.
        expiry: An ISO date, Unix seconds or `none`; empty to keep the expiry.
        force: Replace an existing file.

    Raises:
        UsageError: Nothing to change, the shard is keyed already or has no footer, or the target is not allowed.
        FormatError: The shard is damaged.
    """
    if not key and not expiry:
        raise UsageError("nothing to change; pass --key HEX, --expiry WHEN or both")
    check_other_file(shard.source, target)
    data = rekeyed(shard.file, read_key(key), expiry)
    output = Output(target, force=force)
    try:
        file = output.open()
        file.write(data)
        file.complete(len(shard.objects))
        return output.commit()
    except BaseException:
        output.discard()
        raise


def rekeyed(file: MdbFile, key: bytes, expiry: str) -> bytes:
    index = file.load()
    if file.damage is not None:
        raise FormatError(f"a damaged shard cannot be rekeyed: {file.damage.message}", span=file.damage.span)
    if not file.footer_fields:
        raise UsageError("the upload form has no footer, so it cannot store an HMAC key or an expiry")
    if key != ZERO and index.keyed:
        raise UsageError("the chunk hashes are keyed already; the original hashes cannot be restored")
    fields = dict(file.footer_fields)
    data = np.frombuffer(bytearray(index.data), np.uint8)
    if key != ZERO:
        fields["chunk_hash_hmac_key"] = key
        _protect(file, data, key)
    if expiry:
        full = bool(file.layout.tables)
        fields["shard_key_expiry"] = expiry_field(read_time("expiry", expiry), for_ever=full)
    data[-FOOTER_SIZE:] = np.frombuffer(FOOTER.pack(**fields), np.uint8)
    return data.tobytes()


def _protect(file: MdbFile, data: np.ndarray[tuple[int], np.dtype[np.uint8]], key: bytes) -> None:
    """Key the chunk hashes in `data`, and sort the chunk lookup table by the new keys."""
    index = file.load()
    start, stop = file.layout.cas_info
    section = data[start:stop].reshape(-1, RECORD_SIZE)
    entries = index.xorbs.entries
    if len(entries):
        section[entries, :SIZE] = protect_many(key, np.ascontiguousarray(section[entries, :SIZE]))
    table = file.layout.tables.get(CHUNK)
    if table is None:
        return
    rows = index.table_rows(CHUNK).copy()
    records = rows["index"].astype(np.int64) + 1 + rows["chunk"]
    wrong = np.flatnonzero(records >= len(section))
    if len(wrong):
        at = int(wrong[0])
        raise FormatError(f"entry {at} of the chunk lookup table refers to no record", span=table.span(at, at + 1))
    rows["key"] = words(np.ascontiguousarray(section[records, :SIZE]))[:, 0]
    rows = rows[np.lexsort((rows["chunk"], rows["index"], rows["key"]))]
    data[table.start : table.stop] = np.frombuffer(CHUNK_LOOKUP.write(rows), np.uint8)
