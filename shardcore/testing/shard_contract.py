"""Contract tests for opened shards: tests that the files of every format must pass, also truncated or mutated."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.errors import ExternalMissing, KeyAbsent, LimitExceeded, ShardError, Unsupported
from shardcore.model.finding import Depth
from shardcore.model.node import nearest_row
from shardcore.model.objects import State
from shardcore.model.span import SourceName, Span
from shardcore.operations.references import references_to
from shardcore.progress import no_progress
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.testing.checks import (
    check_columns,
    check_contents,
    check_explained,
    check_lost_connection,
    check_mapping,
    check_sequence,
    check_steps,
    check_tiling,
    indexed,
    live_keys,
    places,
    rounds,
    sampled,
    walk,
)
from shardcore.testing.sources import CountingSource, LossySource


def mutations(data: bytes, *, seed: int, count: int) -> Iterator[bytes]:
    """Yield randomly damaged copies: flipped bits, overwritten bytes, extreme integers, moved or removed ranges."""
    for number in range(count):
        yield mutated(data, random.Random(f"{seed}/{number}"))


def mutated(data: bytes, dice: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        if not out:
            return b"\0"
        # Headers and footers are at the ends: damage them often.
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


def check_promise(shard: Shard) -> None:
    """Assert that every live object can be found and read if verification finds no error.

    Contents in missing files, contents above a limit, and encodings that a finding lists are exempt.
    """
    report = shard.verify(Depth.CONTENT)
    reported = {finding.key for finding in report.findings}
    for row in sampled(range(len(shard.objects)), rounds(250, 40), full=False) if report.ok else ():
        ref = shard.objects.ref(row)
        try:
            if ref.state in (State.LIVE, State.EXTERNAL):
                shard.read(ref, limit=1 << 24)
                if ref.key is not None:
                    shard.find(ref.key)
        except (ExternalMissing, LimitExceeded):
            continue
        except ShardError as error:
            if not (isinstance(error, Unsupported) and ref.key in reported):
                raise AssertionError(f"verified, but {ref.key} fails") from error


def exercise(opener: Callable[..., Shard], *, thorough: bool = True) -> str:
    """Use a shard, damaged or not, in every way; only `ShardError`s may be raised.

    Args:
        opener: Opens it; called with and without `partial=True`.
        thorough: Whether all depths of verification are run, instead of only `content`.

    Returns:
        `refused` if it cannot be opened at all, `partial` if only a part can be shown, else `opened`.
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
                references_to(shard, Span("", offset, offset + 1))
        shard.runs(0, min(size, 4096))
        shard.runs(max(size - 4096, 0), size)

    def list_objects() -> None:
        count = min(len(shard.objects), 200)
        shard.objects.columns(np.arange(count, dtype=np.int64), sizes=True)
        shard.objects.keys[:count]
        for ref in shard.objects[:count]:
            assert ref.row < count
        if count:
            assert shard.objects[-1].row == len(shard.objects) - 1

    def read_objects() -> None:
        for row in range(min(len(shard.objects), 12)):
            try:
                ref = shard.objects.ref(row)
                shard.read(ref, limit=1 << 24)
                for span in ref.spans[:1]:
                    references_to(shard, span)
                if ref.key is not None:
                    shard.find(ref.key)
                    shard.trace(ref.key)
            except ShardError:
                continue

        check_contents(shard, random.Random(1).sample(range(len(shard.objects)), min(len(shard.objects), 12)))

    yield look
    yield list_objects
    yield read_objects
    yield shard.load_index
    yield look
    yield list_objects
    for depth in Depth if thorough else ():
        yield partial(shard.verify, depth)
    yield partial(check_promise, shard)


