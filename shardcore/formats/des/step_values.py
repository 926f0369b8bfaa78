"""Meanings of the values in lookup steps."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "n_bits": Meaning("bits of a shard number", "bits"),
        "rule": Meaning("number of the uid: its digits, or its CRC-32"),
        "number": Meaning("the shard number"),
        "hex": Meaning("the shard number as printed in file names"),
        "candidates": Meaning("number of files that may contain the uid"),
        "index_size": Meaning("size of the index", "bytes"),
        "index_start": Meaning("offset of the index", "byte"),
        "version": Meaning("the version of the format"),
        "entry_count": Meaning("number of entries in the index", "entries"),
        "entries": Meaning("number of entries walked", "entries"),
        "uid_bytes": Meaning("size of the uid as UTF-8", "bytes"),
        "entry": Meaning("the number of the entry, from 0"),
        "start": Meaning("offset of the entry", "byte"),
        "stop": Meaning("end of the entry", "byte"),
        "flags": Meaning("bit 0: the content is a BigFile"),
        "hash": Meaning("the sha256 of the BigFile, which is also its name"),
        "size": Meaning("size of the content", "bytes"),
        "offset": Meaning("offset of the payload", "byte"),
        "length": Meaning("size of the payload", "bytes"),
        "codec": Meaning("the codec of the payload"),
        "compressed_size": Meaning("the stored size in the entry", "bytes"),
        "uncompressed_size": Meaning("size of the uncompressed content", "bytes"),
        "meta": Meaning("the metadata of the object"),
        "sidecar": Meaning("true if there is a sidecar"),
        "tombstone": Meaning("true if the sidecar has a tombstone for it"),
        "checksum": Meaning("the sha256 of the content in the sidecar"),
        "sha256": Meaning("the sha256 of the uncompressed content"),
        "copies": Meaning("number of retention copies"),
    }
)
