"""What every writer promises."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.finding import Depth
from shardcore.objects import ObjectRef
from shardcore.writing.plan import Plan, PlannedFile
from shardcore.writing.writer import Writer


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
            pairs = zip(planner.plan().files, plan.files, strict=True)
            for only_planned, written in pairs:
                assert (only_planned.size, only_planned.sections) == (written.size, written.sections)
                assert _refs(only_planned) == _refs(written)
        with shardcore.open(target) as shard:
            assert shard.source is not None
            assert plan.files[-1].sections == shard.sections
            assert plan.files[-1].size == shard.source.size
            shard.load_index()
            for ref in _refs(plan.files[-1]):
                assert ref.key is not None
                assert shard.find(ref.key) == ref

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


def _refs(file: PlannedFile) -> list[ObjectRef]:
    """All objects of a planned file; their columns say the same."""
    refs = [file.objects.ref(row) for row in range(len(file.objects))]
    columns = file.objects[:]
    assert columns.size.tolist() == [ref.size for ref in refs]
    assert columns.start.tolist() == [ref.spans[0].start for ref in refs]
    assert file.objects.keys[:] == [ref.key for ref in refs]
    return refs