class SampleContract:
    """Base class of contract tests; a test with an argument `sample` runs once per sample file or folder.

    Attributes:
        samples: Well-formed files or folders of the format.
        quick_samples: Number of samples in a quick run.
        absent: Well-formed keys that no sample contains.
        most_keys: Maximum number of keys per sample that are looked up.
    """

    samples: ClassVar[Sequence[Path]] = ()
    quick_samples: ClassVar[int] = 4
    absent: ClassVar[Sequence[str]] = ()
    most_keys: ClassVar[int] = 60

    def opened(self, where: Any, **options: Any) -> Shard:
        """Open a sample; override it for samples that need options or other files."""
        return shardcore.open(where, **options)

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Parametrize tests that have an argument `sample`; a quick run uses only some samples."""
        if "sample" in metafunc.fixturenames:
            taken = sampled(self.samples, self.quick_samples)
            metafunc.parametrize("sample", taken, ids=lambda path: "-".join(path.parts[-2:]))


class CommonContract(SampleContract):
    """Contract tests for both files and data sets.

    Attributes:
        alone: Titles of lookup steps that use only the key or options, so they list no bytes of the file as inputs.
    """

    alone: ClassVar[Sequence[str]] = ()

    def test_absent_keys_are_absent(self, sample: Path) -> None:
        """For an absent key, `find` raises `KeyAbsent`, `find_all` is empty, and the outcome of `trace` is absent."""
        with self.opened(sample) as shard:
            for key in self.absent:
                with pytest.raises(KeyAbsent):
                    shard.find(key)
                assert shard.find_all(key) == ()
                trace = shard.trace(key)
                assert trace.outcome == "absent"
                check_steps(shard, trace, self.alone)

    def test_objects_are_a_sequence(self, sample: Path) -> None:
        """`objects[i]`, negative indices, slices, iteration and `len` agree before `load_index`."""
        with self.opened(sample) as shard:
            check_sequence(shard)

    def test_a_shard_is_read_by_key(self, sample: Path) -> None:
        """`shard[key]` and `key in shard` accept text and the stored form."""
        with self.opened(sample) as shard:
            check_mapping(shard, live_keys(shard)[:5], self.absent)
            rows = range(min(len(shard.objects), rounds(2000, 50)))
            check_contents(shard, random.Random(1).sample(rows, len(rows)))

    def test_columns_agree_with_references(self, sample: Path) -> None:
        with indexed(self.opened(sample)) as shard:
            check_columns(shard)


class ShardContract(CommonContract):
    """Contract tests for opened files; derive from it, and define the samples.

    Attributes:
        open_ranges: Maximum number of ranges that opening reads.
        find_ranges: Maximum number of ranges that finding one key reads after that.
        mutations: Number of random mutations per sample; `python -m tests.fuzz` tests more.
        quick_mutations: The same in a quick run.
        cuts: Number of truncations per sample, in addition to those at the edges of sections.
        quick_cuts: The same in a quick run.
        promises: Number of damaged copies per sample that `check_promise` tests.
        quick_promises: The same in a quick run.
    """

    open_ranges: ClassVar[int] = 2
    find_ranges: ClassVar[int] = 4
    mutations: ClassVar[int] = 15
    quick_mutations: ClassVar[int] = 5
    cuts: ClassVar[int] = 50
    quick_cuts: ClassVar[int] = 5
    promises: ClassVar[int] = 150
    quick_promises: ClassVar[int] = 10

    def counting(self, sample: Path) -> CountingSource:
        """Return a sample as a source that records its reads; the files beside it can be opened, too."""
        return CountingSource(sample.read_bytes(), sample.name, folder=shardcore.LocalFolder(sample.parent))

    def damaged(self, data: bytes, sample: Path) -> Source:
        return BytesSource(data, sample.name, folder=shardcore.LocalFolder(sample.parent))

    def first_keys(self, sample: Path, count: int) -> list[str]:
        """Return the first keys of a sample, which is opened again for this, so that these reads are not counted."""
        with indexed(self.opened(sample)) as shard:
            return live_keys(shard)[:count]

    def test_sections_tile_the_file(self, sample: Path) -> None:
        """There are at most 64 sections, sorted, without overlap or gap."""
        with self.opened(sample) as shard:
            check_tiling(shard)

    def test_byte_shares_add_up_to_the_file_size(self, sample: Path) -> None:
        """The byte shares add up to the file size before and after `load_index`; `loads` refer to existing rows."""
        with self.opened(sample) as shard:
            assert shard.source is not None
            for _ in range(2):
                assert sum(share.size for share in shard.byte_shares) == shard.source.size
                shard.load_index()
            for source in shard.loads:
                load = source.make(no_progress)
                assert load.row_bounds is None or len(load.row_bounds) == load.places + 1
                assert load.row_bounds is None or load.row_bounds[-1] <= len(shard.objects)

    def test_every_byte_explains_itself(self, sample: Path) -> None:
        """After `load_index`, every byte has a path to a named node, and the runs agree with it."""
        with indexed(self.opened(sample)) as shard:
            check_explained(shard)

    def test_bytes_of_an_object_have_its_row(self, sample: Path) -> None:
        """After `load_index`, the path to the bytes of an object contains its row and no other row."""
        with indexed(self.opened(sample)) as shard:
            for key in live_keys(shard)[: self.most_keys]:
                ref = shard.find(key)
                for span in ref.spans:
                    if span.size and not SourceName.parse(span.source).path:
                        assert nearest_row(shard.explain(span.start, span.source)) == ref.row, span

    def test_painting_needs_no_index(self, sample: Path) -> None:
        """Before `load_index`, the field ranges for painting cover the whole file and agree with `explain`."""
        with self.opened(sample) as shard:
            check_explained(shard, complete=False)

    def test_loading_twice_changes_nothing(self, sample: Path) -> None:
        with indexed(self.opened(sample)) as shard:
            before = len(shard.objects), shard.objects.orders
            shard.load_index()
            assert (len(shard.objects), shard.objects.orders) == before

    def test_find_find_many_and_trace_agree(self, sample: Path) -> None:
        with indexed(self.opened(sample)) as shard:
            keys = live_keys(shard)[: self.most_keys]
            rows = shard.find_many([*keys, *self.absent])
            for key, row in zip(keys, rows.tolist(), strict=False):
                ref, trace = shard.find(key), shard.trace(key)
                assert trace.outcome == "found"
                assert trace.ref == ref
                assert ref.row == row
                assert ref in shard.find_all(key)
                assert len(trace.steps) > 1
                check_steps(shard, trace, self.alone)
            assert rows[len(keys) :].tolist() == [-1] * len(self.absent)

    def test_a_page_of_objects_reads_no_byte_twice(self, sample: Path) -> None:
        """`page` returns the same as `columns` and `key_texts`, and reads each byte once."""
        source = self.counting(sample)
        with self.opened(source) as shard:
            objects = shard.objects
            rows = np.arange(min(len(objects), 256), dtype=np.int64)
            source.ranges.clear()
            columns, keys = objects.page(rows, sizes=True)
            read = sorted(source.ranges)
            assert all(one[1] <= other[0] for one, other in pairwise(read)), read
            assert keys == objects.key_texts(rows)
            expected = objects.columns(rows, sizes=True)
            for name in ("row", "start", "stop", "size", "stored_size", "state", "kind", "codec"):
                assert np.array_equal(getattr(columns, name), getattr(expected, name)), name

    def test_objects_read_in_ranges(self, sample: Path) -> None:
        """`stream`, `read` and `read_range` return the same bytes."""
        with indexed(self.opened(sample)) as shard:
            for key in live_keys(shard)[:5]:
                ref = shard.find(key)
                whole = shard.read(ref)
                assert ref.size in (-1, len(whole))
                middle = len(whole) // 2
                assert b"".join(shard.stream(ref)) == whole
                assert shard.read_range(ref, 1, middle + 1) == whole[1 : middle + 1]
                assert shard.read_range(ref, middle, len(whole) + 10) == whole[middle:]

    def test_well_formed_samples_verify(self, sample: Path) -> None:
        with self.opened(sample) as shard:
            for depth in Depth:
                report = shard.verify(depth)
                assert report.ok, report.findings

    def test_opening_and_finding_read_few_ranges(self, sample: Path) -> None:
        """Opening, painting and finding one key read at most a declared number of ranges."""
        source = self.counting(sample)
        with self.opened(source) as shard:
            assert len(source.ranges) <= self.open_ranges, source.ranges
            for key in self.first_keys(sample, 3):
                source.ranges.clear()
                shard.find(key)
                assert len(source.ranges) <= self.find_ranges, source.ranges

    def test_progress_is_reported_and_cancels(self, sample: Path) -> None:
        """Verification reports progress, and stops if the callback raises `Cancelled`."""
        reported: list[tuple[int, int]] = []
        with self.opened(sample) as shard:
            shard.verify(Depth.CONTENT, lambda done, total: reported.append((done, total)))
            assert reported
            assert all(0 <= done <= total for done, total in reported)

            def stop(done: int, total: int) -> None:
                raise shardcore.Cancelled

            with pytest.raises(shardcore.Cancelled):
                shard.verify(Depth.CONTENT, stop)

    def test_a_lost_line_is_no_damage(self, sample: Path) -> None:
        """A connection lost at any point ends verification with the connection error, which has a partial report."""
        base = self.counting(sample)
        check_lost_connection(lambda line: self.opened(LossySource(base, line)), rounds(20, 4))

    def test_cut_files_give_errors_or_a_partial_tree(self, sample: Path) -> None:
        """A file truncated anywhere raises a `ShardError`, or opens as a partial shard that can be explored."""
        data = sample.read_bytes()
        with indexed(self.opened(sample)) as shard:
            edges = [place for section in shard.sections for place in (section.start, section.stop)]
            cuts = sampled(places(shard, len(data)), rounds(self.cuts, self.quick_cuts), keep=edges, full=False)
        for cut in cuts:
            exercise(lambda **o: self.opened(self.damaged(data[:cut], sample), **o), thorough=False)  # noqa: B023

    def test_what_verifies_is_read(self, sample: Path) -> None:
        """If verification of a damaged file finds no error, every live object can be read."""
        data = sample.read_bytes()
        for mutated in mutations(data, seed=-len(data), count=rounds(self.promises, self.quick_promises)):
            with suppress(ShardError), self.opened(self.damaged(mutated, sample)) as shard:
                check_promise(shard)

    def test_mutated_files_give_errors_or_a_partial_tree(self, sample: Path) -> None:
        """A damaged file raises a `ShardError`, or opens as a partial shard that can be explored; no other errors."""
        data = sample.read_bytes()
        count = min(rounds(self.mutations, self.quick_mutations), 4000000 // max(len(data), 1) + 5)
        for mutated in mutations(data, seed=len(data), count=count):
            exercise(lambda **o: self.opened(self.damaged(mutated, sample), **o), thorough=False)  # noqa: B023
