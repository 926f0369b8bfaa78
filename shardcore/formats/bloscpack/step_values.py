"""Meanings of the values in lookup steps."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "version": Meaning("the version of the format"),
        "options": Meaning("bit 0: there are offsets; bit 1: there is metadata"),
        "checksum": Meaning("which digest follows every chunk"),
        "chunk_size": Meaning("uncompressed bytes of every chunk but the last", "bytes"),
        "last_chunk": Meaning("uncompressed bytes of the last chunk", "bytes"),
        "nchunks": Meaning("how many chunks there are; -1 when unknown", "chunks"),
        "max_app_chunks": Meaning("spare offset slots, for chunks that are appended", "slots"),
        "next": Meaning("where the next part begins", "byte"),
        "size": Meaning("uncompressed bytes of the whole content; -1 when unknown", "bytes"),
        "chunk": Meaning("the number of the chunk"),
        "within": Meaning("which plain byte of the chunk it is", "byte", relative=True),
        "chunks": Meaning("how many chunks there are", "chunks"),
        "offset": Meaning("where the chunk begins; -1 when not filled in", "byte"),
        "flags": Meaning("how the chunk was compressed, bit by bit"),
        "nbytes": Meaning("uncompressed bytes", "bytes"),
        "blocksize": Meaning("uncompressed bytes of a block", "bytes"),
        "ctbytes": Meaning("stored bytes, the Blosc header included", "bytes"),
        "typesize": Meaning("bytes of one element", "bytes"),
        "stored": Meaning("the checksum stored in the file"),
        "computed": Meaning("the digest of the bytes that are there"),
        "block": Meaning("the number of the block in the chunk"),
        "start": Meaning("where the block begins in the chunk", "byte", relative=True),
        "byte": Meaning("the value of the plain byte"),
        "element": Meaning("which element of the chunk it belongs to"),
        "Which byte: element": Meaning("its number, in the order in which elements are stored"),
        "Which byte: byte": Meaning("the plain byte that it begins with", "byte", relative=True),
        "itemsize": Meaning("bytes of one element", "bytes"),
        "chunklen": Meaning("items in a chunk", "items"),
        "chunk_bytes": Meaning("uncompressed bytes of a chunk", "bytes"),
        "columns": Meaning("the columns of the table"),
        "file": Meaning("the file it is in"),
    }
)
