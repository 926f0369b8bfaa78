"""Shards of any size, made from a seed; every hash that follows from the random ones is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, tree_roots, words
from shardcore.formats.mdb import layout
from shardcore.formats.mdb.layout import file_hashes, protect_many, range_hashes


def made_shard(seed: int, files: int, xorbs: int, chunks: int, *, key: bytes = bytes(32), tables: bool = True) -> bytes:
    """A full shard with random chunk hashes, in which every hash that follows from them is right.

    Args:
        seed: Of the random numbers.
        files: Number of files, of three segments each.
        xorbs: Number of xorbs.
        chunks: Chunks in each xorb; more than ten.
        key: Under which chunk hashes are stored.
        tables: Whether there are lookup tables.
    """
    dice = np.random.default_rng(seed)
    hashes = dice.integers(0, 256, (xorbs * chunks, 32), dtype=np.uint8)
    sizes = dice.integers(8192, 131072, xorbs * chunks).astype(np.uint64)
    bounds = np.arange(xorbs + 1) * chunks
    roots = tree_roots(hashes, sizes, bounds)
    file_part, headers = _file_section(dice, files, chunks, hashes, sizes, roots)
    cas_part, entries = _cas_section(chunks, protect_many(key, hashes), sizes, roots)
    parts = [layout.HEADER.pack(footer_size=layout.FOOTER.size), file_part, cas_part]
    lookups = [
        (layout.FILE_LOOKUP, headers, np.arange(files) * 8, None),
        (layout.XORB_LOOKUP, roots, np.arange(xorbs) * (chunks + 1), None),
        (
            layout.CHUNK_LOOKUP,
            entries,
            np.repeat(np.arange(xorbs) * (chunks + 1), chunks),
            np.tile(np.arange(chunks), xorbs),
        ),
    ]
    places = []
    for record, whole, index, number in lookups:
        places.append(sum(map(len, parts)))
        if tables:
            parts.append(_lookup(record, whole, index, number))
    segments = np.frombuffer(file_part, layout.FILE_ENTRY.dtype)[: files * 8].reshape(files, 8)[:, 1:4]
    counts = [files, xorbs, xorbs * chunks] if tables else [0, 0, 0]
    names = ("file", "xorb", "chunk")
    footer = {f"{name}_lookup_offset": place for name, place in zip(names, places, strict=True)}
    footer |= {f"{name}_lookup_num_entry": count for name, count in zip(names, counts, strict=True)}
    footer |= {"cas_info_offset": len(parts[0]) + len(file_part), "footer_offset": sum(map(len, parts))}
    footer |= {"shard_creation_timestamp": 1_700_000_000, "shard_key_expiry": 4_000_000_000, "chunk_hash_hmac_key": key}
    footer["materialized_bytes"] = int(segments["unpacked_segment_bytes"].sum(dtype=np.int64))
    return b"".join((*parts, layout.FOOTER.pack(**footer, stored_bytes=int(sizes.sum()))))


def _file_section(
    dice: np.random.Generator, files: int, chunks: int, hashes: HashArray, sizes: NDArray[Any], roots: HashArray
) -> tuple[bytes, HashArray]:
    xorb = dice.integers(0, len(roots), files * 3)
    start = dice.integers(0, chunks - 6, files * 3)
    stop = start + dice.integers(1, 6, files * 3)
    lengths = stop - start
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(xorb * chunks + start - bounds[:-1], lengths) + np.arange(bounds[-1])
    found = file_hashes(hashes[places], sizes[places], bounds[::3])
    totals = np.concatenate([[0], np.cumsum(sizes[places])]).astype(np.int64)
    blocks = np.zeros((files, 8 * layout.RECORD_SIZE), np.uint8)
    _put(blocks, 0, layout.FILE_HEADER, file_hash=found, file_flags=0xC0000000, num_entries=3)
    ranges = range_hashes(hashes[places], bounds)
    for number in range(3):
        segment = {"chunk_index_start": start[number::3], "chunk_index_end": stop[number::3]}
        segment["unpacked_segment_bytes"] = np.diff(totals[bounds])[number::3]
        _put(blocks, 1 + number, layout.FILE_ENTRY, cas_hash=roots[xorb[number::3]], **segment)
        _put(blocks, 4 + number, layout.FILE_VERIFICATION, range_hash=ranges[number::3])
    _put(blocks, 7, layout.FILE_METADATA, sha256=dice.integers(0, 256, (files, 32), dtype=np.uint8))
    order = np.argsort(words(found)[:, 0], kind="stable")
    return blocks[order].tobytes() + layout.BOOKEND.pack(), found[order]


def _cas_section(chunks: int, stored: HashArray, sizes: NDArray[Any], roots: HashArray) -> tuple[bytes, HashArray]:
    blocks = np.zeros((len(roots), (1 + chunks) * layout.RECORD_SIZE), np.uint8)
    per = sizes.reshape(-1, chunks)
    _put(blocks, 0, layout.CAS_HEADER, cas_hash=roots, num_entries=chunks, num_bytes_in_cas=per.sum(axis=1))
    starts = np.cumsum(per, axis=1) - per
    for number in range(chunks):
        values = {"chunk_byte_range_start": starts[:, number], "unpacked_segment_bytes": per[:, number]}
        _put(blocks, 1 + number, layout.CAS_ENTRY, chunk_hash=stored[number::chunks], **values)
    return blocks.tobytes() + layout.BOOKEND.pack(), stored


def _put(blocks: NDArray[np.uint8], place: int, record: Any, **values: Any) -> None:
    rows = np.zeros(len(blocks), record.dtype)
    for name, value in values.items():
        rows[name] = value
    blocks[:, place * layout.RECORD_SIZE : (place + 1) * layout.RECORD_SIZE] = rows.view(np.uint8).reshape(
        len(blocks), -1
    )


def _lookup(record: Any, hashes: HashArray, index: NDArray[Any], number: NDArray[Any] | None) -> bytes:
    rows = np.zeros(len(hashes), record.dtype)
    rows["key"], rows["index"] = words(hashes)[:, 0], index
    if number is not None:
        rows["chunk"] = number
    return record.write(rows[np.argsort(rows["key"], kind="stable")])
