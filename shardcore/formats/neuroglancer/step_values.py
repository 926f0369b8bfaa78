"""Descriptions of the step values of a lookup."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "@type": Meaning("type of the sharding object"),
        "preshift_bits": Meaning("low bits of a key that are dropped before hashing", "bits"),
        "hash": Meaning("the hash function: identity, or MurmurHash3"),
        "minishard_bits": Meaning("number of low bits of the hash, which select the minishard", "bits"),
        "shard_bits": Meaning("number of next bits of the hash, which select the shard", "bits"),
        "minishard_index_encoding": Meaning("encoding of minishard indices: raw or gzip"),
        "data_encoding": Meaning("encoding of values: raw or gzip"),
        "key": Meaning("the key that was looked up"),
        "shifted": Meaning("the key without its low bits"),
        "input": Meaning("the 8 bytes that are hashed, little-endian"),
        "Hash: hash": Meaning("result of the hash function"),
        "bits": Meaning("the hash in binary, the highest bit first"),
        "minishard_field": Meaning("bits of the hash that are the minishard number: first, and last plus one"),
        "shard_field": Meaning("bits of the hash that are the shard number: first, and last plus one"),
        "minishard": Meaning("number of the minishard"),
        "shard": Meaning("number of the shard"),
        "file": Meaning("file name of the shard"),
        "start_offset": Meaning("start of the minishard index, from the end of the shard index", "byte", relative=True),
        "end_offset": Meaning("end of the minishard index, from the end of the shard index", "byte", relative=True),
        "start": Meaning("start of the minishard index in the file", "byte"),
        "stop": Meaning("end of the minishard index in the file", "byte"),
        "encoding": Meaning("encoding of the index: raw or gzip"),
        "decoded_size": Meaning("uncompressed size of the index: 24 bytes per key", "bytes"),
        "keys": Meaning("number of keys in the minishard", "keys"),
        "position": Meaning("position in the minishard, from 0"),
        "equal": Meaning("number of entries with this key", "keys"),
        "size": Meaning("uncompressed size of the value", "bytes"),
        "Locate the value: size": Meaning("size of the stored value", "bytes"),
        "Locate the value: start": Meaning("start of the value in the file", "byte"),
        "stored_size": Meaning("size of the stored value", "bytes"),
        "sha256": Meaning("SHA-256 of the uncompressed value"),
        "error": Meaning("the error"),
        "lods": Meaning("levels of detail of the mesh", "levels"),
        "fragments": Meaning("number of fragments of the mesh, over all levels", "fragments"),
        "fragments_size": Meaning("size of all fragments", "bytes"),
        "kind": Meaning("kind of the key space"),
        "cell": Meaning("cell of the grid with this Morton code: x, y, z"),
        "voxel_begin": Meaning("the first voxel of the chunk: x, y, z", "voxels"),
        "voxel_end": Meaning("the last voxel of the chunk plus one: x, y, z", "voxels"),
    }
)
