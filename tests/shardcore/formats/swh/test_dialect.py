"""How a shard's dialect of the hash is told, what that costs, and what lookups keep of each other."""

from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.swh.layout import HASH_HEAD
from shardcore.formats.swh.shard import SwhShard
from shardcore.testing.sources import CountingSource

DATA = Path(__file__).parents[3] / "data" / "swh"
ABSENT = "f" * 64


def opened(source: CountingSource | bytes) -> SwhShard:
    shard = shardcore.open(source)
    assert isinstance(shard, SwhShard)
    return shard


def test_a_shard_without_a_telling_key_is_searched_once(tmp_path: Path) -> None:
    """Where no live key shows the dialect, the slots are searched for the first absent key only."""
    with shardcore.create(tmp_path / "plain", format="swh") as writer:
        for number in range(900):
            # Octal digits: no byte of these keys is above 0x77, so both rules read them alike.
            writer.add(f"{number:064o}", b"")
    source = CountingSource((tmp_path / "plain").read_bytes())
    with opened(source) as shard:
        costs = []
        for key in (ABSENT, "e" * 64, "d" * 64):
            before = len(source.ranges)
            with pytest.raises(KeyAbsent):
                shard.find(key)
            costs.append(len(source.ranges) - before)
        assert shard.file.signed is False
        assert max(costs[1:]) == 1 < costs[0]


def test_one_damaged_key_does_not_make_a_dialect() -> None:
    """A foreign key that hashes to its slot by the signed rule is outvoted by the keys after it."""
    data = bytearray((DATA / "small.shard").read_bytes())
    with opened(bytes(data)) as shard:
        start = shard.file.geometry.index_start
        signed_only = next(
            key
            for key in (bytes([0x80 + n // 256, n % 256]) + bytes(30) for n in range(5000))
            if _slots(shard, key) == (False, True)
        )
    data[start : start + 32] = signed_only
    with opened(bytes(data)) as shard:
        with pytest.raises(KeyAbsent):
            shard.find(ABSENT)
        assert shard.file.signed is False


@pytest.mark.parametrize("strangers", [0, 1])
def test_a_damaged_key_does_not_hide_the_dialect(strangers: int) -> None:
    data = bytearray((DATA / "signed_dialect.shard").read_bytes())
    with opened(bytes(data)) as shard:
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        live = [ref for ref in refs if ref.state is shardcore.State.LIVE]
        start = shard.file.geometry.slot_start(live[0].row)
    if strangers:
        data[start + 5] ^= 1
    with opened(bytes(data)) as shard:
        codes = [f.code for f in shard.verify("index").findings if f.severity is shardcore.Severity.ERROR]
        assert codes == ["swh.signed-dialect"] + ["swh.slot-mismatch"] * strangers
    with opened(bytes(data)) as shard:
        assert shard.find(str(live[1].key)).row == live[1].row


def _slots(shard: SwhShard, key: bytes) -> tuple[bool, bool]:
    keys = np.frombuffer(key, np.uint8).reshape(1, 32)
    plain, signed = (int(shard.file.slots_of(keys, signed=rule)[0]) for rule in (False, True))
    return plain == 0, signed == 0


def test_keys_with_blanks_are_refused_in_bulk() -> None:
    blank = "ab" * 16 + " " * 32
    with opened((DATA / "small.shard").read_bytes()) as shard, pytest.raises(UsageError, match="64 hex digits"):
        shard.find_many([blank, blank])


def test_a_lookup_before_does_not_hide_a_wrong_length() -> None:
    """Cached bytes are checked like bytes that are read."""
    data = bytearray((DATA / "small.shard").read_bytes())
    with opened(bytes(data)) as shard:
        ref = shard.objects.ref(0)
        offset, slot = int(ref.extras["offset"]), ref.row
    data[offset + 7] ^= 1
    with opened(bytes(data)) as shard:
        shard.load_index()
        listed = shard.objects.ref(slot)
        for _ in range(2):
            with pytest.raises(FormatError, match="by the index it has"):
                shard.read(listed)
            with pytest.raises(FormatError, match="by the index it has"):
                shard.find(str(ref.key))


def test_a_wrong_seed_is_no_dialect() -> None:
    data = bytearray((DATA / "small.shard").read_bytes())
    with opened(bytes(data)) as shard:
        keys = [key for key in shard.objects.keys if key is not None]
        data[shard.file.hash_parts().start + HASH_HEAD.offsets["seed"]] ^= 1
    with opened(bytes(data)) as shard:
        traces = [shard.trace(key) for key in keys]
        assert {trace.outcome for trace in traces} <= {"found", "damaged"}
        with pytest.raises(FormatError, match="does not fit"):
            shard.find_many(keys)
        assert not shard.file.signed
