"""Shards anew under a key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.formats.mdb.rekey import rekey
from shardcore.formats.mdb.shard import MdbShard

DATA = Path(__file__).parents[3] / "data" / "mdb"
LISTED = json.loads((DATA / "expected.json").read_text())["shards"]
PLAIN = next(path for path in (DATA / "cas" / "shard-cache").iterdir() if path.name.startswith("e74f6896"))


def listed(name: str) -> dict[str, str]:
    footer: dict[str, str] = next(shard for shard in LISTED if shard["path"] == name)["footer"]
    return footer


def rekeyed(path: Path, out: Path, **options: str) -> bytes:
    with shardcore.open(path, xorbs=DATA / "cas" / "xorbs") as shard:
        assert isinstance(shard, MdbShard)
        (written,) = rekey(shard, out, **options)  # type: ignore[arg-type]
        assert written.path == out
    return out.read_bytes()


def test_the_keyed_sample_byte_by_byte(tmp_path: Path) -> None:
    wanted = listed("derived/keyed_full.mdb")
    options = {"key": str(wanted["chunk_hash_hmac_key"]), "expiry": str(wanted["shard_key_expiry"])}
    assert rekeyed(PLAIN, tmp_path / "k.mdb", **options) == (DATA / "derived" / "keyed_full.mdb").read_bytes()


@pytest.mark.parametrize("path", sorted((DATA / "cas").glob("shard*/*.mdb")), ids=lambda path: path.name[:8])
def test_every_chunk_is_found_under_the_key(tmp_path: Path, path: Path) -> None:
    rekeyed(path, tmp_path / "k.mdb", key="01" * 32, expiry="2100-01-01")
    with (
        shardcore.open(path, xorbs=DATA / "cas" / "xorbs") as plain,
        shardcore.open(tmp_path / "k.mdb", xorbs=DATA / "cas" / "xorbs") as keyed,
    ):
        assert keyed.verify("content").findings == ()
        for row, key in enumerate(plain.objects.keys[:]):
            found, was = keyed.find(key or ""), plain.objects.ref(row)
            assert (found.spans, found.size) == (was.spans, was.size)
            assert (found.key == key) == (not (key or "").startswith("chunk:"))
        assert keyed.fields["footer.shard_key_expiry"] == 4102444800


def test_only_the_expiry(tmp_path: Path) -> None:
    plain = PLAIN.read_bytes()
    for expiry, value in (("2100-01-01", 4102444800), ("none", 2**64 - 1)):
        out = tmp_path / f"{expiry}.mdb"
        at = len(plain) - 200 + 112
        assert rekeyed(PLAIN, out, expiry=expiry) == plain[:at] + value.to_bytes(8, "little") + plain[at + 8 :]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("derived/keyed_full.mdb", {"key": "01" * 32}, "keyed already"),
        ("derived/upload_form.mdb", {"key": "01" * 32}, "no footer"),
        ("derived/expired.mdb", {}, "pass --key"),
        ("damaged/xorb_count_huge.mdb", {"key": "01" * 32}, "a damaged shard cannot be rekeyed"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(shardcore.ShardError, match=message):
        rekeyed(DATA / name, tmp_path / "k.mdb", **options)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_same(tmp_path: Path) -> None:
    wanted = listed("derived/keyed_full.mdb")
    options = ["-O", f"key={wanted['chunk_hash_hmac_key']}", "-O", f"expiry={wanted['shard_key_expiry']}"]
    out = tmp_path / "k.mdb"
    assert run(["rekey", str(PLAIN), str(out), *options, "--json"]) == 0
    assert out.read_bytes() == (DATA / "derived" / "keyed_full.mdb").read_bytes()
    assert run(["rekey", str(PLAIN), str(out), *options]) == 2
    assert run(["rekey", str(PLAIN), str(tmp_path / "other.mdb"), "-O", "seed=1"]) == 2
    assert not (tmp_path / "other.mdb").exists()
