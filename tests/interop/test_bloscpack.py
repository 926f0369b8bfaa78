from __future__ import annotations

import struct
from itertools import product

import numpy as np
import pytest

import shardcore
from shardcore.formats.bloscpack.blosc1 import read_chunk_header
from shardcore.formats.bloscpack.decode import decompress
from shardcore.testing import rounds
from tests.shardcore.formats.bloscpack.files import File

pytestmark = pytest.mark.interop("blosc")

CODECS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
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


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">i2", "<c16", [("a", "<i4"), ("b", "u1", (3,))]])
def test_arrays_packed_as_the_reference_does(dtype: object, order: str) -> None:
    import blosc

    kind = np.dtype(dtype)  # type: ignore[call-overload]
    array = np.frombuffer(np.random.default_rng(3).bytes(30 * 7 * kind.itemsize), kind).reshape((30, 7), order=order)
    plain = array.tobytes(order="A")
    chunks = [bytes(blosc.compress(plain[at : at + 400], kind.itemsize)) for at in range(0, len(plain), 400)]
    sizes = [len(plain[at : at + 400]) for at in range(0, len(plain), 400)]
    descr = repr(kind.descr if kind.names else kind.str)
    metadata = {"container": "numpy", "dtype": descr, "shape": [30, 7], "order": order}
    shard = shardcore.open(File(chunks, sizes, metadata=metadata).write())
    with shard:
        got = shard.read_array()
        assert got.dtype == array.dtype
        assert got.tobytes() == array.tobytes()
        assert np.isfortran(got) == (order == "F")


def test_what_we_take_for_a_header_is_what_the_reference_wrote() -> None:
    import blosc

    chunk = blosc.compress(bytes(100_000), 4, 9, blosc.SHUFFLE, "lz4")
    header = read_chunk_header(chunk)
    assert (header.nbytes, header.ctbytes, header.blocksize) == blosc.get_cbuffer_sizes(chunk)
    assert (header.codec_name, header.filter_name, header.typesize) == ("lz4", "shuffle", 4)
    assert header.ctbytes == struct.unpack_from("<I", chunk, 12)[0] == len(chunk)
