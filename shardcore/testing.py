"""Contract tests that every source and every format inherits, with counting and failing sources, cuts and mutations.

A format's tests derive from `ShardContract`, name their samples, and add what is peculiar to them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.errors import KeyAbsent, ShardError, SourceError, UsageError
from shardcore.finding import Depth
from shardcore.node import Children, Node
from shardcore.objects import State
from shardcore.record import FieldRole
from shardcore.shard import Shard
from shardcore.source import BytesSource, Folder, Source
from shardcore.write import Plan, Writer

SMALL = 8192
"""Files up to this many bytes are tested at every byte."""

SEEDED = 500
"""Places tried in longer files, besides the edges of nodes."""


class CountingSource(BytesSource):
    """Counts and keeps the ranges that are read."""

    def __init__(self, data: bytes, name: str = "counted", *, folder: Folder | None = None) -> None:
        super().__init__(data, name, folder=folder)
        self.ranges: list[tuple[int, int]] = []

    def read(self, start: int, stop: int) -> bytes:
        """Reads, and keeps the range; an empty one is free."""
        if stop > start:
            self.ranges.append((start, stop))
        return super().read(start, stop)


class FailingSource(BytesSource):
    """Fails every read after the first few, as a broken connection does."""

    def __init__(self, data: bytes, after: int = 0) -> None:
        super().__init__(data, "failing")
        self.left = after

    def read(self, start: int, stop: int) -> bytes:
        """Reads while some reads are left."""
        self.left -= 1
        if self.left < 0:
            raise SourceError("the connection is gone")
        return super().read(start, stop)


class PatternSource(Source):
    """A source of any size without storage: each byte follows from its offset."""

    name = "pattern"
    uri = "pattern"

    def __init__(self, size: int) -> None:
        self._size = size

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self._size

    def read(self, start: int, stop: int) -> bytes:
        """The low byte of each offset, plus the sum of its other bytes."""
        self._check_range(start, stop)
        offsets = np.arange(stop - start, dtype=np.uint64) + np.uint64(start)
        return offsets.view("<u8").astype("<u8").view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.uint8).tobytes()


class SourceContract:
    """What every source promises. Derive, and give `opened`."""

    data: ClassVar[bytes] = bytes(range(256)) * 40

    def opened(self, tmp_path: Path) -> Source:
        """A source that holds `data`."""
        raise NotImplementedError

    def test_size_is_the_number_of_bytes(self, tmp_path: Path) -> None:
        """`size` counts the bytes."""
        with self.opened(tmp_path) as source:
            assert source.size == len(self.data)

    def test_read_gives_exactly_the_range(self, tmp_path: Path) -> None:
        """Every range, the empty one included, comes back exactly."""
        with self.opened(tmp_path) as source:
            for start, stop in [(0, 0), (0, 1), (5, 300), (0, len(self.data)), (len(self.data), len(self.data))]:
                assert source.read(start, stop) == self.data[start:stop]

    def test_read_past_the_end_is_truncated(self, tmp_path: Path) -> None:
        """A range that ends after the source is an error with a place, never short bytes."""
        with self.opened(tmp_path) as source, pytest.raises(shardcore.Truncated) as caught:
            source.read(len(self.data) - 3, len(self.data) + 1)
        assert caught.value.span is not None

    def test_backward_ranges_are_refused(self, tmp_path: Path) -> None:
        """A range that ends before it starts is a mistake of the caller."""
        with self.opened(tmp_path) as source, pytest.raises(UsageError):
            source.read(5, 4)

    def test_read_last(self, tmp_path: Path) -> None:
        """`read_last` gives the end, or everything when there is less."""
        with self.opened(tmp_path) as source:
            assert source.read_last(10) == self.data[-10:]
            assert source.read_last(len(self.data) * 2) == self.data

    def test_read_many_keeps_the_order(self, tmp_path: Path) -> None:
        """Ranges come back in the order asked for, whether they touch, overlap or are empty."""
        ranges = [(9000, 9100), (3, 3), (0, 10), (5, 20), (20, 30), (10000, 10240)]
        with self.opened(tmp_path) as source:
            assert source.read_many(ranges) == [self.data[a:b] for a, b in ranges]

    def test_threads_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        """Reads from many threads give the right bytes."""
        ranges = [(n * 7 % 9000, n * 7 % 9000 + n) for n in range(400)]
        with self.opened(tmp_path) as source, ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda r: source.read(*r), ranges)) == [self.data[a:b] for a, b in ranges]

    def test_an_unchanged_source_says_so(self, tmp_path: Path) -> None:
        """`check_unchanged` is quiet and `identity` is stable while nothing happens."""
        with self.opened(tmp_path) as source:
            before = source.identity
            source.check_unchanged()
            assert source.identity == before


class ShardContract:
    """What every opened shard promises. Derive, and name the samples.

    Attributes:
        samples: Well-formed files of the format.
        absent: Keys of the format's form that no sample holds.
        open_ranges: How many ranges opening may read.
        find_ranges: How many ranges finding one key may read after that.
        mutations: How many seeded damages are tried on each sample; `python -m tests.fuzz` tries more.
        most_keys: How many keys of a sample are looked up.
    """

    samples: ClassVar[Sequence[Path]] = ()
    absent: ClassVar[Sequence[str]] = ()
    open_ranges: ClassVar[int] = 2
    find_ranges: ClassVar[int] = 4
    mutations: ClassVar[int] = 150
    most_keys: ClassVar[int] = 60

    def opened(self, where: Path | Source, **options: Any) -> Shard:
        """Opens a sample; formats whose samples need options or siblings override it."""
        return shardcore.open(where, **options)

    def counting(self, sample: Path) -> CountingSource:
        """The bytes of a sample, behind a counter, beside the sample's siblings."""
        return CountingSource(sample.read_bytes(), sample.name, folder=shardcore.LocalFolder(sample.parent))

    def damaged(self, data: bytes, sample: Path) -> Source:
        """Damaged bytes in the place of a sample."""
        return BytesSource(data, sample.name, folder=shardcore.LocalFolder(sample.parent))

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Runs every test that wants a `sample` with all samples."""
        if "sample" in metafunc.fixturenames:
            metafunc.parametrize("sample", self.samples, ids=lambda path: "-".join(path.parts[-2:]))

    def test_sections_tile_the_file(self, sample: Path) -> None:
        """Sections are sorted, without overlap or hole, and at most 64."""
        with self.opened(sample) as shard:
            check_tiling(shard)

    def test_every_byte_explains_itself(self, sample: Path) -> None:
        """After `load_index` every byte has a path to a named thing, and the colours agree with it."""
        with self.opened(sample) as shard:
            shard.load_index()
            check_explained(shard)

    def test_painting_needs_no_index(self, sample: Path) -> None:
        """Before `load_index` the runs cover the file and agree with what is explained."""
        with self.opened(sample) as shard:
            check_explained(shard, complete=False)

    def test_loading_twice_changes_nothing(self, sample: Path) -> None:
        """`load_index` may be called again."""
        with self.opened(sample) as shard:
            shard.load_index()
            before = len(shard.objects), shard.objects.orders
            shard.load_index()
            assert (len(shard.objects), shard.objects.orders) == before

    def test_find_find_many_and_trace_agree(self, sample: Path) -> None:
        """One key, many keys and the told lookup come to the same object."""
        with self.opened(sample) as shard:
            shard.load_index()
            keys = live_keys(shard)[: self.most_keys]
            rows = shard.find_many([*keys, *self.absent])
            for key, row in zip(keys, rows.tolist(), strict=False):
                ref, trace = shard.find(key), shard.trace(key)
                assert trace.outcome == "found"
                assert trace.ref == ref
                assert ref.row == row
                assert ref in shard.find_all(key)
                assert len(trace.steps) > 1
            assert rows[len(keys) :].tolist() == [-1] * len(self.absent)

    def test_absent_keys_are_absent(self, sample: Path) -> None:
        """An absent key is `KeyAbsent`, an empty `find_all`, and a trace that ends absent."""
        with self.opened(sample) as shard:
            for key in self.absent:
                with pytest.raises(KeyAbsent):
                    shard.find(key)
                assert shard.find_all(key) == ()
                assert shard.trace(key).outcome == "absent"

    def test_columns_agree_with_references(self, sample: Path) -> None:
        """The columns of the objects say what the references say, in any order of rows."""
        with self.opened(sample) as shard:
            shard.load_index()
            check_columns(shard)

    def test_objects_read_in_ranges(self, sample: Path) -> None:
        """`stream`, `read` and `read_range` give the same bytes."""
        with self.opened(sample) as shard:
            shard.load_index()
            for key in live_keys(shard)[:5]:
                ref = shard.find(key)
                whole = shard.read(ref)
                assert ref.size in (-1, len(whole))
                middle = len(whole) // 2
                assert b"".join(shard.stream(ref)) == whole
                assert shard.read_range(ref, 1, middle + 1) == whole[1 : middle + 1]
                assert shard.read_range(ref, middle, len(whole) + 10) == whole[middle:]

    def test_well_formed_samples_verify(self, sample: Path) -> None:
        """Verification finds no error in a well-formed file, at any depth."""
        with self.opened(sample) as shard:
            for depth in Depth:
                report = shard.verify(depth)
                assert report.ok, report.findings

    def test_opening_and_finding_read_few_ranges(self, sample: Path) -> None:
        """The numbers of ranges read to open, to paint and to find one key are bounded."""
        source = self.counting(sample)
        with self.opened(source) as shard:
            assert len(source.ranges) <= self.open_ranges, source.ranges
            for key in first_keys(self, sample, 3):
                source.ranges.clear()
                shard.find(key)
                assert len(source.ranges) <= self.find_ranges, source.ranges

    def test_progress_is_told_and_cancels(self, sample: Path) -> None:
        """Verification tells its progress, and stops when the callable raises `Cancelled`."""
        told: list[tuple[int, int]] = []
        with self.opened(sample) as shard:
            shard.verify(Depth.CONTENT, lambda done, total: told.append((done, total)))
            assert told
            assert all(0 <= done <= total for done, total in told)

            def stop(done: int, total: int) -> None:
                raise shardcore.Cancelled

            with pytest.raises(shardcore.Cancelled):
                shard.verify(Depth.CONTENT, stop)

    def test_cut_files_give_errors_or_a_partial_tree(self, sample: Path) -> None:
        """Cutting the file anywhere gives a `ShardError`, or a shard that can still be looked at."""
        data = sample.read_bytes()
        with self.opened(sample) as shard:
            shard.load_index()
            cuts = places(shard, len(data))
        for cut in cuts:
            exercise(lambda **o: self.opened(self.damaged(data[:cut], sample), **o), thorough=False)  # noqa: B023

    def test_mutated_files_give_errors_or_a_partial_tree(self, sample: Path) -> None:
        """Any damage gives `ShardError`s, or a shard that can still be looked at; nothing else is raised."""
        data = sample.read_bytes()
        for mutated in mutations(data, seed=len(data), count=min(self.mutations, 4000000 // max(len(data), 1) + 5)):
            exercise(lambda **o: self.opened(self.damaged(mutated, sample), **o), thorough=False)  # noqa: B023


class WriterContract:
    """What every writer promises. Derive, and give `created` and `objects`."""

    format: ClassVar[str]
    suffix: ClassVar[str] = ".shard"

    def objects(self) -> list[tuple[str | None, bytes]]:
        """Keys and contents to write."""
        raise NotImplementedError

    def created(self, target: Path | None) -> Writer:
        """A writer for a target."""
        return shardcore.create(target, format=self.format)

    def written(self, target: Path) -> Plan:
        """Writes the objects; returns the plan made before the end."""
        with self.created(target) as writer:
            for key, data in self.objects():
                writer.add(key, data)
            return writer.plan()

    def test_what_was_written_is_read_back(self, tmp_path: Path) -> None:
        """Every object comes back under the key that `add` returned, and verification finds nothing."""
        target = tmp_path / f"out{self.suffix}"
        with self.created(target) as writer:
            keys = [writer.add(key, data) for key, data in self.objects()]
        with shardcore.open(target) as shard:
            for key, (_, data) in zip(keys, self.objects(), strict=True):
                assert shard.read(shard.find(key)) == data
            assert shard.verify(Depth.CONTENT).findings == ()

    def test_the_plan_is_what_gets_written(self, tmp_path: Path) -> None:
        """Sections, sizes and objects of the plan are those of the file, and planning alone says the same."""
        target = tmp_path / f"out{self.suffix}"
        plan = self.written(target)
        with self.created(None) as planner:
            for key, data in self.objects():
                planner.add(key, data)
            assert planner.plan() == plan
        with shardcore.open(target) as shard:
            assert shard.source is not None
            assert plan.files[-1].sections == shard.sections
            assert plan.files[-1].size == shard.source.size
            shard.load_index()
            for planned in plan.files[-1].objects:
                assert planned.key is not None
                assert shard.find(planned.key) == planned

    def test_equal_input_gives_equal_bytes(self, tmp_path: Path) -> None:
        """Writing twice gives the same file."""
        first, second = tmp_path / f"a{self.suffix}", tmp_path / f"b{self.suffix}"
        self.written(first)
        self.written(second)
        assert first.read_bytes() == second.read_bytes()

    def test_nothing_appears_before_the_end(self, tmp_path: Path) -> None:
        """Until `finish` there is no file of that name; after an error there is no file at all."""
        target = tmp_path / f"out{self.suffix}"
        with pytest.raises(RuntimeError), self.created(target) as writer:
            for key, data in self.objects():
                writer.add(key, data)
            assert not target.exists()
            raise RuntimeError
        assert list(tmp_path.iterdir()) == []

    def test_existing_files_are_not_replaced(self, tmp_path: Path) -> None:
        """Creating over an existing file is refused; the file stays."""
        target = tmp_path / f"out{self.suffix}"
        target.write_bytes(b"precious")
        with pytest.raises(UsageError):
            self.created(target)
        assert target.read_bytes() == b"precious"


def check_tiling(shard: Shard) -> None:
    """Asserts that the sections tile the file."""
    size = shard.source.size if shard.source else 0
    at = 0
    for section in shard.sections:
        assert section.start == at, f"{section} does not begin at {at}"
        assert section.stop >= section.start
        at = section.stop
    assert at == size
    assert len(shard.sections) <= 64


def check_explained(shard: Shard, source: str = "", *, complete: bool = True) -> None:
    """Asserts that runs tile the source and agree with `explain`, and (if complete) that every byte has an owner."""
    size = shard.bytes_of(source).size
    runs = shard.runs(0, size, source)
    assert runs.start.tolist() == [0, *runs.stop.tolist()[:-1]] if size else len(runs) == 0
    assert size == 0 or runs.stop[-1] == size
    decoded: set[str] = set()
    for offset in places(shard, size, source) if size > SMALL else range(size):
        if offset >= size:
            continue
        path = shard.explain(offset, source)
        leaf = path[-1]
        number = int(np.searchsorted(runs.start, offset, "right")) - 1
        assert runs.role[number] == leaf.role, (offset, leaf)
        assert leaf.span.start <= runs.start[number] <= offset < runs.stop[number] <= leaf.span.stop, (offset, leaf)
        assert leaf.name
        if complete:
            assert len(path) > 1 and (leaf.role is not FieldRole.GROUP or leaf.error), (offset, leaf)
        decoded.update(node.decoded for node in path if node.decoded)
    for name in sorted(decoded - {source})[:20]:
        check_explained(shard, name, complete=complete)


def check_columns(shard: Shard) -> None:
    """Asserts that columns, keys and references of the objects agree."""
    total = len(shard.objects)
    rows = np.random.default_rng(7).permutation(total)[:200].astype(np.int64)
    columns = shard.objects.columns(rows, sizes=True)
    texts = shard.objects.key_texts(rows)
    for number, row in enumerate(rows.tolist()):
        ref = shard.objects.ref(row)
        assert (ref.row, ref.key) == (row, texts[number])
        assert ref.state == columns.state[number]
        assert ref.kind == shard.objects.kinds[columns.kind[number]]
        assert ref.codec == shard.objects.codecs[columns.codec[number]]
        assert ref.size == columns.size[number]
        assert ref.stored_size == columns.stored_size[number]
        if ref.spans and not ref.spans[0].source and ref.spans[0].size:
            assert (ref.spans[0].start, ref.spans[0].stop) == (columns.start[number], columns.stop[number])
    for name in shard.objects.orders:
        order = shard.objects.order(name)
        assert order is None or len(np.unique(order)) == len(order)


def live_keys(shard: Shard) -> list[str]:
    """The keys of all rows that can be found and read, each once."""
    columns = shard.objects[:]
    good = np.flatnonzero(np.isin(columns.state, [State.LIVE, State.EXTERNAL]))
    return list(dict.fromkeys(key for key in shard.objects.key_texts(good) if key is not None))


def first_keys(contract: ShardContract, sample: Path, count: int) -> list[str]:
    """Some keys of a sample, from an opening of its own."""
    with contract.opened(sample) as shard:
        shard.load_index()
        return live_keys(shard)[:count]


def places(shard: Shard, size: int, source: str = "") -> list[int]:
    """Offsets worth trying: every one in a small file; else around every edge of a node, and seeded ones."""
    if size <= SMALL:
        return list(range(size + 1))
    edges = set()
    for node in walk(shard.tree_of(source), limit=3000):
        if node.span.source == source:
            edges.update((node.span.start, node.span.stop))
    around = {edge + step for edge in edges for step in (-1, 0, 1)}
    seeded = random.Random(size).sample(range(size), SEEDED)
    return sorted(place for place in around | set(seeded) if 0 <= place <= size)


def walk(node: Node, limit: int = 2000) -> Iterator[Node]:
    """The nodes of a tree, breadth first, at most `limit` of them; of long lists the first and last few."""
    queue, given = [node], 0
    while queue and given < limit:
        node = queue.pop(0)
        given += 1
        yield node
        kids = node.children
        if isinstance(kids, Children) and len(kids) > 64:
            queue += [*kids[:32], *kids[len(kids) - 32 :]]
        else:
            queue += list(kids)


def mutations(data: bytes, *, seed: int, count: int) -> Iterator[bytes]:
    """Seeded damages: flipped bits, overwritten bytes, extreme integers, swapped, repeated and lost stretches."""
    for number in range(count):
        yield mutated(data, random.Random(f"{seed}/{number}"))


def mutated(data: bytes, dice: random.Random) -> bytes:
    """One damage."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        if not out:
            return b"\0"
        # Heads and tails hold the headers and footers: damage them often.
        near = min(len(out), dice.choice((64, 512, len(out))))
        at = dice.randrange(near) if dice.random() < 0.6 else len(out) - 1 - dice.randrange(near)
        kind = dice.randrange(6)
        if kind == 0:
            out[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            out[at] = dice.randrange(256)
        elif kind == 2:
            width = dice.choice((2, 4, 8))
            value = dice.choice(
                (0, 1, (1 << 8 * width) - 1, (1 << 8 * width - 1), len(out), dice.getrandbits(8 * width))
            )
            out[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, dice.choice(("little", "big")))
        elif kind == 3:
            del out[at : at + dice.choice((1, 2, 8, 40, 100))]
        elif kind == 4:
            out[at:at] = out[at : at + dice.choice((1, 8, 40))]
        else:
            other = dice.randrange(len(out))
            out[at : at + 8], out[other : other + 8] = out[other : other + 8], out[at : at + 8]
    return bytes(out)


def exercise(opener: Callable[..., Shard], *, thorough: bool = True) -> str:
    """Does with a (damaged) shard what people do; only `ShardError`s may come of it.

    Args:
        opener: Opens it; called with and without `partial=True`.
        thorough: Whether every verification depth is run, not only the deepest.

    Returns:
        `refused` when it cannot be opened at all, `partial` when only what is left can be shown, else `opened`.
    """
    outcome = "opened"
    try:
        opener().close()
    except ShardError:
        outcome = "partial"
    try:
        shard = opener(partial=True)
    except ShardError:
        return "refused"
    with shard:
        if shard.source is not None:
            check_tiling(shard)
        for action in _actions(shard, thorough):
            try:
                action()
            except ShardError:
                continue
    return outcome


def _actions(shard: Shard, thorough: bool) -> Iterator[Callable[[], object]]:
    size = shard.source.size if shard.source else 0

    def look() -> None:
        list(walk(shard.tree, 300))
        for offset in {0, size // 2, max(size - 1, 0)}:
            if offset < size:
                shard.explain(offset)
        shard.runs(0, min(size, 4096))
        shard.runs(max(size - 4096, 0), size)

    def list_objects() -> None:
        count = min(len(shard.objects), 200)
        shard.objects.columns(np.arange(count, dtype=np.int64), sizes=True)
        shard.objects.keys[:count]

    def read_objects() -> None:
        for row in range(min(len(shard.objects), 12)):
            try:
                ref = shard.objects.ref(row)
                shard.read(ref, limit=1 << 24)
                if ref.key is not None:
                    shard.find(ref.key)
                    shard.trace(ref.key)
            except ShardError:
                continue

    yield look
    yield list_objects
    yield read_objects
    yield shard.load_index
    yield look
    yield list_objects
    for depth in Depth if thorough else (Depth.CONTENT,):
        yield lambda depth=depth: shard.verify(depth)
