"""The figures of a comparison are those of files that are really written, and really read cold over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.shards.registry import all_formats, format_of, writes_of
from shardcore.sources.remote.options import RemoteOptions
from shardcore.teaching.comparison.comparison import compared_formats
from shardcore.teaching.comparison.contents import BUILT_IN, ComparedObject
from shardcore.teaching.comparison.measure import (
    ACTIONS,
    BYTES_PER_MS,
    CODECS,
    ROUND_TRIP_MS,
    FormatRow,
    How,
    Lookup,
    PackedFormat,
    blank,
    measured,
    one_lookup,
    pack_in_memory,
    pieces_of,
    spread,
    with_codec,
    written_with,
)
from shardcore.testing import FULL
from shardcore.writing.edit_options import APPEND, VERBS, EditSubject
from tests.remote.servers import RangeServer

FORMATS = compared_formats()
SAMPLES = ((40, 30_000), (700, 300))
"""Objects larger than a first guess together, and so many that indices are."""


def dials(name: str) -> tuple[dict[str, str], ...]:
    """Every value of a format's main parameter."""
    dial = writes_of(format_of(name)).dial
    return tuple({dial.name: value} for value in dial.values) if dial is not None else ({},)


CASES = [
    pytest.param(name, options, count, size, marks=() if sample == 0 and at == 0 else pytest.mark.thorough)
    for name in FORMATS
    for at, options in enumerate(dials(name))
    for sample, (count, size) in enumerate(SAMPLES)
    if at == 0 or at % 2 == sample
]


def packed_of(name: str, objects: list[ComparedObject], options: dict[str, str]) -> tuple[FormatRow, PackedFormat]:
    """A row and what was packed."""
    row, found = measured(name, objects, options), format_of(name)
    assert not row.error
    return row, pack_in_memory(found, objects, written_with(found, options))


def written(packed: PackedFormat, options: dict[str, Any], folder: Path) -> dict[str, bytes]:
    """The same objects, written to disk by the writer that everybody uses: the files, by name."""
    found, folder = packed.format, folder / "out"
    folder.mkdir()
    rules = writes_of(found)
    target = folder / packed.name if packed.name else folder
    with shardcore.create(target, format=found.name, folder=not packed.name, **written_with(found, options)) as writer:
        for number, one in enumerate(packed.objects):
            key = packed.keys[number] if rules.check_key is not None and packed.keys[number] else None
            writer.add(key, one.data, name=one.name)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "options", "count", "size"), CASES)
def test_as_written_and_as_read(name: str, options: dict[str, str], count: int, size: int, tmp_path: Path) -> None:
    """In memory the same bytes come out as on disk, and a lookup costs what a server counts."""
    row, packed = packed_of(name, BUILT_IN.objects(count, size), options)
    files = written(packed, options, tmp_path)
    assert {key: packed.files[key] for key in files} == dict(packed.files) == files
    assert row.size == sum(map(len, files.values())) == packed.plan.size
    assert row.content == count * size
    assert row.files == len(files)
    assert row.lookup is not None
    costs = [served(packed, files, number) for number in spread(count)]
    told = (row.lookup.requests, row.lookup.opening)
    assert told in [cost[:2] for cost in costs], costs
    # Answers that nothing is there have bytes, too; and a reader that goes on where it was reads a little ahead.
    near = [bytes_ for requests, opening, bytes_ in costs if (requests, opening) == told]
    assert any(row.lookup.bytes <= sent <= row.lookup.bytes + 8_000 for sent in near), costs


@dataclass(frozen=True)
class Cold:
    """Ten objects in a format: the row, what was packed, and each lookup as compared and as a server counts it."""

    row: FormatRow
    packed: PackedFormat
    lookups: list[Lookup]
    served: list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def small() -> dict[tuple[str, str], Cold]:
    """Ten objects in each format, by each codec; looked up in those that are uncompressed, and with FULL in all."""
    found = {}
    for name in FORMATS:
        for codec in CODECS:
            objects = BUILT_IN.objects()
            row = measured(name, objects, {}, codec)
            assert not row.error
            one = format_of(name)
            packed = pack_in_memory(one, objects, written_with(one, with_codec(name, codec, {})))
            numbers = spread(len(packed.objects)) if codec == "none" or FULL else []
            lookups = [one_lookup(packed, number) for number in numbers]
            found[name, codec] = Cold(row, packed, lookups, [served(packed, packed.files, at) for at in numbers])
    return found


