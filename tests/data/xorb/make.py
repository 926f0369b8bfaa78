"""Rebuild the small xorbs of this folder: python make.py (from the root of the repository)."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

from shardcore.codecs.xet.hashes import as_rows, chunk_hash, tree_root
from shardcore.codecs.xet.xorb_layout import Scheme, XorbInfo, chunk_headers, write_chunk, write_info

HERE = Path(__file__).parent


def xorb(chunks: list[bytes], version: int, scheme: Scheme) -> tuple[bytes, bytes]:
    """The chunk records, and the info block with its length."""
    records, ends = b"", []
    for chunk in chunks:
        used, stored = write_chunk(scheme, chunk)
        records += chunk_headers([used], [len(stored)], [len(chunk)]).tobytes() + stored
        ends.append(len(records))
    hashes, sizes = as_rows([chunk_hash(chunk) for chunk in chunks]), [len(chunk) for chunk in chunks]
    root = tree_root(hashes, np.array(sizes, np.uint64))
    return records, write_info(XorbInfo(version, root, hashes, np.array(ends), np.cumsum(sizes)))


def main() -> None:
    """Write them all."""
    files = runpy.run_path(str(HERE.parent / "mdb" / "sources.py"))["build"]()
    text, floats = files["notes.txt"], files["weights.f32"]
    pair = [b"abc", b"defg"]
    mixed = [text[:3000], text[3000:7000], floats[:5000], b"Z", b"abcd" * 800]
    (HERE / "two_chunks.xorb").write_bytes(b"".join(xorb(pair, 1, Scheme.NONE)))
    (HERE / "version_0.xorb").write_bytes(b"".join(xorb(pair, 0, Scheme.NONE)))
    (HERE / "lz4.xorb").write_bytes(b"".join(xorb(mixed, 1, Scheme.LZ4)))
    (HERE / "bare_chunks.xorb").write_bytes(xorb(mixed[::-1], 1, Scheme.BG4_LZ4)[0])


if __name__ == "__main__":
    main()
