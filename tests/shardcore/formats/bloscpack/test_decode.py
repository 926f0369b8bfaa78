from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError
from shardcore.formats.bloscpack import content
from shardcore.formats.bloscpack.blosc1 import blosc, decompress, split_chunk
from shardcore.model.span import Span
from tests.shardcore.formats.bloscpack.chunks import BIT, BYTE, NONE, make_chunk, memcpy, sample
from tests.shardcore.formats.bloscpack.files import File

HERE = Path(__file__).parent


@pytest.mark.parametrize("codec", [1, 3, 4])
@pytest.mark.parametrize("how", [NONE, BYTE, BIT])
@pytest.mark.parametrize("typesize", [1, 2, 3, 4, 8, 16, 17, 255])
def test_chunks_of_the_written_rules_are_read(codec: int, how: int, typesize: int) -> None:
    for number, size in enumerate((1, 7, 255, 1000, 4096, 5003)):
        for blocksize in (128, 128 * typesize, 1000 * typesize, 2001):
            plain = sample(size, number)
            chunk = make_chunk(plain, codec=codec, how=how, typesize=typesize, blocksize=blocksize, split=True)
            assert decompress(chunk) == plain, (size, blocksize)
            # Blosc before 1.5 leaves 0x10 clear where nothing is split.
            assert decompress(chunk[:2] + bytes([chunk[2] & 0xEF]) + chunk[3:]) == plain, (size, blocksize)


@pytest.mark.parametrize("how", [NONE, BYTE, BIT])
@pytest.mark.parametrize("typesize", [1, 3, 8, 16, 255])
def test_parts_of_a_chunk_are_chunks(how: int, typesize: int) -> None:
    for size in (128 * typesize, 5003 * typesize, 5000 * typesize + 1):
        plain = sample(size)
        chunk = make_chunk(plain, codec=3, how=how, typesize=typesize, blocksize=128 * typesize, split=True)
        parts = list(split_chunk(chunk, 1000 * typesize))
        assert len(parts) == -(-(size // (128 * typesize)) // 7)
        assert b"".join(map(decompress, parts)) == plain, size


@pytest.mark.parametrize(("nbytes", "fits"), [(2**20, True), (2**20 * 40, False)])
def test_a_content_has_no_second_copy(nbytes: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "SMALL_FILE", 0)
    monkeypatch.setattr(content.ChunkReader, "plains", lambda *_, **__: iter([b"in pieces"]))
    chunk = bytearray(blosc().compress(bytes(2**20), 8, 5, 1, "blosclz"))
    chunk[4:8] = nbytes.to_bytes(4, "little")
    with shardcore.open(File([bytes(chunk)] * 3, [nbytes] * 3).write()) as shard:
        assert shard.read("all") == (bytes(3 * nbytes) if fits else b"in pieces")


@pytest.mark.parametrize("chunk", [make_chunk(sample(5000)), memcpy(sample(5000))], ids=["zlib", "copy"])
def test_into_a_buffer(chunk: bytes) -> None:
    out = np.zeros(5000, np.uint8)
    assert (decompress(chunk, out=memoryview(out)), out.tobytes()) == (b"", sample(5000))
    with pytest.raises(FormatError, match="5,000 uncompressed bytes; `out` has 4,999"):
        decompress(chunk, out=memoryview(np.zeros(4999, np.uint8)))


def test_a_refusing_codec_is_an_error_with_a_place() -> None:
    chunk = bytearray(make_chunk(sample(5000), blocksize=5000))
    chunk[24:40] = bytes(16)
    with pytest.raises(FormatError, match="decompressing the chunk failed") as caught:
        decompress(bytes(chunk), place=Span("", 72, 72 + len(chunk)))
    assert caught.value.span == Span("", 72, 72 + len(chunk))


@pytest.mark.thorough
def test_damaged_chunks_never_kill_the_process(tmp_path: Path, data: Path) -> None:
    paths = []
    chunks = [
        make_chunk(sample(4000), codec=codec, how=how, typesize=typesize, blocksize=1600, split=True)
        for codec in (1, 3, 4)
        for how in (NONE, BYTE, BIT)
        for typesize in (1, 4, 17)
    ]
    blosclz = (data / "bloscpack" / "codec_blosclz_1.blp").read_bytes()
    at = int.from_bytes(blosclz[32:40], "little")  # the first offset slot
    chunks.append(blosclz[at : at + int.from_bytes(blosclz[at + 12 : at + 16], "little")])
    for number, chunk in enumerate(chunks):
        paths.append(tmp_path / f"{number}.chunk")
        paths[-1].write_bytes(chunk)
    command = [sys.executable, str(HERE / "mutate.py"), "6000", "1", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert result.returncode == 0, result.stderr
    passed, refused, decoded = map(int, result.stdout.split())
    assert refused + decoded == 6000
    assert passed > 1500, "too few chunks reach the decompressor to say anything"
    assert decoded > 500
