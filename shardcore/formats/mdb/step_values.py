"""Descriptions of the step values of a lookup."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "plain": Meaning("the hash of the chunk's uncompressed bytes"),
        "stored": Meaning("the hash as stored, keyed with the HMAC key"),
        "key": Meaning("the first 16 digits of the hash as a number, stored in 8 bytes, little-endian"),
        "hash": Meaning("the hash that is searched in the tables"),
        "entry": Meaning("number of the first entry with this table key, or its insertion point"),
        "entries": Meaning("number of entries with this table key", "entries"),
        "record": Meaning("position of the header in its section"),
        "chunk": Meaning("number of the chunk in the xorb"),
        "xorb": Meaning("the hash of the xorb, which is also its name"),
        "start": Meaning("start of the chunks in the xorb file", "byte", relative=True),
        "stop": Meaning("end of the chunks in the xorb file", "byte", relative=True),
        "size": Meaning("uncompressed size of the content", "bytes"),
        "shards": Meaning("number of shards that may list the hash", "shards"),
    }
)
