"""The figures of a comparison are those of files that are really written, and really read cold over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.shards.registry import format_of, writes_of
from shardcore.sources.remote.options import RemoteOptions
from shardcore.teaching.comparison import (
    BYTES_PER_MS,
    HEADINGS,
    ROUND_TRIP_MS,
    ComparedObject,
    FormatRow,
    Lookup,
    PackedFormat,
    built_in,
    cells,
    compared_formats,
    measured,
    one_lookup,
    overhead_text,
    pack_in_memory,
    pieces_of,
    spread,
)
from tests.remote.servers import RangeServer

FORMATS = compared_formats()


@dataclass(frozen=True)
class Cold:
    """Ten objects in a format: the row, what was packed, and each lookup as compared and as a server counts it."""

    row: FormatRow
    packed: PackedFormat
    lookups: list[Lookup]
    served: list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def small() -> dict[str, Cold]:
    """Ten objects in each format, and their lookups."""
    found = {}
    for name in FORMATS:
        row = measured(name, built_in())
        assert not row.error
        packed = pack_in_memory(format_of(name), built_in(), writes_of(format_of(name)).uncompressed)
        numbers = spread(len(packed.objects))
        lookups = [one_lookup(packed, number) for number in numbers]
        found[name] = Cold(row, packed, lookups, [served(packed, packed.files, at) for at in numbers])
    return found


def test_sizes_are_those_of_the_files(small: dict[str, Cold], tmp_path: Path) -> None:
    """In memory the same bytes come out as on disk; overhead is what is over the bytes of the objects, as they are."""
    for name, one in small.items():
        assert written(one.packed, tmp_path / name) == dict(one.packed.files)
        assert one.row.size == sum(map(len, one.packed.files.values())) == one.packed.plan.size, name
        assert one.row.files == len(one.packed.files)
        assert one.row.overhead == one.row.size - 42_484 > 0, name
        assert all(any(thing.data in data for data in one.packed.files.values()) for thing in one.packed.objects), name


def written(packed: PackedFormat, folder: Path) -> dict[str, bytes]:
    """The same objects, written to disk by the writer that everybody uses: the files, by name."""
    found, rules = packed.format, writes_of(packed.format)
    folder.mkdir()
    target = folder / packed.name if packed.name else folder
    with shardcore.create(target, format=found.name, folder=not packed.name, **rules.uncompressed) as writer:
        for number, one in enumerate(packed.objects):
            key = packed.keys[number] if rules.check_key is not None and packed.keys[number] else None
            writer.add(key, one.data, name=one.name)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: files[name] for name in packed.files}


def test_a_lookup_is_what_a_server_counts(small: dict[str, Cold]) -> None:
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
    small: dict[str, Cold], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`shardcore trace FILE KEY --cold` of the same contents on disk has the same numbers."""
    for name in FORMATS:
        one = small[name]
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


def test_ten_built_in_objects_and_a_page_that_explains_every_column() -> None:
    """The same objects each time."""
    objects = built_in()
    assert len(objects) == len({one.name for one in objects}) == len({one.data for one in objects}) == 10
    assert sum(len(one.data) for one in objects) == 42_484
    assert built_in() == objects
    page = (Path(__file__).parents[3] / "docs" / "guide" / "compare-formats.md").read_text(encoding="utf-8")
    assert all(f"\n| {heading} |" in page for heading in HEADINGS[1:])


def test_what_does_not_fit_says_why() -> None:
    """Objects that a format cannot take are an error of its row alone."""
    many = [ComparedObject(str(number), b"%d" % number) for number in range(8_193)]
    row = measured("xorb", many)
    assert "8,193" in row.error or "8,192" in row.error
    assert row.pieces == ()
    assert cells(row)[1:] == ("—", "—", "—", row.error)
    twice = [ComparedObject("a", b"same"), ComparedObject("b", b"same"), ComparedObject("c", b"other")]
    row = measured("swh", twice)
    assert row.notes == ("1 object with equal content: stored once",)
    assert row.content == 13
    assert len(cells(row)) == len(HEADINGS)
    assert overhead_text(replace(row, content=row.size * 2)).startswith("−")
    assert cells(replace(row, lookup=None))[:2] == ("swh", "…")


def test_many_sections_are_told_together() -> None:
    """Where files are many, sections of one name are one piece, with their number."""
    objects = [ComparedObject(str(number), b"%d" % number * 50) for number in range(30)]
    packed = pack_in_memory(format_of("bloscpack"), objects, {})
    pieces = pieces_of(packed)
    counted = [(piece.name, piece.count) for piece in pieces]
    assert counted == [("header", 30), ("offsets", 30), ("chunks", 30), ("between contents", 30)]
    assert sum(piece.size for piece in pieces) == packed.plan.size
