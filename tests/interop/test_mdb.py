"""hf-xet and the mdb format: hashes, shards and xorbs in both directions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.formats.mdb import writer
from shardcore.formats.mdb.layout import shard_name

pytestmark = [pytest.mark.interop("hf_xet"), pytest.mark.filterwarnings("ignore:hf_xet:DeprecationWarning")]


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


def upload(cas: Path, files: list[bytes], name: str = "up") -> list[Any]:
    import hf_xet

    paths = [cas.parent / f"{name}-{number}" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return list(hf_xet.upload_files([str(path) for path in paths], f"local://{cas}", None, None, None, "model"))


def uploaded(folder: Path, calls: list[list[bytes]]) -> dict[str, bytes]:
    (folder / "cas").mkdir()
    found: dict[str, bytes] = {}
    for number, files in enumerate(calls):
        infos = upload(folder / "cas", files, str(number))
        found |= {info.hash: data for info, data in zip(infos, files, strict=True)}
    return found


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
            assert shard_name(path.read_bytes()) == path.name
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
    assert (flavours, seen) == ({"full", "minimal"}, set(files))
    assert crossed


KEY = bytes(range(1, 33)).hex()


def files_of(seed: int) -> list[bytes]:
    dice = random.Random(seed)
    return [content(dice) for _ in range(4)] + [dice.randbytes(300_000) + bytes(150_000)]


def write_store(cas: Path, files: list[bytes], **options: Any) -> list[str]:
    with shardcore.create(f"{cas}/", format="mdb", folder=True, **options) as made:
        keys = [made.add(None, data) for data in files]
    for path in (cas / "xet" / "xorbs" / "shards").iterdir():
        path.unlink()
    return keys


def put_shard(cas: Path, files: list[bytes], **options: Any) -> None:
    cache = cas / "xet" / "shard-cache"
    path = cas.parent / "other.mdb"
    with shardcore.create(path, format="mdb", **options) as made:
        for data in files:
            made.add(None, data)
    for old in cache.iterdir():
        old.unlink()
    (cache / shard_name(path.read_bytes())).write_bytes(path.read_bytes())


def xorbs_of(cas: Path) -> set[str]:
    return {path.name for path in (cas / "xet" / "xorbs" / "xorbs").iterdir() if not path.name.endswith(".tagset")}


def listed_xorbs(cas: Path) -> int:
    count = 0
    for path in (cas / "xet" / "xorbs" / "shards").glob("*.mdb"):
        with shardcore.open(path) as shard:
            count += sum((key or "").startswith("xorb:") for key in shard.objects.keys[:])
    return count


FORMS: dict[str, dict[str, str]] = {
    "full": {"form": "full", "expiry": "2100-01-01"},
    "full for ever": {"form": "full"},
    "minimal": {"form": "minimal", "expiry": "2100-01-01"},
    "keyed": {"form": "full", "expiry": "2100-01-01", "key": KEY},
    "keyed and minimal": {"form": "minimal", "expiry": "2100-01-01", "key": KEY},
}


CASES = [*((form, "auto") for form in FORMS), ("full", "bg4"), ("full", "none")]


@pytest.mark.parametrize(("form", "compression"), CASES)
def test_nothing_is_uploaded_that_our_shard_lists(tmp_path: Path, form: str, compression: str) -> None:
    import hf_xet

    cas, files = tmp_path / "cas", files_of(1)
    keys = write_store(cas, files, compression=compression)
    put_shard(cas, files, **FORMS[form])
    before = xorbs_of(cas)
    infos = upload(cas, files)
    assert [info.hash for info in infos] == keys
    assert (xorbs_of(cas), listed_xorbs(cas)) == (before, 0)
    wanted = [
        hf_xet.PyXetDownloadInfo(destination_path=str(tmp_path / f"down-{n}"), hash=info.hash, file_size=len(data))
        for n, (info, data) in enumerate(zip(infos, files, strict=True))
    ]
    hf_xet.download_files(wanted, f"local://{cas}", None, None, None)
    assert [(tmp_path / f"down-{n}").read_bytes() for n in range(len(files))] == files


def test_a_store_of_several_shards_is_one_to_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_SHARD_SIZE", 1500)
    cas, files = tmp_path / "cas", [*files_of(3), random.Random(9).randbytes(700_000)]
    keys = write_store(cas, files, expiry="2100-01-01")
    assert len(list((cas / "xet" / "shard-cache").iterdir())) > 1
    before = xorbs_of(cas)
    assert [info.hash for info in upload(cas, files)] == keys
    assert (xorbs_of(cas), listed_xorbs(cas)) == (before, 0)


@pytest.mark.parametrize("case", ["no shard", "expired"])
def test_without_our_shard_a_xorb_is_uploaded(tmp_path: Path, case: str) -> None:
    cas, files = tmp_path / "cas", files_of(2)
    write_store(cas, files)
    if case == "no shard":
        for path in (cas / "xet" / "shard-cache").iterdir():
            path.unlink()
    else:
        put_shard(cas, files, form="full", expiry="2001-01-01")
    upload(cas, files)
    assert listed_xorbs(cas) == 1


@pytest.mark.parametrize("seed", range(4))
def test_files_hash_as_in_the_reference(tmp_path: Path, seed: int) -> None:
    import hf_xet

    dice = random.Random(seed)
    files = [*files_of(seed), dice.randbytes(9_000_000), *(content(dice) + content(dice) for _ in range(12))]
    paths = [tmp_path / str(number) for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    with shardcore.create(tmp_path / "out.mdb", format="mdb") as made:
        keys = [made.add(None, data) for data in files]
    assert keys == [info.hash for info in hf_xet.hash_files([str(path) for path in paths])]
    with shardcore.open(tmp_path / "out.mdb") as shard:
        assert [shard.read(shard.find(key)) for key in keys] == files
