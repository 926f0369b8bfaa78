"""Writing Read Shards, deleting objects in place, and truncation."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.cli.program import run as program
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.swh.shard import SwhShard
from shardcore.formats.swh.writer import MANY, delete, truncate
from shardcore.model.objects import State
from shardcore.testing import WriterContract
from shardcore.testing import kill_runs as killed
from shardcore.writing import journal as chain
from shardcore.writing.undo import apply, edit_in_place, interrupted, undo

# The three objects `a`, `b` and `c`, as the reference writes them with seed 1: every byte, row by row.
WORKED_EXAMPLE = bytes.fromhex(
    "5357485368617264" + "00" * 24  # magic
    + "0000000000000001" + "0000000000000003"  # version, objects_count
    + "0000000000000200" + "000000000000001b"  # objects at 512, 27 bytes
    + "000000000000021b" + "00000000000001b8"  # index at 539, 440 bytes
    + "00000000000003d3" + "00" * 424  # hash function at 979, padding
    + "000000000000000161" + "000000000000000162" + "000000000000000163"  # a, b, c
    + ("00" * 32 + "ff" * 8) * 5  # slots 0 to 4
    + "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6" + "0000000000000212"  # slot 5
    + ("00" * 32 + "ff" * 8) * 2  # slots 6 and 7
    + "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d" + "0000000000000209"  # slot 8
    + ("00" * 32 + "ff" * 8)  # slot 9
    + "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" + "0000000000000200"  # slot 10
    + "6368645f706800" + "0b000000" + "0c000000"  # chd_ph, 11 slots, 12 bytes of state
    + "6a656e6b696e7300" + "01000000" + "24000000"  # jenkins, seed 1, L = 36
    + "01000000" + "01000000" + "00000000"  # B = 1, r = 1, T = 0
    + "10000000" + "01000000" + "00000000"  # Ls = 16, select count 1, top 0
    + "01000000" + "00000000" + "00000000"  # unary bits, directory, low bits
    + "0b000000" + "01000000"  # n, B again
)  # fmt: skip


class TestSwhWriterContract(WriterContract):
    format: ClassVar = "swh"
    wrong_keys: ClassVar = ("", "ab", "zz" * 32, "ab" * 33, "a b" * 16 + "c" * 16)

    def objects(self) -> list[tuple[str | None, bytes]]:
        contents = [b"", b"hello", b"\0" * 5000, *(bytes([n]) * n for n in range(1, 60))]
        return [(hashlib.sha256(b"given").hexdigest().upper(), b"given"), *((None, data) for data in contents)]


def write(path: Path, contents: list[bytes], **options: int) -> None:
    with shardcore.create(path, format="swh", **options) as writer:
        writer.add_many(None, contents)


def test_the_worked_example_byte_by_byte(tmp_path: Path) -> None:
    write(tmp_path / "abc.shard", [b"a", b"b", b"c"], seed=1)
    assert (tmp_path / "abc.shard").read_bytes() == WORKED_EXAMPLE


def test_the_zero_key_is_a_key(tmp_path: Path) -> None:
    """Slots are told apart by their offset."""
    with shardcore.create(tmp_path / "out.shard", format="swh") as writer:
        writer.add("00" * 32, b"the zero key")
    with shardcore.open(tmp_path / "out.shard") as shard:
        assert shard.read(shard.find("00" * 32)) == b"the zero key"
        assert [key for key in shard.objects.keys[:] if key] == ["00" * 32]
        assert shard.verify("content").ok


def test_order_of_adding_is_order_in_the_file(tmp_path: Path) -> None:
    contents = [bytes([n]) for n in (9, 3, 7, 1)]
    write(tmp_path / "out.shard", contents)
    with shardcore.open(tmp_path / "out.shard") as shard:
        shard.load_index()
        rows = shard.objects.order("offset")
        assert [shard.read(shard.objects.ref(row)) for row in rows.tolist()] == contents
        assert (shard.objects.columns(rows).state == State.LIVE).all()


def test_options_are_checked() -> None:
    with pytest.raises(shardcore.UsageError, match="colour"):
        shardcore.create(None, format="swh", colour="red")
    for seed in (2**32, -1, "x", None, 1.5):
        with pytest.raises(shardcore.UsageError, match="seed"):
            shardcore.create(None, format="swh", seed=seed)


@pytest.mark.parametrize("wrong", [0, 1, 2, 3])
def test_content_that_is_not_what_its_key_says_is_told(tmp_path: Path, wrong: int) -> None:
    contents = [bytes([number]) * 4000 for number in range(4)]
    keys = [hashlib.sha256(data).hexdigest() for data in contents]
    with shardcore.create(tmp_path / "source.shard", format="swh") as writer:
        for number, (key, data) in enumerate(zip(keys, contents, strict=True)):
            writer.add(key, data + b"!" if number < wrong else data)
    notes = shardcore.convert(tmp_path / "source.shard", "swh", tmp_path / "copy.shard").notes
    assert writer.notes == notes
    assert [note.split(":")[0] for note in notes] == {
        1: ["1 object whose sha256 is not the key"],
        2: ["2 objects whose sha256 is not the key"],
    }.get(wrong, [])


DATA = Path(__file__).parents[3] / "data" / "swh"


def live_keys(shard: SwhShard) -> list[str]:
    return [key for key in shard.objects.keys[:] if key is not None]


@pytest.mark.parametrize("name", ["small", "one", "legacy"])
def test_deleted_objects_are_gone(tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(DATA / f"{name}.shard", tmp_path))
    before = path.read_bytes()
    with shardcore.open(path) as shard:
        keys = live_keys(shard)
        gone = keys[: max(1, len(keys) // 3)]
        refs = [shard.find(key) for key in gone]
        apply(delete(shard, gone))
    after = path.read_bytes()
    assert len(after) == len(before)
    for ref in refs:
        content = ref.spans[0]
        assert not any(after[content.start - 8 : content.stop])
    with shardcore.open(path) as shard:
        for key in keys[:: max(1, len(keys) // 100)]:
            assert shard.trace(key).outcome == ("absent" if key in gone else "found")
        assert ((shard.find_many(keys) < 0) == ([True] * len(gone) + [False] * (len(keys) - len(gone)))).all()
        assert shard.verify("content").ok
        shard.load_index()
        assert int((shard.objects[:].state == State.LIVE).sum()) == len(keys) - len(gone)
    undo(path)
    assert path.read_bytes() == before


def test_all_keys_are_checked_first(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / "small.shard", tmp_path))
    with shardcore.open(path) as shard:
        key = live_keys(shard)[0]
        for error, keys in ((KeyAbsent, [key, "00" * 32]), (UsageError, [key, key.upper()]), (UsageError, [])):
            with pytest.raises(error):
                delete(shard, keys)


@pytest.mark.parametrize("count", [MANY, MANY + 1])
def test_a_wrong_length_does_not_prevent_deleting_others(tmp_path: Path, count: int) -> None:
    path = Path(shutil.copy(DATA / "medium.shard", tmp_path))
    with shardcore.open(path) as shard:
        keys = live_keys(shard)[:count]
        start = shard.find(keys[5]).spans[0].start
    with path.open("r+b") as file:
        file.seek(start - 1)
        file.write(b"\3")
    with shardcore.open(path) as shard:
        assert delete(shard, keys).keys == tuple(keys)
        with pytest.raises(KeyAbsent):
            delete(shard, [*keys, "00" * 32])


def test_truncate_cuts_what_follows(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / "small.shard", tmp_path))
    sound = path.read_bytes()
    with shardcore.open(path) as shard:
        stop = next((s.start for s in shard.sections if s.name == "trailing"), len(sound))
    path.write_bytes(sound[:stop] + bytes(5000) + b"rest")
    with shardcore.open(path) as shard:
        apply(truncate(shard))
    assert path.read_bytes() == sound[:stop]
    with shardcore.open(path) as shard:
        edit = truncate(shard)
        assert (edit.changes, edit.new_size) == ((), stop)
    undo(path)
    assert path.read_bytes() == sound[:stop] + bytes(5000) + b"rest"


class Killed:
    def prepared(self, target: Path) -> None:
        shutil.copy(DATA / "small.shard", target)
        target.with_name(target.name + ".undo").unlink(missing_ok=True)

    def run(self, target: Path) -> None:
        with shardcore.open(target) as shard:
            apply(delete(shard, live_keys(shard)[::2]))

    def judged(self, target: Path) -> str:
        with shardcore.open(target) as shard:
            readable = all(shard.trace(key).outcome != "damaged" for key in live_keys(shard))
        if target.with_name(target.name + ".undo").exists():
            undo(target)
        same = target.read_bytes() == (DATA / "small.shard").read_bytes()
        return "fine" if readable and same else "wrong"


SECRET = b"to be gone "


def with_secret(path: Path) -> str:
    secret = SECRET * ((3 << 20) // len(SECRET))
    with shardcore.create(path, format="swh", force=True) as writer:
        writer.add_many(None, [b"first" * 100, secret, b"last" * 100])
    return hashlib.sha256(secret).hexdigest()


class KilledTakedown:
    options: ClassVar[list[str]] = ["--no-undo"]

    def prepared(self, target: Path) -> None:
        chain.forget(target)
        target.unlink(missing_ok=True)
        self.key = with_secret(target)

    def run(self, target: Path) -> None:
        with shardcore.open(target) as shard:
            edit_in_place(target, "delete", lambda keys: delete(shard, keys), [self.key], keep=not self.options)

    def judged(self, target: Path) -> str:
        told = interrupted(target)
        with contextlib.redirect_stdout(io.StringIO()):
            code = program(["delete", str(target), self.key, *self.options, "--yes"])
        with shardcore.open(target) as shard:
            sound = shard.verify("content").ok and shard.trace(self.key).outcome == "absent"
        left = [one.name for one in target.parent.iterdir() if SECRET * 2 in one.read_bytes()]
        if self.options:
            fine = sound and not left and not interrupted(target)
        else:
            fine = sound and left == [target.name + ".undo"]
        if code not in (0, 1) or (told and code):
            return f"code-{code}"
        return ("finished" if told else "gone") if fine else f"wrong-{sound}-{left}"


class KilledDelete(KilledTakedown):
    options: ClassVar[list[str]] = []


@pytest.mark.thorough
@pytest.mark.parametrize("case", [KilledTakedown, KilledDelete])
def test_a_takedown_that_is_killed_is_finished_by_the_next_run(tmp_path: Path, case: type[KilledTakedown]) -> None:
    outcomes = set(killed.at_moments(case, "run", tmp_path / "x.shard", 60))
    assert outcomes <= {"gone", "finished"}
    assert "finished" in outcomes


@pytest.mark.thorough
def test_a_deletion_that_is_killed(tmp_path: Path) -> None:
    assert set(killed.at_moments(Killed, "run", tmp_path / "x.shard", 20)) == {"fine"}


def test_a_content_behind_a_length_of_zero_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "x.shard"
    key = with_secret(path)
    with shardcore.open(path) as shard:
        start = shard.find(key).spans[0].start
    with path.open("r+b") as file:
        file.seek(start - 8)
        file.write(bytes(8))
    with shardcore.open(path) as shard:
        assert "swh.gap" in {one.code for one in shard.verify("content").findings}
    assert program(["delete", str(path), key, "--no-undo", "--yes"]) == 0
    assert SECRET not in path.read_bytes()
    with shardcore.open(path) as shard:
        assert shard.verify("content").ok


def test_what_is_left_of_deleted_objects_is_found(tmp_path: Path) -> None:
    """Bytes between live objects that are not zero are reported where objects were deleted."""
    path = tmp_path / "x.shard"
    key = with_secret(path)
    with shardcore.open(path) as shard:
        content = shard.find(key).spans[0]
        apply(delete(shard, [key]), journal=False)
    with path.open("r+b") as file:
        file.seek(content.start + 1000)
        file.write(SECRET)
    with shardcore.open(path) as shard:
        assert "swh.gap-not-zero" in {one.code for one in shard.verify("content").findings}