@pytest.mark.thorough
def test_size_and_overhead_are_those_of_the_files(small: dict[tuple[str, str], Cold]) -> None:
    """Size is that of all files, overhead what is over the bytes of the objects."""
    for case, one in small.items():
        size = sum(map(len, one.packed.files.values()))
        assert one.row.size == size, case
        assert one.row.overhead == size - sum(len(thing.data) for thing in one.packed.objects), case


@pytest.mark.thorough
def test_structure_is_all_but_contents_and_padding(small: dict[tuple[str, str], Cold]) -> None:
    """Uncompressed, the stored contents are the objects to the byte; structure, contents and padding are the size."""
    for (name, codec), one in small.items():
        row = one.row
        assert row.structure + row.stored + row.padding == row.size, (name, codec)
        assert (row.padding == 424) == (name == "swh"), (name, codec)
        assert 0 < row.stored <= row.content, (name, codec)
        if codec == "none":
            assert row.stored == row.content, name


def test_the_codec_is_the_one_in_the_files(small: dict[tuple[str, str], Cold]) -> None:
    """Contents stand in the files as they are with *none*, and where the format compresses nothing or has no zstd."""
    for (name, codec), one in small.items():
        whole = [any(thing.data in data for data in one.packed.files.values()) for thing in one.packed.objects]
        text = one.row.codec
        plain = text.startswith(("none", "not compressed"))
        assert all(whole) == plain, (name, codec, text)
        assert (text == "not compressed by the format") == (name == "swh")
        assert (text == "none: the format has no zstd") == (codec == "zstd" and name in ("mdb", "xorb", "neuroglancer"))
        frames = any(b"\x28\xb5\x2f\xfd" in data for data in one.packed.files.values())
        assert frames == (text == "zstd"), (name, codec)


def test_a_lookup_is_what_a_server_counts(small: dict[tuple[str, str], Cold]) -> None:
    """Requests, those of opening, bytes, and the round trips of the timeline, of each lookup that is compared."""
    for case, one in small.items():
        for lookup, (requests, opening, sent) in zip(one.lookups, one.served, strict=True):
            assert (lookup.requests, lookup.opening) == (requests, opening), case
            # The answer 404 has a text, too.
            assert 0 <= sent - lookup.bytes < 200, case
            assert len(lookup.trips) == lookup.rounds, case
            assert sum(len(trip.ranges) for trip in lookup.trips) == lookup.requests, case
            assert sum(trip.bytes for trip in lookup.trips) == lookup.bytes, case
            assert sum(len(trip.ranges) for trip in lookup.trips if trip.opening) == lookup.opening, case
            waiting = lookup.rounds * ROUND_TRIP_MS + lookup.bytes / BYTES_PER_MS
            assert lookup.milliseconds == pytest.approx(waiting), case


