"""Meanings of the values in lookup steps."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "version": Meaning("the version of the format"),
        "options": Meaning("bit 0: offsets; bit 1: metadata"),
        "checksum": Meaning("the checksum after every chunk"),
        "chunk_size": Meaning("uncompressed bytes of every chunk but the last", "bytes"),
        "last_chunk": Meaning("uncompressed bytes of the last chunk", "bytes"),
        "nchunks": Meaning("number of chunks; -1 when unknown", "chunks"),
        "max_app_chunks": Meaning("spare offset slots, for chunks that are appended", "slots"),
        "next": Meaning("offset of the next part", "byte"),
        "size": Meaning("uncompressed bytes of the whole content; -1 when unknown", "bytes"),
        "chunk": Meaning("the number of the chunk"),
        "within": Meaning("offset of the byte in the uncompressed chunk", "byte", relative=True),
        "chunks": Meaning("number of chunks", "chunks"),
        "offset": Meaning("offset of the chunk; -1 if not filled in", "byte"),
        "flags": Meaning("flags of the chunk, bit by bit"),
        "nbytes": Meaning("uncompressed bytes", "bytes"),
        "blocksize": Meaning("uncompressed bytes of a block", "bytes"),
        "ctbytes": Meaning("stored bytes, the Blosc header included", "bytes"),
        "typesize": Meaning("bytes of one element", "bytes"),
        "stored": Meaning("the checksum stored in the file"),
        "computed": Meaning("the checksum of the stored bytes"),
        "block": Meaning("the number of the block in the chunk"),
        "start": Meaning("offset of the block in the chunk", "byte", relative=True),
        "byte": Meaning("value of the uncompressed byte"),
        "element": Meaning("number of the element in the chunk"),
        "Which byte: element": Meaning("number of the element in storage order"),
        "Which byte: byte": Meaning("first uncompressed byte of the element", "byte", relative=True),
        "itemsize": Meaning("bytes of one element", "bytes"),
        "chunklen": Meaning("items in a chunk", "items"),
        "chunk_bytes": Meaning("uncompressed bytes of a chunk", "bytes"),
        "columns": Meaning("the columns of the table"),
        "file": Meaning("the file of the chunk"),
    }
)
