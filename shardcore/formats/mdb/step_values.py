"""Descriptions of the step values of a lookup."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "plain": Meaning("the hash of the chunk's uncompressed bytes"),
        "stored": Meaning("the hash as the shard stores it, keyed by the HMAC key"),
        "key": Meaning("the first 16 digits of the hash, as a number; stored as 8 bytes, the lowest first"),
        "hash": Meaning("the hash that is looked for in the tables"),
        "entry": Meaning("where the first entry with this table key stands, or would stand"),
        "entries": Meaning("how many entries have this table key", "entries"),
        "record": Meaning("position of the header in its section"),
        "chunk": Meaning("the number of the chunk in its xorb"),
        "xorb": Meaning("the hash of the xorb, which is also its name"),
        "start": Meaning("where the chunks begin in the file of the xorb", "byte", relative=True),
        "stop": Meaning("where they end", "byte", relative=True),
        "size": Meaning("size of the plain content", "bytes"),
        "shards": Meaning("how many shards may list the hash", "shards"),
    }
)