def test_a_lookup_is_that_of_trace_cold(
    small: dict[tuple[str, str], Cold], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`shardcore trace FILE KEY --cold` of the same contents on disk has the same numbers."""
    for name in FORMATS:
        one = small[name, "none"]
        folder = tmp_path / name
        for path, data in one.packed.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        given = [text for key, value in one.packed.opening.items() for text in (f"--{key}", str(value))]
        for number, lookup in zip(spread(len(one.packed.objects)), one.lookups, strict=True):
            path = folder / one.packed.file_of(number)
            key = (one.packed.keys[number] if one.packed.name else "") or key_on_disk(path, one.packed, number)
            assert run(["trace", str(path), key, "--cold", "--json", *given]) == 0
            cold = json.loads(capsys.readouterr().out)["cold"]
            total = {"requests": lookup.requests, "bytes": lookup.bytes, "rounds": lookup.rounds}
            assert cold["total"] == total, name
            assert cold["opening"]["requests"] == lookup.opening, name


def key_on_disk(path: Path, packed: PackedFormat, number: int) -> str:
    """The key of an object that the writer gave none."""
    with shardcore.open(path, format=packed.format.name) as shard:
        at = len(shard.objects) * number // len(packed.objects) if packed.name else 0
        return str(shard.objects.keys[at])


def test_minishard_indices_are_structure() -> None:
    """Of 1,000 small objects: more than the shard index, and all that is no stored value."""
    row, packed = packed_of("neuroglancer", BUILT_IN.objects(1000, 256), with_codec("neuroglancer", "none", {}))
    assert row.structure == packed.plan.size - 256_000
    assert row.structure > 2_000


def test_a_codec_that_is_chosen_is_kept() -> None:
    """Only what no option chooses is uncompressed; the main parameter still applies."""
    assert with_codec("des", "none", {"codec": "zstd"})["codec"] == "zstd"
    spec = with_codec("neuroglancer", "none", {"minishard_bits": "2"})["spec"]
    assert (spec["minishard_bits"], spec["data_encoding"]) == (2, "raw")


def served(packed: PackedFormat, files: dict[str, bytes], number: int) -> tuple[int, int, int]:
    """What a server sees of a lookup from a cold start: requests, how many of them for opening, and bytes."""
    with RangeServer() as server:
        for path, data in files.items():
            server.put(f"/s/{path}", data)
        where = f"{server.url}/s/{packed.file_of(number)}"
        with shardcore.open(where, format=packed.format.name, remote=RemoteOptions(), **packed.opening) as shard:
            opening = len(server.log)
            rows = len(shard.objects.keys) if not packed.keys[number] or not packed.name else 0
            key = packed.keys[number] if packed.name else ""
            ref = shard.find(
                key or shard.objects.keys[rows * number // len(packed.objects) if packed.name else 0] or ""
            )
            for _ in shard.stream(ref):
                pass
            return len(server.log), opening, server.log.sent


def test_what_changes_cost() -> None:
    """Each format says all three; in place and beside is less than the whole, what is never possible costs nothing."""
    objects = BUILT_IN.objects(60, 2_000)
    for name in FORMATS:
        row = measured(name, objects, {})
        assert not row.error
        assert tuple(row.costs) == ACTIONS
        for action, cost in row.costs.items():
            assert cost.what.endswith("."), (name, action)
            assert cost.exact, (name, action)
            if cost.how in (How.IN_PLACE, How.BESIDE):
                assert 0 < cost.written < row.size / 4, (name, action)
            elif cost.how is How.REWRITE:
                bound = sorted((row.size, row.size + 4_000 * (1 if action == "append" else -1)))
                assert bound[0] <= cost.written <= bound[1], (name, action)
            else:
                assert not cost.written, (name, action)
        assert row.costs["verify"].read == row.size, name


def test_an_edit_costs_what_it_writes(tmp_path: Path) -> None:
    """Deleting from a Read Shard writes the length, the content and the slot, as it does on disk."""
    objects = BUILT_IN.objects(60, 2_000)
    _, packed = packed_of("swh", objects, {})
    path = tmp_path / "a.shard"
    path.write_bytes(packed.files[packed.name])
    with shardcore.open(path) as shard:
        edit = packed.format.edits["delete"](shard, [packed.keys[30]])
    cost = measured("swh", objects, {}).costs["delete"]
    assert cost.written == sum(change.size for change in edit.changes) == 8 + 2_000 + 40


def test_every_format_declares() -> None:
    """A format that is written can add and delete, or says why not; the usual value of its parameter is one of them."""
    for one in all_formats():
        if one.writes is None:
            continue
        deletes = any(verb.takes is EditSubject.KEYS and verb.name in one.edits for verb in VERBS)
        for action, there in (("append", APPEND.name in one.edits), ("delete", deletes)):
            assert there != (action in one.writes.without), (one.name, action)
        for without in one.writes.without.values():
            assert without.why.endswith(".")
        if (dial := one.writes.dial) is not None:
            assert dial.usual in dial.values
            assert dial.help.endswith(".")
        assert blank(one.name, {}).cannot == one.writes.cannot


def test_what_does_not_fit_says_why() -> None:
    """Objects that a format cannot take, and options that it has not, are an error of its row alone."""
    many = [ComparedObject(str(number), b"%d" % number) for number in range(8_193)]
    row = measured("xorb", many, {"compression": "none"})
    assert "8,193" in row.error or "8,192" in row.error
    assert row.pieces == ()
    assert "codec" in measured("des", many[:2], {"codec": "rar"}).error
    twice = [ComparedObject("a", b"same"), ComparedObject("b", b"same"), ComparedObject("c", b"other")]
    row = measured("swh", twice, {})
    assert row.notes == ("1 object with a content that is there already: stored once",)
    assert (row.objects, row.content) == (3, 13)


def test_many_sections_are_told_together() -> None:
    """Where files are many, sections of one name are one piece, with their number."""
    _, packed = packed_of("bloscpack", BUILT_IN.objects(30, 100), {})
    pieces = pieces_of(packed)
    counted = [(piece.name, piece.count) for piece in pieces]
    assert counted == [("header", 30), ("offsets", 30), ("chunks", 30), ("between contents", 30)]
    assert sum(piece.size for piece in pieces) == packed.plan.size
