"""Shards and xorbs freshly written by hf-xet are read right, and files hash as they do there."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.chunker import chunks, cut_ends
from shardcore.codecs.xet.hashes import as_rows, chunk_hash, to_text
from shardcore.formats.mdb.hashes import file_hash, shard_name

pytestmark = [
    pytest.mark.interop("hf_xet"),
    pytest.mark.filterwarnings("ignore:hf_xet:DeprecationWarning"),
]


def content(dice: random.Random) -> bytes:
    size = dice.choice((0, 1, 8192, 8193, 70_000, 131_072, 131_073, 400_000))
    kind = dice.randrange(5)
    if kind == 0:
        return dice.randbytes(size)
    if kind == 1:
        return bytes(size)
    if kind == 2:
        words = [dice.randbytes(3).hex() for _ in range(50)]
        return " ".join(dice.choices(words, k=size // 7 + 1)).encode()[:size]
    if kind == 3:
        steps = np.random.default_rng(dice.randrange(2**32)).normal(size=size // 4 + 1)
        return np.round(np.cumsum(steps)).astype("<f4").tobytes()[:size]
    pattern = dice.randbytes(40_000)
    return (pattern * (size // len(pattern) + 1))[:size]


def our_hash(data: bytes) -> str:
    ends = cut_ends(data)
    pieces = [data[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]
    rows = as_rows([chunk_hash(piece) for piece in pieces])
    return to_text(file_hash(rows, np.array([len(piece) for piece in pieces], np.uint64)))


def uploaded(folder: Path, calls: list[list[bytes]]) -> dict[str, bytes]:
    import hf_xet

    (folder / "cas").mkdir()
    found: dict[str, bytes] = {}
    for number, files in enumerate(calls):
        paths = []
        for at, data in enumerate(files):
            path = folder / f"{number}-{at}"
            path.write_bytes(data)
            paths.append(str(path))
        infos = hf_xet.upload_files(paths, f"local://{folder / 'cas'}", None, None, None, "model")
        found.update({info.hash: data for info, data in zip(infos, files, strict=True)})
    return found


@pytest.mark.parametrize("seed", range(4))
def test_files_hash_as_in_the_reference(tmp_path: Path, seed: int) -> None:
    import hf_xet

    dice = random.Random(seed)
    paths = []
    for number in range(12):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(content(dice) + content(dice))
    infos = hf_xet.hash_files([str(path) for path in paths])
    assert [our_hash(path.read_bytes()) for path in paths] == [info.hash for info in infos]


@pytest.mark.parametrize("seed", range(3))
def test_shards_of_the_reference_are_read(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    first = [content(dice) for _ in range(5)] + [dice.randbytes(300_000)]
    second = [dice.randbytes(9_000) + first[-1][:250_000] + dice.randbytes(30_000), content(dice)]
    files = uploaded(tmp_path, [first, second])
    shards = sorted((tmp_path / "cas" / "xet").rglob("*.mdb"))
    assert len(shards) == 4
    flavours, seen, crossed = set(), set(), False
    for path in shards:
        with shardcore.open(path) as shard:
            assert shard.verify().findings == ()
            assert shard_name([path.read_bytes()]) == path.name
            flavours.add(shard.flavour)
            keys = [key or "" for key in shard.objects.keys[:]]
            assert (shard.find_many(keys) >= 0).all()
            known = {key.removeprefix("xorb:") for key in keys if key.startswith("xorb:")}
            for key in keys:
                if ":" not in key:
                    ref = shard.find(key)
                    assert shard.read(ref) == files[key]
                    crossed |= any(segment["xorb"] not in known for segment in ref.extras["segments"])
                    seen.add(key)
    assert flavours == {"full", "minimal"}
    assert seen == set(files)
    assert crossed


@pytest.mark.parametrize("seed", range(3))
def test_xorbs_of_the_reference_are_read(tmp_path: Path, seed: int) -> None:
    dice = random.Random(100 + seed)
    files = uploaded(tmp_path, [[content(dice) for _ in range(6)] + [b"%d" % seed * 30_000]])
    wanted = {chunk_hash(piece) for data in files.values() for piece in chunks([data])}
    found = set()
    for path in (tmp_path / "cas" / "xet" / "xorbs" / "xorbs").iterdir():
        if path.name.endswith(".tagset"):
            continue
        with shardcore.open(path) as xorb:
            assert xorb.format == "xorb"
            assert xorb.verify().findings == ()
            found |= {chunk_hash(xorb.read(xorb.objects.ref(row))) for row in range(len(xorb.objects))}
    assert found == wanted
