"""What we write, python-blosc decompresses: chunk by chunk, and files as the reference reads them."""

from __future__ import annotations

import collections
import collections.abc
import hashlib
import json
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.formats.bloscpack.encode import CODECS, Recipe
from shardcore.operations.pack import pack
from shardcore.testing import rounds
from tests.interop.test_bloscpack import content

pytestmark = pytest.mark.interop("blosc")

EACH = rounds(450, 40)
"""Chunks of each codec: 2,250 with all, 200 in a quick run."""
SEEDS = range(rounds(60, 6))
CHECKSUMS = ("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512")


@pytest.mark.parametrize("codec", CODECS)
def test_chunks_are_read_by_the_reference(codec: str) -> None:
    """Chunks of every codec, level, typesize and length come back from python-blosc, byte for byte."""
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
    """A chunk has the bytes that python-blosc writes for the reference."""
    import blosc

    plain = np.cumsum(np.random.default_rng(5).integers(0, 3, 1 << 17)).astype("<i8").tobytes()
    for codec in CODECS:
        chunk = Recipe(codec, 7, True, 8).chunk(plain)
        assert chunk == blosc.compress(plain, 8, 7, blosc.SHUFFLE, codec)


def unpacked(data: bytes) -> tuple[bytes, Any]:
    """Plain content and metadata as the reference reads a file: the headers, then chunk by chunk."""
    import blosc

    magic, version, options, checksum, _, chunk_size, last, nchunks, spare = struct.unpack_from("<4s4Biiqq", data)
    assert (magic, version) == (b"blpk", 3)
    at, metadata = 32, None
    if options & 2:
        kind, _, meta_sum, codec, _, size, room, stored, _ = struct.unpack_from("<8s4BIII8s", data, at)
        assert (kind.rstrip(b"\0"), meta_sum) == (b"JSON", 1)
        text = data[at + 32 : at + 32 + stored]
        at += 32 + room
        assert data[at : at + 4] == struct.pack("<I", zlib.adler32(text))
        at += 4
        text = zlib.decompress(text) if codec else text
        assert len(text) == size
        metadata = json.loads(text)
    slots = nchunks + spare if options & 1 else 0
    offsets = struct.unpack_from(f"<{slots}q", data, at)
    at += 8 * slots
    plains = []
    for number in range(nchunks):
        if options & 1:
            assert offsets[number] == at
        stored = struct.unpack_from("<I", data, at + 12)[0]
        chunk = data[at : at + stored]
        at += stored
        digest = _digest(checksum, chunk)
        assert data[at : at + len(digest)] == digest
        at += len(digest)
        nbytes = struct.unpack_from("<I", chunk, 4)[0]
        plains.append(bytes(blosc.decompress(chunk)) if nbytes else b"")
        assert len(plains[-1]) == nbytes == (last if number == nchunks - 1 else chunk_size)
    assert at == len(data)
    assert set(offsets[nchunks:]) <= {-1}
    return b"".join(plains), metadata


def _digest(number: int, chunk: bytes) -> bytes:
    if number == 0:
        return b""
    if number <= 2:
        return struct.pack("<I", (zlib.adler32 if number == 1 else zlib.crc32)(chunk))
    return hashlib.new(CHECKSUMS[number], chunk).digest()


@pytest.fixture(scope="module")
def reference() -> Any:
    """The reader of bloscpack itself, whose last release names a class where newer Pythons have it no more."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(collections, "MutableMapping", collections.abc.MutableMapping, raising=False)
        from bloscpack.file_io import unpack_bytes_from_file
    return unpack_bytes_from_file


@pytest.mark.interop("blosc", "bloscpack")
@pytest.mark.parametrize("seed", SEEDS)
def test_whole_files_are_read_by_the_reference(seed: int, tmp_path: Path, reference: Any) -> None:
    """Files of every option: bloscpack gives the content and the metadata, and finds no digest wrong."""
    path = tmp_path / "out.blp"
    plain, metadata = _written(seed, path)
    found, found_metadata = reference(str(path))
    assert (bytes(found), found_metadata) == (plain, metadata)


@pytest.mark.interop("blosc", "bloscpack")
@pytest.mark.parametrize("spare", [0, 10])
def test_what_is_appended_is_read_by_the_reference(spare: int, tmp_path: Path, reference: Any) -> None:
    """Appended into spare offsets, or by writing the file anew: the content goes on."""
    dice = np.random.default_rng(spare)
    first, more = content(dice, 50_000), content(dice, 30_000)
    path, other = tmp_path / "out.blp", tmp_path / "more"
    with shardcore.create(path, format="bloscpack", chunk_size=8_000, spare=spare) as writer:
        writer.add(None, first)
    other.write_bytes(more)
    assert run(["append", str(path), str(other), "--yes"]) == 0
    assert bytes(reference(str(path))[0]) == first + more


@pytest.mark.parametrize("seed", SEEDS)
def test_files_are_laid_out_as_the_reference_does(seed: int, tmp_path: Path) -> None:
    """Whole files of every option: chunks, digests, offsets and metadata are where the format has them."""
    path = tmp_path / "out.blp"
    assert _written(seed, path) == unpacked(path.read_bytes())


def _written(seed: int, path: Path) -> tuple[bytes, Any]:
    """Writes a file with options that are drawn; its content and metadata."""
    dice = np.random.default_rng(seed)
    plain = content(dice, int(2 ** dice.uniform(0, 20)))
    offsets = bool(dice.integers(4))
    metadata = {"seed": seed, "text": "é" * int(dice.integers(50))} if dice.integers(2) else None
    options: dict[str, Any] = {
        "codec": str(dice.choice(CODECS)),
        "level": int(dice.integers(10)),
        "shuffle": str(dice.choice(["byte", "none"])),
        "typesize": int(dice.integers(1, 40)),
        "chunk_size": max(len(plain) // int(dice.integers(1, 40)), 1),
        "checksum": CHECKSUMS[seed % 9],
        "offsets": offsets,
        "metadata": metadata,
        "metadata_codec": str(dice.choice(["none", "zlib"])),
    }
    if offsets and dice.integers(2):
        options["spare"] = int(dice.integers(20))
    with shardcore.create(path, format="bloscpack", **options) as writer:
        writer.add(None, plain)
    return plain, metadata


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">i2", "<c16", "<U3", [("a", "<i4"), ("b", "u1", (3,))]])
def test_arrays_are_described_as_the_reference_does(dtype: Any, order: Any, tmp_path: Path) -> None:
    """The metadata of a packed `.npy` is what bloscpack 0.16 writes, and its bytes are those of the array in memory."""
    kind = np.dtype(dtype)
    array = np.zeros((31, 7), kind, order=order)
    if kind.names is None:
        array[...] = np.arange(217).reshape(31, 7).astype(kind)
    np.save(tmp_path / "a.npy", array)
    pack("bloscpack", tmp_path / "a.blp", [tmp_path / "a.npy"], options={"chunk_size": 400})
    plain, metadata = unpacked((tmp_path / "a.blp").read_bytes())
    assert plain == array.tobytes(order="A")
    descr = repr(kind.descr if kind.names else kind.str)
    assert list(metadata.items()) == [
        ("dtype", descr),
        ("shape", [31, 7]),
        ("order", order),
        ("container", "numpy"),
    ]
