"""Descriptions of the step values of a lookup."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "info_length": Meaning("size of the info block, without the 4-byte length after it", "bytes"),
        "info_start": Meaning("offset of the info block", "byte"),
        "chunks": Meaning("number of chunks", "chunks"),
        "hashes": Meaning("hashes that were compared", "hashes"),
        "same": Meaning("chunks that have this hash", "chunks"),
        "chunk": Meaning("number of the chunk"),
        "start": Meaning("start of its record", "byte"),
        "stop": Meaning("end of its record", "byte"),
        "codec": Meaning("compression of the chunk"),
        "stored_size": Meaning("stored size of the chunk, without the record header", "bytes"),
        "size": Meaning("uncompressed size of the chunk", "bytes"),
    }
)
