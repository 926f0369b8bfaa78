"""Descriptions of the step values of a lookup."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "@type": Meaning("what the object is, as its writer names it"),
        "preshift_bits": Meaning("low bits of a key that are dropped before hashing", "bits"),
        "hash": Meaning("the hash function: identity, or MurmurHash3"),
        "minishard_bits": Meaning("low bits of the hash that say the minishard", "bits"),
        "shard_bits": Meaning("the bits after them, which say the shard", "bits"),
        "minishard_index_encoding": Meaning("how minishard indices are stored: raw or gzip"),
        "data_encoding": Meaning("how values are stored: raw or gzip"),
        "key": Meaning("the key that was looked up"),
        "shifted": Meaning("the key without its low bits"),
        "input": Meaning("the 8 bytes that are hashed, the lowest first"),
        "Hash: hash": Meaning("what the hash function gives"),
        "bits": Meaning("the hash in binary, the highest bit first"),
        "minishard_field": Meaning("the lowest bit of the minishard number in the hash, and one past the highest"),
        "shard_field": Meaning("the lowest bit of the shard number in the hash, and one past the highest"),
        "minishard": Meaning("the number of the minishard"),
        "shard": Meaning("the number of the shard"),
        "file": Meaning("the file of that shard"),
        "start_offset": Meaning(
            "where the minishard index begins, counted from the end of the shard index", "byte", relative=True
        ),
        "end_offset": Meaning("where it ends, counted likewise", "byte", relative=True),
        "start": Meaning("where it begins in the file", "byte"),
        "stop": Meaning("where it ends in the file", "byte"),
        "encoding": Meaning("how the index is stored: raw or gzip"),
        "decoded_size": Meaning("size of the plain index: 24 for each key", "bytes"),
        "keys": Meaning("how many keys the minishard has", "keys"),
        "position": Meaning("which of its keys it is, from 0"),
        "equal": Meaning("how many entries have this key", "keys"),
        "size": Meaning("size of the plain value", "bytes"),
        "Place of the value: size": Meaning("size of the stored value", "bytes"),
        "Place of the value: start": Meaning("where the value begins in the file", "byte"),
        "stored_size": Meaning("size of the stored value", "bytes"),
        "sha256": Meaning("the sha256 of the plain value"),
        "error": Meaning("what is wrong with it"),
        "lods": Meaning("levels of detail of the mesh", "levels"),
        "fragments": Meaning("pieces of the mesh, over all levels", "fragments"),
        "fragments_size": Meaning("size of all fragments", "bytes"),
        "kind": Meaning("what the key space holds"),
        "cell": Meaning("the cell of the grid whose Morton code the key is: x, y, z"),
        "voxel_begin": Meaning("the first voxel of the chunk: x, y, z", "voxels"),
        "voxel_end": Meaning("one past its last voxel: x, y, z", "voxels"),
    }
)
