"""The figures of a comparison are those of files that are really written, and really read cold over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.shards.registry import all_formats, format_of, writes_of
from shardcore.sources.remote.options import RemoteOptions
from shardcore.teaching.comparison.comparison import compared_formats
from shardcore.teaching.comparison.contents import BUILT_IN, ComparedObject
from shardcore.teaching.comparison.measure import (
    ACTIONS,
    FormatRow,
    How,
    Lookup,
    PackedFormat,
    blank,
    measured,
    one_lookup,
    pack_in_memory,
    pieces_of_plan,
    spread,
    uncompressed,
    written_with,
)
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


MODES = (False, True)
"""Uncompressed in all formats; the default codec of each."""


@pytest.fixture(scope="module")
def small() -> dict[tuple[str, bool], tuple[FormatRow, PackedFormat, list[Lookup], list[tuple[int, int, int]]]]:
    """Ten objects in each format: the row, what was packed, and each lookup as compared and as a server counts it."""
    found = {}
    for name in FORMATS:
        for own in MODES:
            options = {} if own else uncompressed(name, {})
            row, packed = packed_of(name, BUILT_IN.objects(), options)
            numbers = spread(len(packed.objects))
            told = [one_lookup(packed, number) for number in numbers]
            found[name, own] = row, packed, told, [served(packed, packed.files, number) for number in numbers]
    return found


@pytest.mark.parametrize("cell", ["size", "overhead", "structure", "requests", "opening", "bytes", "codec"])
@pytest.mark.parametrize("own", MODES, ids=["uncompressed", "own codecs"])
@pytest.mark.parametrize("name", FORMATS)
def test_each_cell_is_that_of_the_files_and_of_a_server(
    name: str,
    own: bool,
    cell: str,
    small: dict[tuple[str, bool], tuple[FormatRow, PackedFormat, list[Lookup], list[Any]]],
) -> None:
    """Sizes are those of the files, structure is what is no stored content, and each lookup is what a server counts."""
    row, packed, told, counted = small[name, own]
    size, content = sum(map(len, packed.files.values())), sum(len(one.data) for one in packed.objects)
    stored = [one.data for one in packed.objects if any(one.data in data for data in packed.files.values())]
    if cell == "size":
        assert row.size == size
    elif cell == "overhead":
        assert row.overhead == size - content
    elif cell == "structure" and not own:
        # Headers of Blosc chunks, and of the chunks of a xorb beside an MDB shard, count as content.
        headers = {"bloscpack": 16 * len(packed.files), "mdb": 8 * (size_of_xorb(packed) // 40)}
        assert size - content - row.structure == headers.get(name, 0)
    elif cell == "codec" and not own:
        assert len(stored) == len(packed.objects)
    elif cell in ("requests", "opening"):
        at = ("requests", "opening").index(cell)
        assert [getattr(one, cell) for one in told] == [one[at] for one in counted]
    elif cell == "bytes":
        # The answer 404 has a text, too.
        assert all(0 <= sent - one.bytes < 200 for one, (_, _, sent) in zip(told, counted, strict=True))


def size_of_xorb(packed: PackedFormat) -> int:
    """Bytes of the info block of a xorb, which has 40 per chunk, without its fixed part; 0 where there is none."""
    xorb = next((data for name, data in packed.files.items() if "xorbs/" in name), b"")
    return int.from_bytes(xorb[-4:], "little") - 92 if xorb else 0


def test_minishard_indices_are_structure() -> None:
    """Of 1,000 small objects: more than the shard index, and all that is no stored value."""
    row, packed = packed_of("neuroglancer", BUILT_IN.objects(1000, 256), uncompressed("neuroglancer", {}))
    assert row.structure == packed.plan.size - 256_000
    assert row.structure > 2_000


def test_a_codec_that_is_chosen_is_kept() -> None:
    """Only what no option chooses is uncompressed; the main parameter still applies."""
    assert uncompressed("des", {"codec": "zstd"})["codec"] == "zstd"
    spec = uncompressed("neuroglancer", {"minishard_bits": "2"})["spec"]
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
    pieces = pieces_of_plan(packed.plan)
    counted = [(piece.name, piece.count) for piece in pieces]
    assert counted == [("header", 30), ("offsets", 30), ("chunks", 30), ("between contents", 30)]
    assert sum(piece.size for piece in pieces) == packed.plan.size
