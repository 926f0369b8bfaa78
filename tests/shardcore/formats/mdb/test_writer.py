"""Writing shards with their xorbs, and rekeying them."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any, ClassVar

import lz4.frame
import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.codecs.xet import xorb_builder as xet_packing
from shardcore.codecs.xet.hashes import chunk_hash, to_text
from shardcore.codecs.xet.xorb_builder import XorbPacker
from shardcore.codecs.xet.xorb_layout import Scheme, write_chunk
from shardcore.formats.mdb import writer as mdb_writer
from shardcore.formats.mdb.layout import NO_EXPIRY, shard_name
from shardcore.formats.mdb.serialization import (
    EMPTY_FOOTER,
    FileChunks,
    FileCollector,
    FooterValues,
    Recipes,
    build,
)
from shardcore.formats.mdb.writer import rekey
from shardcore.model.finding import Depth
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import pack
from shardcore.shards.shard import Shard
from shardcore.testing import WriterContract
from shardcore.writing.temporary import Draining
from shardcore.writing.writer import Sized

DATA = Path(__file__).parents[3] / "data" / "mdb"
KEY = bytes(range(1, 33)).hex()


def contents() -> list[bytes]:
    found = [b"", b"a", b"text " * 900, np.arange(1500, dtype="<f4").tobytes(), bytes(8192)]
    return found + [random.Random(n).randbytes(20 * n) for n in range(1, 4)]


class TestMdbWriterContract(WriterContract):
    format: ClassVar = "mdb"
    suffix: ClassVar = ".mdb"
    keyless: ClassVar = True

    def objects(self) -> list[tuple[str | None, bytes]]:
        return [(None, data) for data in contents()]

    def test_extracted_and_packed_again(self, tmp_path: Path) -> None:
        target = self.target(tmp_path)
        with self.created(target) as writer:
            keys = self.fill(writer)
        with self.opened(target) as shard:
            refs = [shard.find(key) for key in keys]
            assert not any(line.error for line in extract_objects(shard, refs, tmp_path / "x"))
        again = self.target(tmp_path, "again")
        options = {"manifest": tmp_path / "x" / "manifest.json", "options": self.options}
        done = pack("mdb", f"{again}/" if self.suffix == "/" else again, **options)
        assert done.report.ok
        with self.opened(again) as shard:
            assert [shard.read(shard.find(key)) for key in keys] == contents()


class TestMdbStoreContract(TestMdbWriterContract):
    suffix: ClassVar = "/"
    options: ClassVar = {"key": KEY, "created": "1700000000"}

    def opened(self, target: Path, writer: Any = None) -> Shard:
        return shardcore.open(target, format="mdb")

    def test_extracted_and_packed_again(self, tmp_path: Path) -> None:
        super().test_extracted_and_packed_again(tmp_path)
        places = {path.parent.relative_to(tmp_path / "again").as_posix() for path in tmp_path.glob("again/xet/**/*.*")}
        assert places >= {"xet/xorbs/xorbs", "xet/xorbs/shards", "xet/shard-cache"}


def test_the_worked_example() -> None:
    for form, size, name in (
        ("full", 736, "2cd69ccc176c72df7c0bce42b837fdb4c97adf94fe98c239ff938409319163a3"),
        ("upload", 480, "52e2a9eecacd9b7d0cc657806650d79d84fa8075cab2a3d1cce8255548360dec"),
    ):
        packer, found, collected = XorbPacker(Draining(), "none"), FileChunks(), FileCollector()
        for chunk in (b"abc", b"defg"):
            found.add(chunk_hash(chunk), len(chunk), 0, packer.add(chunk, chunk_hash(chunk)))
        collected.add(found, hashlib.sha256(b"abcdefg").hexdigest())
        data = build(collected.recipes([packer.finish()]), form, EMPTY_FOOTER)
        assert (len(data), shard_name(data)) == (size, f"{name}.mdb")


@pytest.mark.parametrize(
    ("form", "size", "name"),
    [
        ("full", 344, "8bb4228e186b55335a9346532d23aab0cb6228a79205c039eab7f1bca558fd35"),
        ("minimal", 344, "32e36a66d6aec7c9b2a73189ed41321db244fa864dde762b2c59b8d92ca758ac"),
        ("upload", 144, "e07fdba796d5f2c85e9ff6c70b01cfab36cb4be37234e565d6e8053c51884936"),
    ],
)
def test_a_shard_of_nothing(tmp_path: Path, form: str, size: int, name: str) -> None:
    shardcore.create(tmp_path / "out.mdb", format="mdb", form=form).finish()
    (path,) = tmp_path.iterdir()
    assert (path.stat().st_size, shard_name(path.read_bytes())) == (size, f"{name}.mdb")


def recipes_of(path: Path) -> tuple[Recipes, FooterValues]:
    with shardcore.open(path, xorbs=DATA / "cas" / "xorbs") as shard:
        index = shard.file.load()
        files = [shard.objects.ref(row) for row in range(index.counts[0])]
        blocks = [index.data[ref.spans[0].start : ref.spans[0].stop] for ref in files]
        counts = [len(ref.extras["segments"]) for ref in files]
        raw = [block[48 * (1 + n) + 48 * k :][:32] for block, n in zip(blocks, counts, strict=True) for k in range(n)]
        rows = [np.frombuffer(b"".join(one), np.uint8).reshape(-1, 32) for one in ([b[:32] for b in blocks], raw)]
        shas = np.frombuffer(b"".join(block[-48:-16] for block in blocks), np.uint8).reshape(-1, 32)
        chunks = index.chunks.copy()
        chunks["flags"] = 0
        footer = shard.file.footer_fields
        facts = FooterValues(created=footer["shard_creation_timestamp"], expiry=footer["shard_key_expiry"])
        xorbs = np.ascontiguousarray(index.xorb_headers["cas_hash"])
        counted = index.xorbs.counts.astype(np.int64)
        return Recipes(rows[0], shas, np.array(counts), index.segments.copy(), rows[1], xorbs, counted, chunks), facts


@pytest.mark.parametrize("path", sorted((DATA / "cas").glob("shard*/*.mdb")), ids=lambda path: path.name[:8])
def test_shards_of_the_reference_are_written_again(path: Path) -> None:
    recipes, facts = recipes_of(path)
    form = "full" if path.parent.name == "shard-cache" else "minimal"
    assert build(recipes, form, facts) == path.read_bytes()


def write(target: Path | str, files: list[bytes], **options: Any) -> list[str]:
    with shardcore.create(target, format="mdb", **options) as writer:
        return [writer.add(None, data) for data in files]


@pytest.mark.parametrize("form", ["full", "minimal", "upload"])
def test_files_share_chunks(tmp_path: Path, form: str) -> None:
    dice = random.Random(1)
    shared = dice.randbytes(600_000)
    files = [shared, dice.randbytes(50_000) + shared + b"end", shared, bytes(400_000), b"", b""]
    keys = write(tmp_path / "out.mdb", files, form=form)
    assert keys[0] == keys[2]
    xorbs = list((tmp_path / "xorbs").iterdir())
    assert [xorb.stat().st_size < 1_000_000 for xorb in xorbs] == [True]
    with shardcore.open(tmp_path / "out.mdb") as shard:
        assert shard.verify("content").findings == ()
        assert shard.file.load().counts[:2] == (4, 1)
        assert len(shard.find(keys[1]).extras["segments"]) == 3
        for key, data in zip(keys, files, strict=True):
            ref = shard.find(key)
            assert shard.read(ref) == data
            assert ref.extras["sha256"] == (hashlib.sha256(data).hexdigest() if data else "0" * 64)
        eligible = [ref.extras["eligible"] for ref in map(shard.objects.ref, range(5, len(shard.objects)))]
        assert any(eligible) == (form == "minimal")
        assert xorbs[0].name == f"default.{shard.objects.ref(4).extras['xorb']}"


@pytest.mark.thorough
def test_xorbs_are_cut_at_their_limits(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "out.mdb", format="mdb", compression="none") as writer:
        for number in range(8200):
            writer.add(None, b"%d" % number)
        planned = {file.name for file in writer.plan().files}
    found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert (len(found), set(found)) == (3, planned)
    with shardcore.open(tmp_path / "out.mdb") as shard:
        assert shard.verify("index").findings == ()
    with shardcore.create(None, format="mdb", compression="none") as writer:
        writer.add(None, Sized(200 << 20))
        plan = writer.plan()
        assert (plan.exact, [file.size < 65 << 20 for file in plan.files]) == (False, [True] * 5)


def test_key_expiry_and_creation(tmp_path: Path) -> None:
    files = [random.Random(1).randbytes(300_000), b"small"]
    for form in ("full", "minimal"):
        path = tmp_path / f"{form}.mdb"
        keys = write(path, files, form=form, key=KEY, expiry="2100-01-01", created="1700000000")
        plain = write(tmp_path / f"{form}-plain.mdb", files, form=form)
        assert keys == plain
        with shardcore.open(path) as shard:
            assert shard.fields["footer.chunk_hash_hmac_key"] == bytes.fromhex(KEY)
            assert shard.fields["footer.shard_key_expiry"] == 4102444800
            assert shard.fields["footer.shard_creation_timestamp"] == 1700000000
            assert shard.verify("content").findings == ()
            assert [shard.read(shard.find(key)) for key in keys] == files
            assert shard.find(f"chunk:{to_text(chunk_hash(b'small'))}").extras["keyed"]
        with shardcore.open(tmp_path / f"{form}-plain.mdb") as shard:
            assert shard.fields["footer.shard_key_expiry"] == (NO_EXPIRY if form == "full" else 0)
            assert shard.fields["footer.shard_creation_timestamp"] == 0


def test_xorbs_in_a_folder_of_their_own(tmp_path: Path) -> None:
    xorbs = tmp_path / "elsewhere"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(random.Random(1).randbytes(200_000))
    for number in range(2):
        options = {"xorbs": str(xorbs)}
        done = pack("mdb", tmp_path / f"{number}.mdb", [tmp_path / "in"], options=options, verify=Depth.CONTENT)
        assert done.report.findings == ()
        assert (len(done.written), done.written[-1].path.name) == (2 - number, f"{number}.mdb")
    assert [path.name[:8] for path in xorbs.iterdir()] == ["default."]
    with pytest.raises(shardcore.UsageError):
        shardcore.create(tmp_path / "0.mdb", format="mdb", xorbs=str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_contents_are_read_back_where_a_xorb_was_there_already(tmp_path: Path) -> None:
    """A xorb that stays is compared with nothing when it is written."""
    source, xorbs = tmp_path / "a.bin", tmp_path / "xorbs"
    source.write_bytes(random.Random(1).randbytes(200_000))
    first = pack("mdb", tmp_path / "0.mdb", [source], verify=Depth.CONTENT)
    assert first.report.findings == ()
    (xorb,) = xorbs.iterdir()
    raw = bytearray(xorb.read_bytes())
    raw[1000] ^= 1
    xorb.write_bytes(raw)
    second = pack("mdb", tmp_path / "1.mdb", [source], verify=Depth.CONTENT)
    assert {finding.code for finding in second.report.findings} == {"mdb.file", "mdb.xorb"}


def test_a_chunk_that_does_not_decompress_to_itself_is_stored_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_chunk(Scheme.LZ4, bytes(1000))[0] is Scheme.LZ4
    monkeypatch.setattr(lz4.frame, "decompress", lambda frame: b"other")
    assert write_chunk(Scheme.LZ4, bytes(1000)) == (Scheme.NONE, bytes(1000))


def test_what_a_killed_run_left_among_the_xorbs_is_removed(tmp_path: Path) -> None:
    xorbs = tmp_path / "xorbs"
    xorbs.mkdir()
    for name in (".default.xorb.0123456789ab-7.part", ".other.0123456789ab-7.part", "default.mine"):
        (xorbs / name).write_bytes(b"left over")
    write(tmp_path / "out.mdb", [b"content"])
    names = sorted(path.name for path in xorbs.iterdir())
    assert (len(names), names[0], "default.mine" in names) == (3, ".other.0123456789ab-7.part", True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": "ab"}, "64 hex digits"),
        ({"key": "00" * 32}, "omit it"),
        ({"expiry": "soon"}, "expiry must be a date such as"),
        ({"created": "none"}, "created must be a date such as"),
        ({"form": "upload", "key": KEY}, "cannot store key"),
        ({"form": "upload", "expiry": "none"}, "cannot store expiry"),
        ({"form": "half"}, "one of full, minimal, upload"),
    ],
)
def test_options_are_checked(options: dict[str, str], message: str) -> None:
    with pytest.raises(shardcore.UsageError, match=message):
        shardcore.create(None, format="mdb", **options)


def test_a_store_has_its_own_places(tmp_path: Path) -> None:
    for options in ({"form": "full"}, {"xorbs": "x"}):
        with pytest.raises(shardcore.UsageError, match="not supported for a store"):
            shardcore.create(tmp_path / "cas", format="mdb", folder=True, **options)


def test_a_store_has_several_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdb_writer, "MAX_SHARD_SIZE", 4000)
    monkeypatch.setattr(xet_packing, "MAX_CHUNKS", 7)
    files = [b"", *(random.Random(n).randbytes(50 * n) for n in range(1, 30)), random.Random(1).randbytes(500_000)]
    files += [files[3], files[-1] + b"more"]
    with shardcore.create(None, format="mdb", folder=True) as planned:
        for data in files:
            planned.add(None, data)
        plan = planned.plan()
    with shardcore.create(tmp_path / "store", format="mdb", folder=True) as writer:
        keys = [writer.add(None, data) for data in files]
    assert {file.name: file.size for file in plan.files} == {
        file.path.relative_to(tmp_path / "store").as_posix(): file.size for file in writer.written
    }
    shards = sorted((tmp_path / "store" / "xet" / "shard-cache").iterdir())
    assert len(shards) > 2
    assert all(path.stat().st_size <= 4000 for path in shards)
    with shardcore.open(tmp_path / "store") as found:
        assert [found.read(found.find(key)) for key in keys] == files
        assert found.verify().findings == ()
    assert sum(file.objects for file in writer.written if file.path in shards) == len(set(files))
    for path in shards:  # each one is a shard in its own right
        with shardcore.open(path, xorbs=str(tmp_path / "store/xet/xorbs/xorbs")) as one:
            assert one.verify().findings == ()
    with pytest.raises(shardcore.UsageError, match="write to a folder instead"):
        pack("mdb", tmp_path / "one.mdb", manifest=manifest_of(tmp_path, files))


def manifest_of(folder: Path, files: list[bytes]) -> Path:
    for number, data in enumerate(files):
        (folder / f"in{number}").write_bytes(data)
    lines = [json.dumps({"path": f"in{number}"}) for number in range(len(files))]
    (folder / "m").write_text("\n".join(lines))
    return folder / "m"


def test_force_into_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    pack("mdb", f"{store}/", manifest=manifest_of(tmp_path, [b"one"]))
    again = pack("mdb", f"{store}/", manifest=manifest_of(tmp_path, [b"one"]), force=True)
    assert (again.removed, again.written, again.notes) == ((), (), ())
    assert pack("mdb", f"{store}/", manifest=manifest_of(tmp_path, [b"two"])).removed == ()
    before = {path for path in store.rglob("*") if path.is_file()}
    assert len(before) == 6
    done = pack("mdb", f"{store}/", manifest=manifest_of(tmp_path, [b"three"]), force=True)
    assert len(done.removed) == 4
    assert {path.suffix for path in done.removed} == {".mdb"}
    (note,) = done.notes
    assert "xet/xorbs/xorbs: kept 2 xorbs that this store no longer uses, because other shards may" in note
    assert len([path for path in store.rglob("*") if path.is_file()]) == 5


LISTED = json.loads((DATA / "expected.json").read_text())["shards"]
PLAIN = next(path for path in (DATA / "cas" / "shard-cache").iterdir() if path.name.startswith("e74f6896"))


KEYED = next(shard["footer"] for shard in LISTED if shard["path"] == "derived/keyed_full.mdb")


def rekeyed(path: Path, out: Path, **options: str) -> bytes:
    with shardcore.open(path, xorbs=DATA / "cas" / "xorbs") as shard:
        (written,) = rekey(shard, out, **options)
        assert written.path == out
    return out.read_bytes()


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
    options = ["-O", f"key={KEYED['chunk_hash_hmac_key']}", "-O", f"expiry={KEYED['shard_key_expiry']}"]
    out = tmp_path / "k.mdb"
    assert run(["rekey", str(PLAIN), str(out), *options, "--json"]) == 0
    assert out.read_bytes() == (DATA / "derived" / "keyed_full.mdb").read_bytes()
    assert run(["rekey", str(PLAIN), str(out), *options]) == 2
    assert run(["rekey", str(PLAIN), str(tmp_path / "other.mdb"), "-O", "seed=1"]) == 2
    assert not (tmp_path / "other.mdb").exists()
