"""Solvers that know the lessons of neuroglancer, Bloscpack and xorbs alone read new files from their raw bytes."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest

import shardcore
from shardcore.codecs.xet.hashes import chunk_hash, to_text
from shardcore.formats.neuroglancer.sharding import mixing_steps, murmur_low64
from tests.shardcore.teaching.lessons.block_solvers import bloscpack, murmur, neuroglancer, xorb

KEYS = 20


def sharding(hash: str, preshift: int, minishard: int, shard: int, encoding: str) -> dict[str, object]:
    """A data set of neuroglancer."""
    spec = {
        "@type": "neuroglancer_uint64_sharded_v1",
        "preshift_bits": preshift,
        "hash": hash,
        "minishard_bits": minishard,
        "shard_bits": shard,
        "minishard_index_encoding": encoding,
        "data_encoding": encoding,
    }
    return {"@type": "neuroglancer_skeletons", "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "sharding": spec}


SHARDINGS = (
    sharding("identity", 1, 2, 3, "raw"),
    sharding("murmurhash3_x86_128", 0, 1, 0, "raw"),
    sharding("murmurhash3_x86_128", 3, 3, 4, "gzip"),
    sharding("murmurhash3_x86_128", 1, 2, 9, "gzip"),
    sharding("identity", 0, 0, 5, "gzip"),
)


@pytest.mark.parametrize("info", SHARDINGS, ids=["digit", "murmur", "gzip", "digits", "one minishard"])
def test_twenty_keys_of_neuroglancer_are_read_by_the_rules_of_its_lessons(
    info: dict[str, object], tmp_path: Path
) -> None:
    """Identity or murmur, names of one to three digits, raw or gzip; as many keys that were not stored are absent."""
    random = Random(str(info))
    keys = random.sample(range(1 << 16), KEYS) + [random.randrange(1 << 64) for _ in range(KEYS)]
    content = {key: random.randbytes(random.randrange(1, 60)) for key in keys[::2]}
    (tmp_path / "set").mkdir()
    with shardcore.create(tmp_path / "set", format="neuroglancer", spec=info) as writer:
        for key, value in content.items():
            writer.add(str(key), value)
    for key in keys:
        found = neuroglancer(tmp_path / "set", key)
        assert (found.content if found is not None else None) == content.get(key)


BLOSCPACKS: tuple[dict[str, object], ...] = (
    {"codec": "lz4", "chunk_size": 6144, "checksum": "sha256", "spare": 3, "metadata": '{"a": 1}'},
    {"codec": "lz4", "level": 0, "chunk_size": 4096, "checksum": "crc32", "metadata": '{"a": 1}'},
    {"codec": "zlib", "chunk_size": 32768, "offsets": False, "checksum": "md5"},
    {"codec": "lz4", "chunk_size": 1000, "checksum": "None", "typesize": 4},
    {"codec": "lz4", "chunk_size": 40000, "shuffle": "none"},
)


@pytest.mark.parametrize("options", BLOSCPACKS, ids=str)
def test_twenty_elements_of_bloscpack_are_read_by_the_rules_of_its_lessons(
    options: dict[str, object], tmp_path: Path
) -> None:
    """With metadata or without, with offsets or walking, compressed or not; elements after the last are absent."""
    random = Random(str(options))
    size = int(str(options.get("typesize", 8)))
    numbers = b"".join(random.randrange(900).to_bytes(size, "little") for _ in range(9001))
    (tmp_path / "numbers").write_bytes(numbers)
    out = tmp_path / "made.blp"
    shardcore.pack("bloscpack", out, [tmp_path / "numbers"], options=options)
    data = out.read_bytes()
    for element in [0, 9000, *random.sample(range(9001), KEYS - 2)]:
        assert bloscpack(data, element) == numbers[element * size : (element + 1) * size]
    assert bloscpack(data, 9001) is None


@pytest.mark.parametrize("options", [{}, {"compression": "bg4"}, {"compression": "none"}], ids=str)
def test_twenty_chunks_of_a_xorb_are_read_by_the_rules_of_its_lessons(
    options: dict[str, object], tmp_path: Path
) -> None:
    """By number and by hash, with the info block and without; a number or hash that is not there is absent."""
    random = Random(5)
    words = [b"shard", b"index", b"chunk", random.randbytes(40), struct.pack("<9f", *range(9))]
    for number in range(KEYS):
        (tmp_path / f"{number:02}").write_bytes(b"".join(random.choices(words, k=random.randrange(1, 70))))
    out = tmp_path / "made.xorb"
    inputs = [tmp_path / f"{number:02}" for number in range(KEYS)]
    shardcore.pack("xorb", out, inputs, options={"cut": False, **options})
    data = out.read_bytes()
    walked = data[: data.rindex(b"XETBLOB")]
    with shardcore.open(str(out)) as shard:
        for number in range(KEYS):
            chunk = shard.read(shard.find(str(number)))
            assert xorb(data, str(number)) == xorb(walked, str(number)) == chunk
            assert xorb(data, blake(chunk)) == chunk
    assert xorb(data, str(KEYS)) is None
    assert xorb(data, "0" * 64) is None


def blake(chunk: bytes) -> str:
    """The hash of a chunk, as text."""
    return to_text(chunk_hash(chunk))


def test_the_hash_of_neuroglancer_is_drawn_as_it_is_computed() -> None:
    """The last lines of the drawing are the hash, for keys with an upper half and without."""
    for key in (0, 1, 33, 1 << 32, (1 << 64) - 1, 12_884_901_893):
        steps = mixing_steps(key)
        assert (steps[-1][2] << 32 | steps[-2][2]) == murmur_low64(key)
        assert murmur(key) == (steps[-2][2], steps[-1][2])
