from __future__ import annotations

import collections
import collections.abc
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.formats.bloscpack.blosc1 import decompress, read_chunk_header
from shardcore.formats.bloscpack.file_writer import CODECS, Recipe
from shardcore.operations.pack import pack
from shardcore.testing import rounds
from tests.shardcore.formats.bloscpack.files import File

pytestmark = pytest.mark.interop("blosc")

SEEDS = range(rounds(12, 4))


def content(dice: np.random.Generator, size: int) -> bytes:
    kind = int(dice.integers(5))
    if kind == 0:
        return np.cumsum(dice.integers(0, 3, size, dtype=np.uint8), dtype=np.uint8).tobytes()
    if kind == 1:
        return bytes(size)
    if kind == 2:
        return dice.bytes(size)
    if kind == 3:
        pattern = dice.bytes(int(dice.integers(1, 60)))
        return (pattern * (size // len(pattern) + 1))[:size]
    return np.cumsum(dice.normal(size=size // 8 + 1)).tobytes()[:size]


def compressed(dice: np.random.Generator, plain: bytes, codec: str, shuffle: int) -> bytes:
    import blosc

    wide = dice.random() < 0.3
    typesize = int(dice.integers(1, 256)) if wide else int(dice.choice([1, 2, 3, 4, 8, 12, 16]))
    blosc.set_blocksize(int(2 ** dice.uniform(7, 17)) if dice.random() < 0.4 else 0)
    blosc.set_nthreads(int(dice.integers(1, 4)))
    try:
        return bytes(blosc.compress(plain, typesize, int(dice.integers(0, 10)), shuffle, codec))
    finally:
        blosc.set_blocksize(0)
        # As the writers set it: with more threads blocks come in the order in which they are ready.
        blosc.set_nthreads(1)


@pytest.mark.parametrize(("codec", "shuffle"), list(product(CODECS, range(3))))
def test_chunks_of_the_reference(codec: str, shuffle: int) -> None:
    """Chunks of python-blosc of every codec and filter come back, whatever typesize, level, blocks and threads."""
    dice = np.random.default_rng([CODECS.index(codec), shuffle])
    for _ in range(120):
        plain = content(dice, int(2 ** dice.uniform(0, 18)))
        chunk = compressed(dice, plain, codec, shuffle)
        assert decompress(chunk) == plain, read_chunk_header(chunk)


@pytest.mark.parametrize("seed", SEEDS)
def test_files_with_chunks_of_the_reference(seed: int) -> None:
    dice = np.random.default_rng(seed)
    size, count = int(dice.integers(1, 30_000)), int(dice.integers(1, 12))
    plains = [content(dice, size) for _ in range(count - 1)] + [content(dice, int(dice.integers(1, size + 1)))]
    chunks = [compressed(dice, plain, str(dice.choice(CODECS)), int(dice.integers(3))) for plain in plains]
    version = int(dice.choice([1, 2, 3, 3]))
    offsets = version > 1 and bool(dice.integers(2))
    stream = not offsets and bool(dice.integers(2))
    unknown = {"nchunks": -1, "chunk_size": -1, "last_chunk": -1}
    file = File(
        chunks,
        [len(plain) for plain in plains],
        version=version,
        checksum=int(dice.integers(9)),
        offsets=offsets,
        spare=int(dice.integers(5)) if offsets and version == 3 else 0,
        metadata={"seed": seed} if version == 3 and dice.integers(2) else None,
        meta_codec=int(dice.integers(2)),
        meta_checksum=int(dice.integers(9)),
        trailing=b"" if stream else dice.bytes(int(dice.integers(40))),
        header=unknown if stream else {},
    )
    whole = b"".join(plains)
    with shardcore.open(file.write()) as shard:
        assert [shard.read(shard.find(str(n))) for n in range(count)] == plains
        assert shard.read(shard.find("all")) == whole
        start, stop = sorted(dice.integers(0, len(whole) + 1, 2).tolist())
        assert shard.read_range(shard.find("all"), start, stop) == whole[start:stop]
        assert shard.verify().ok


EACH = rounds(450, 40)
"""Chunks of each codec: 2,250 with all, 200 in a quick run."""
CHECKSUMS = ("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512")


@pytest.mark.parametrize("codec", CODECS)
def test_chunks_are_read_by_the_reference(codec: str) -> None:
    import blosc

    dice = np.random.default_rng(CODECS.index(codec))
    for number in range(EACH):
        size = number if number < 20 else int(2 ** dice.uniform(0, 19))
        typesize = int(dice.integers(1, 256)) if dice.random() < 0.3 else int(dice.choice([1, 2, 3, 4, 8, 12, 16]))
        if dice.random() < 0.5 and size >= typesize:
            size -= size % typesize
        recipe = Recipe(codec, int(dice.integers(0, 10)), bool(dice.integers(2)), typesize)
        plain = content(dice, size)
        chunk = recipe.chunk(plain)
        assert (bytes(blosc.decompress(chunk)) if size else b"") == plain, (recipe, size)
        assert blosc.get_cbuffer_sizes(chunk)[:2] == (size, len(chunk))


def test_chunks_are_those_of_the_reference() -> None:
    import blosc

    plain = np.cumsum(np.random.default_rng(5).integers(0, 3, 1 << 17)).astype("<i8").tobytes()
    for codec in CODECS:
        chunk = Recipe(codec, 7, True, 8).chunk(plain)
        assert chunk == blosc.compress(plain, 8, 7, blosc.SHUFFLE, codec)


@pytest.fixture(scope="module")
def reference() -> Any:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(collections, "MutableMapping", collections.abc.MutableMapping, raising=False)
        from bloscpack.file_io import unpack_bytes_from_file
    return unpack_bytes_from_file


@pytest.mark.interop("blosc", "bloscpack")
@pytest.mark.parametrize("seed", range(rounds(60, 6)))
def test_whole_files_are_read_by_the_reference(seed: int, tmp_path: Path, reference: Any) -> None:
    path = tmp_path / "out.blp"
    dice = np.random.default_rng(seed)
    plain = content(dice, int(2 ** dice.uniform(0, 20)))
    offsets = bool(dice.integers(4))
    metadata = {"seed": seed, "text": "é" * int(dice.integers(50))} if dice.integers(2) else None
    options: dict[str, Any] = {"codec": str(dice.choice(CODECS)), "level": int(dice.integers(10)), "metadata": metadata}
    options |= {"shuffle": str(dice.choice(["byte", "none"])), "typesize": int(dice.integers(1, 40))}
    options |= {"chunk_size": max(len(plain) // int(dice.integers(1, 40)), 1), "checksum": CHECKSUMS[seed % 9]}
    options |= {"offsets": offsets, "metadata_codec": str(dice.choice(["none", "zlib"]))}
    if offsets and dice.integers(2):
        options["spare"] = int(dice.integers(20))
    with shardcore.create(path, format="bloscpack", **options) as writer:
        writer.add(None, plain)
    found, found_metadata = reference(str(path))
    assert (bytes(found), found_metadata) == (plain, metadata)


@pytest.mark.interop("blosc", "bloscpack")
@pytest.mark.parametrize("spare", [0, 10])
def test_what_is_appended_is_read_by_the_reference(spare: int, tmp_path: Path, reference: Any) -> None:
    dice = np.random.default_rng(spare)
    first, more = content(dice, 50_000), content(dice, 30_000)
    path, other = tmp_path / "out.blp", tmp_path / "more"
    with shardcore.create(path, format="bloscpack", chunk_size=8_000, spare=spare) as writer:
        writer.add(None, first)
    other.write_bytes(more)
    assert run(["append", str(path), str(other), "--yes"]) == 0
    assert bytes(reference(str(path))[0]) == first + more


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">i2", "<c16", "<U3", [("a", "<i4"), ("b", "u1", (3,))]])
@pytest.mark.interop("blosc", "bloscpack")
def test_arrays_are_described_as_the_reference_does(dtype: Any, order: Any, tmp_path: Path, reference: Any) -> None:
    kind = np.dtype(dtype)
    array = np.zeros((31, 7), kind, order=order)
    if kind.names is None:
        array[...] = np.arange(217).reshape(31, 7).astype(kind)
    np.save(tmp_path / "a.npy", array)
    pack("bloscpack", tmp_path / "a.blp", [tmp_path / "a.npy"], options={"chunk_size": 400})
    with shardcore.create(tmp_path / "b.blp", format="bloscpack", chunk_size=400) as writer:
        writer.add(None, array)
    assert (tmp_path / "b.blp").read_bytes() == (tmp_path / "a.blp").read_bytes()
    plain, metadata = reference(str(tmp_path / "a.blp"))
    assert bytes(plain) == array.tobytes(order="A")
    descr = repr(kind.descr if kind.names else kind.str)
    said = [("dtype", descr), ("shape", [31, 7]), ("order", order), ("container", "numpy")]
    assert list(metadata.items()) == said
