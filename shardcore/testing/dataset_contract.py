"""Contract tests for data sets: tests that the data sets of every format must pass."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.model.node import nearest_row
from shardcore.model.span import SourceName, Span
from shardcore.shards.dataset import DataSet
from shardcore.sources.base import Folder
from shardcore.sources.local import LocalFolder
from shardcore.testing.checks import check_lost_connection, check_steps, indexed, live_keys, rounds, walk
from shardcore.testing.shard_contract import CommonContract, check_promise, mutated
from shardcore.testing.sources import CountingFolder, LossyFolder

MOST_DAMAGED = 300_000
"""Maximum size in bytes of a file that tests damage."""
DESCRIPTORS = Path("/proc/self/fd")


class DataSetContract(CommonContract):
    """Contract tests for data sets; derive from it, and define the samples.

    Attributes:
        listed: Whether opening reads all rows.
        promises: Number of damaged copies per sample that `check_promise` tests.
        quick_promises: The same in a quick run.
    """

    quick_samples: ClassVar[int] = 1000
    most_keys: ClassVar[int] = 40
    listed: ClassVar[bool] = False
    promises: ClassVar[int] = 60
    quick_promises: ClassVar[int] = 3

    def opened(self, where: Path | Folder, **options: Any) -> DataSet:
        """Open a sample; override it for samples that need options."""
        found = shardcore.open(where, **options)
        assert isinstance(found, DataSet)
        return found

    def test_objects_are_the_same_before_and_after_the_index(self, sample: Path) -> None:
        with indexed(self.opened(sample)) as late:
            count, keys = len(late.objects), late.objects.keys[:]
            starts = late.objects[:].start.tolist()
            assert late.declared_objects == count
            assert late.listing is not None
        for ask in (
            lambda found: len(found.objects) == count,
            lambda found: found.objects.keys[:] == keys,
            lambda found: self.listed or found.objects[:].start.tolist() == starts,
        ):
            with self.opened(sample) as found:
                assert ask(found)
                assert found.loaded or self.listed

    def test_what_verifies_is_read(self, sample: Path, tmp_path: Path) -> None:
        """If verification of a damaged folder finds no error, every live object can be read."""
        files = sorted(path for path in sample.rglob("*") if path.is_file() and path.stat().st_size < MOST_DAMAGED)
        shutil.copytree(sample, tmp_path / sample.name, symlinks=True)
        for number in range(rounds(self.promises, self.quick_promises)):
            dice = random.Random(f"{sample.name}/{number}")
            path = dice.choice(files)
            copy = tmp_path / sample.name / path.relative_to(sample)
            copy.write_bytes(mutated(path.read_bytes(), dice))
            with suppress(ShardError), self.opened(tmp_path / sample.name) as found:
                check_promise(found)
            copy.write_bytes(path.read_bytes())

    def test_cheap_properties_read_nothing(self, sample: Path) -> None:
        """Properties that the window uses on its main thread read nothing, before and after `load_index`."""
        folder = CountingFolder(LocalFolder(sample))
        with self.opened(folder) as found:
            for _ in range(2):
                before = len(folder.ranges), folder.listed
                known = found.loaded or self.listed
                assert (found.listing is not None) == (found.declared_objects is not None) == known
                assert found.listing is None or len(found.listing) == found.declared_objects
                _ = found.objects, found.members, found.fields, found.index_bytes, found.parameters
                assert [node.name for node in found.tree.children]
                assert (len(folder.ranges), folder.listed) == before
                found.load_index()

    def test_a_key_costs_little_before_the_index(self, sample: Path) -> None:
        """Finding a key does not load the indexes of all members."""
        folder = CountingFolder(LocalFolder(sample))
        with indexed(self.opened(sample)) as other:
            key = live_keys(other)[0]
        with self.opened(folder) as found:
            found.find(key)
            assert not found.loaded

    def test_find_find_all_find_many_and_trace_agree(self, sample: Path) -> None:
        with self.opened(sample) as found:
            with indexed(self.opened(sample)) as other:
                keys = live_keys(other)[: self.most_keys]
            early = [found.find(key) for key in keys]
            rows = found.find_many([*keys, *self.absent]).tolist()
            assert rows[len(keys) :] == [-1] * len(self.absent)
            for key, row, ref in zip(keys, rows, early, strict=False):
                trace = found.trace(key)
                late = found.find(key)
                assert (trace.outcome, trace.ref, late.row) == ("found", late, row)
                check_steps(found, trace, self.alone)
                assert late in found.find_all(key)
                # Spans of other parts (fragments of meshes) may be known only after loading the index.
                assert (ref.key, ref.spans[:1], ref.shard) == (late.key, late.spans[:1], late.shard)
                assert found.read(ref) == found.read(late)

    def test_all_spans_are_those_of_the_data_set(self, sample: Path) -> None:
        """The data set has the bytes of all spans of objects, steps and findings; paths and runs agree with them."""
        with indexed(self.opened(sample)) as found:
            for key in live_keys(found)[: self.most_keys]:
                trace = found.trace(key)
                assert trace.ref is not None
                spans = [*trace.ref.spans, *(span for step in trace.steps for span in step.spans)]
                for span in spans:
                    _check_span(found, span)
                _check_object(found, trace.ref.spans[0], trace.ref.row)
            for finding in found.verify().findings:
                if finding.span is not None:
                    _check_span(found, finding.span)

    def test_a_lost_line_is_no_damage(self, sample: Path) -> None:
        """A connection lost at any point ends verification with the connection error, which has a partial report."""
        for jobs in (1, 4):
            check_lost_connection(
                lambda line: self.opened(LossyFolder(LocalFolder(sample), line), jobs=jobs),  # noqa: B023
                rounds(60, 4),
            )

    def test_members_are_parts_of_the_tree(self, sample: Path) -> None:
        """The tree of a member is below its node in the tree of the data set, and each span in it names a file."""
        with indexed(self.opened(sample)) as found:
            for member in found.members[:5]:
                source = str(SourceName(member.name))
                node = next(node for node in found.tree.children if node.span.source == source)
                below = list(walk(node, 200))
                assert [n.name for n in node.children] == [n.name for n in found.tree_of(source).children]
                assert all(SourceName.parse(n.span.source).path for n in below)
                path = found.whole_path(0, source)
                assert path[0] == found.tree or path[0].name == found.tree.name
                assert path[1].span == node.span

    def test_no_member_keeps_a_descriptor(self, sample: Path, tmp_path: Path) -> None:
        """Open members keep no file descriptor open, not even damaged ones."""
        if not DESCRIPTORS.exists():
            pytest.skip("no /proc here")
        copy = shutil.copytree(sample, tmp_path / "copy")
        before = _descriptors()
        with self.opened(copy) as found:
            names = [member.name for member in found.members]
        for name in names[: max(len(names) // 2, 1)]:
            os.truncate(copy / name, min(3, (copy / name).stat().st_size))
        with indexed(self.opened(copy)) as found:
            found.verify()
            for key in live_keys(found)[:5] if len(found.objects) else ():
                found.read(found.find(key))
            assert len(_descriptors() - before) <= 1
        assert _descriptors() <= before

    def test_closed_is_closed(self, sample: Path) -> None:
        """Members are not opened again after `close`."""
        found = self.opened(sample)
        found.close()
        with pytest.raises(ShardError):
            found.member(found.members[0].name)


def _check_span(found: DataSet, span: Span) -> None:
    if not span.source and not span.size:
        return
    try:
        size = found.bytes_of(span.source).size
    except shardcore.SourceError:
        return  # a span may be in a missing file: a BigFile or xorb
    assert span.stop <= size, span


def _check_object(found: DataSet, span: Span, row: int) -> None:
    if not span.size or SourceName.parse(span.source).path not in {member.name for member in found.members}:
        return
    path = found.explain(span.start, span.source)
    assert {node.span.source for node in path} == {span.source}
    assert nearest_row(path) == row
    runs = found.runs(span.start, span.start + 1, span.source)
    assert runs.role.tolist() == [path[-1].role]


def _descriptors() -> set[str]:
    found = set[str]()
    for entry in DESCRIPTORS.iterdir():
        with suppress(FileNotFoundError):
            target = str(entry.readlink())
            if target.startswith("/") and not target.startswith(("/dev", "/proc", "/usr")):
                found.add(f"{entry.name} {target}")
    return found
