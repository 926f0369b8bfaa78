"""Meanings of the values in lookup steps."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "n_bits": Meaning("how many bits a shard number has", "bits"),
        "rule": Meaning("number of the uid: its digits, or its CRC-32"),
        "number": Meaning("the shard number"),
        "hex": Meaning("the number as file names print it"),
        "candidates": Meaning("the files that may hold the uid"),
        "index_size": Meaning("size of the index", "bytes"),
        "index_start": Meaning("where the index begins", "byte"),
        "version": Meaning("the version of the format"),
        "entry_count": Meaning("how many entries the index has", "entries"),
        "entries": Meaning("how many entries were walked", "entries"),
        "uid_bytes": Meaning("size of the uid as UTF-8", "bytes"),
        "entry": Meaning("the number of the entry, from 0"),
        "start": Meaning("where the entry begins", "byte"),
        "stop": Meaning("where the entry ends", "byte"),
        "flags": Meaning("bit 0: the content is a BigFile"),
        "hash": Meaning("the sha256 of the BigFile, which is also its name"),
        "size": Meaning("size of the content", "bytes"),
        "offset": Meaning("where the stored content begins", "byte"),
        "length": Meaning("size of the stored content", "bytes"),
        "codec": Meaning("how it is compressed"),
        "compressed_size": Meaning("the stored size in the entry", "bytes"),
        "uncompressed_size": Meaning("size of the uncompressed content", "bytes"),
        "meta": Meaning("the metadata of the object"),
        "sidecar": Meaning("whether there is a sidecar"),
        "tombstone": Meaning("whether the sidecar marks it as deleted"),
        "checksum": Meaning("the digest of the content in the sidecar"),
        "sha256": Meaning("the sha256 of the uncompressed content"),
        "copies": Meaning("the files with copies that are kept longer"),
    }
)
