"""Meanings of the values in the steps of a lookup."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "info_length": Meaning("size of the info block, without the four bytes that say it", "bytes"),
        "info_start": Meaning("where the info block begins", "byte"),
        "chunks": Meaning("how many chunks there are", "chunks"),
        "hashes": Meaning("hashes that were compared", "hashes"),
        "same": Meaning("chunks that have this hash", "chunks"),
        "chunk": Meaning("the number of the chunk"),
        "start": Meaning("where its record begins", "byte"),
        "stop": Meaning("where its record ends", "byte"),
        "codec": Meaning("how the chunk is compressed"),
        "stored_size": Meaning("stored bytes of the chunk, without the header of its record", "bytes"),
        "size": Meaning("uncompressed bytes of the chunk", "bytes"),
    }
)
