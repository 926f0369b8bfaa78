"""Contract tests for writers: tests that the writer of every format must pass."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.errors import SourceError, UsageError
from shardcore.model.finding import Depth
from shardcore.model.objects import ObjectRef
from shardcore.model.options import OptionPurpose
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import pack
from shardcore.shards.registry import format_of, writes_of
from shardcore.shards.shard import Shard
from shardcore.testing import kill_runs as killed
from shardcore.testing.kill_runs import bytes_of, seen
from shardcore.writing.plan import Plan, PlannedFile
from shardcore.writing.writer import Sized, Writer


class WriterContract:
    """Contract tests for writers; derive from it, set `format`, implement `objects`, and override differences.

    Attributes:
        format: Name of the format.
        suffix: Suffix of a target; `/` for a folder.
        options: Options for `create`.
        wrong_keys: Malformed keys; empty if any text is a key, or there are no keys.
        moments: Number of moments at which a run is killed.
        keyless: Whether the format has no keys: objects are then identified by their order.
    """

    format: ClassVar[str]
    suffix: ClassVar[str] = ".shard"
    options: ClassVar[dict[str, Any]] = {}
    wrong_keys: ClassVar[tuple[str, ...]] = ()
    keyless: ClassVar[bool] = False
    moments: ClassVar[int] = 20

    def objects(self) -> list[tuple[str | None, bytes]]:
        """Return at least five small objects as key and content; one is empty if the format allows it."""
        raise NotImplementedError

    def facts(self, row: int) -> dict[str, Any]:
        return {}

    def created(self, target: Path | None) -> Writer:
        return shardcore.create(target, format=self.format, folder=self.suffix.endswith("/"), **self.options)

    def target(self, folder: Path, name: str = "out") -> Path:
        return folder / (name + self.suffix.rstrip("/"))

    def read(self, shard: Shard, row: int, key: str) -> bytes:
        """Return the content of object number `row`, for which `add` returned `key`."""
        return shard.read(shard.find(key))

    def fill(self, writer: Writer, given: Callable[[int, bytes], Any] = lambda _, data: data) -> list[str]:
        """Add all objects, and return their keys. `given(number, content)` returns the data that is passed to `add`."""
        return [writer.add(key, given(row, data), **self.facts(row)) for row, (key, data) in enumerate(self.objects())]

    def written(self, target: Path | None) -> Plan:
        """Write the objects; return the plan of the writer after the last object was added."""
        with self.created(target) as writer:
            self.fill(writer)
            return writer.plan()

    def opened(self, target: Path, writer: Writer | None = None) -> Shard:
        return shardcore.open(target, format=self.format, **(writer.opening if writer is not None else {}))

    def test_it_is_declared(self) -> None:
        """The declaration states purpose and limitation, one sentence each; every option has a help text."""
        found = format_of(self.format)
        writes = writes_of(found)
        for sentence in (writes.purpose, writes.cannot):
            assert sentence.endswith(".")
            assert "\n" not in sentence
        for purpose in (OptionPurpose.WRITE, OptionPurpose.FACT):
            names = [option.name for option in found.options_for(purpose)]
            assert len(set(names)) == len(names)
            assert all(option.help.endswith(".") for option in found.options_for(purpose))
        assert bool(writes.key_form) != self.keyless
        assert writes.file if not self.suffix.endswith("/") else writes.folder

    def test_what_was_written_is_read_back(self, tmp_path: Path) -> None:
        """Every object is found by the key that `add` returned, and verification has no findings."""
        target = self.target(tmp_path)
        with self.created(target) as writer:
            keys = self.fill(writer)
        with self.opened(target, writer) as shard:
            for row, (key, (_, data)) in enumerate(zip(keys, self.objects(), strict=True)):
                assert self.read(shard, row, key) == data
            assert shard.verify(Depth.CONTENT).findings == ()

    def test_keys_are_given_as_the_format_stores_them(self, tmp_path: Path) -> None:
        """Writing with keys as bytes or numbers gives the same shard as with keys as text."""
        plans = []
        for raw in (False, True):
            with self.created(None) as writer:
                for row, (key, data) in enumerate(self.objects()):
                    writer.add(writer.key_form.raw(key) if raw and key is not None else key, data, **self.facts(row))
                plans.append([file.objects.keys[:] for file in writer.plan().files])
        assert plans[0] == plans[1]

    def test_the_plan_is_what_gets_written(self, tmp_path: Path) -> None:
        """A plan, also without a target, has the names, sections, sizes and objects of the written files."""
        target = self.target(tmp_path)
        with self.created(target) as writer:
            self.fill(writer)
            plan = writer.plan()
        assert plan.exact
        written = {file.path: (file.size, file.objects) for file in writer.written}
        root = target if self.suffix.endswith("/") else tmp_path
        assert {root / f.name: f.size for f in plan.files} == {path: size for path, (size, _) in written.items()}
        for only_planned, planned in zip(self.written(None).files, plan.files, strict=True):
            assert (only_planned.size, only_planned.sections) == (planned.size, planned.sections)
            assert _refs(only_planned) == _refs(planned)
        self.check_plan(plan, root, writer)

    def check_plan(self, plan: Plan, root: Path, writer: Writer) -> None:
        """Assert that each written file with objects has the planned sections, size and objects."""
        for file in plan.files:
            if not len(file.objects):
                continue
            with shardcore.open(root / file.name, format=self.format, **writer.opening) as shard:
                assert shard.source is not None
                assert file.sections == shard.sections
                assert file.size == shard.source.size
                shard.load_index()
                for ref in _refs(file):
                    if ref.key is not None:
                        assert shard.find(ref.key) == ref

    def test_a_plan_from_sizes_is_near(self) -> None:
        """A plan from sizes alone has the same files as one from contents; sizes are exact or marked as estimates."""
        plan = self.written(None)
        with self.created(None) as writer:
            self.fill(writer, lambda _, data: Sized(len(data)))
            estimate = writer.plan()
        if estimate.exact:
            assert [(f.name, f.size, f.sections) for f in estimate.files] == [
                (f.name, f.size, f.sections) for f in plan.files
            ]
        assert estimate.content == plan.content
        assert [len(file.objects) for file in estimate.files] == [len(file.objects) for file in plan.files]
        assert estimate.size >= plan.size / 4

    def test_sizes_alone_cannot_be_written(self, tmp_path: Path) -> None:
        """Writing a content of which only the size is known raises an error, and leaves no files."""
        key, data = self.objects()[0]
        with pytest.raises(UsageError), self.created(self.target(tmp_path)) as writer:
            writer.add(key, Sized(len(data)), **self.facts(0))
        assert _names(tmp_path) == []

    def test_equal_input_gives_equal_bytes(self, tmp_path: Path) -> None:
        """The written bytes are the same for objects added one by one or many at once, as bytes or streams."""
        contents: list[dict[str, bytes]] = []
        for name, fill in (("a", self.fill), ("b", self.fill), ("c", self._fill_streams)):
            with self.created(self.target(tmp_path, name)) as writer:
                fill(writer)
            contents.append(bytes_of(self.target(tmp_path, name)))
        assert contents[0] == contents[1] == contents[2]
        if not any(self.facts(row) for row in range(len(self.objects()))):
            with self.created(self.target(tmp_path, "d")) as writer:
                keys = [key for key, _ in self.objects()]
                given = [key for key in keys if key is not None]
                data = [data for _, data in self.objects()]
                if len(given) in (0, len(keys)):
                    writer.add_many(given or None, data)
                else:
                    self.fill(writer)
            assert bytes_of(self.target(tmp_path, "d")) == contents[0]

    def _fill_streams(self, writer: Writer) -> list[str]:
        kinds: tuple[Callable[[bytes], Any], ...] = (io.BytesIO, _pieces, bytearray, memoryview)
        return self.fill(writer, lambda row, data: kinds[row % len(kinds)](data))

    def test_no_objects_are_a_shard(self, tmp_path: Path) -> None:
        """A writer without objects writes an empty shard, or raises an error with the reason."""
        target = self.target(tmp_path)
        try:
            with self.created(target) as writer:
                pass
        except UsageError:
            assert _names(tmp_path) == []
            return
        with self.opened(target, writer) as shard:
            assert len(shard.objects) == 0 or not any(shard.objects.keys[:])
            assert shard.verify(Depth.CONTENT).ok

    def test_nothing_appears_before_the_end(self, tmp_path: Path) -> None:
        """Before `finish`, and after an error, the target file does not exist."""
        target = self.target(tmp_path)
        with pytest.raises(RuntimeError), self.created(target) as writer:
            self.fill(writer)
            assert not target.exists()
            raise RuntimeError
        assert _names(tmp_path) == []

    def test_existing_files_are_not_replaced(self, tmp_path: Path) -> None:
        target = self.target(tmp_path)
        target.write_bytes(b"precious")
        with pytest.raises(UsageError):
            self.created(target)
        assert target.read_bytes() == b"precious"

    def test_wrong_keys_are_named(self) -> None:
        """`add` raises an error for a malformed key; the message contains the name of the input."""
        data = self.objects()[0][1]
        for key in self.wrong_keys:
            with self.created(None) as writer, pytest.raises(UsageError, match=r"in/one\.txt"):
                writer.add(key, data, label="in/one.txt", **self.facts(0))

    def test_a_key_twice_is_named(self, tmp_path: Path) -> None:
        """A duplicate key raises an error with the names of both objects, and no file appears."""
        if self.keyless:
            return
        with self.created(None) as planner:
            key = self.fill(planner)[0]
        data = self.objects()[0][1]
        with pytest.raises(UsageError, match=r"two\.txt") as caught, self.created(self.target(tmp_path)) as writer:
            for name in ("one.txt", "two.txt"):
                writer.add(key, data, label=name, **self.facts(0))
        assert "one.txt" in caught.value.message
        assert _names(tmp_path) == []

    def test_unknown_facts_are_refused(self) -> None:
        """Metadata that the format cannot store raises an error instead of being dropped silently."""
        key, data = self.objects()[0]
        with self.created(None) as writer, pytest.raises(UsageError, match="no_such_fact"):
            writer.add(key, data, no_such_fact=1)

    def test_an_input_that_fails(self, tmp_path: Path) -> None:
        """An input that fails half-way raises an error with its name, and no file appears."""
        key, _ = self.objects()[0]
        with pytest.raises(SourceError, match=r"in/bad\.txt.*gone"), self.created(self.target(tmp_path)) as writer:
            writer.add(key, _Failing(), label="in/bad.txt", **self.facts(0))
        assert _names(tmp_path) == []

    @pytest.mark.thorough
    def test_a_disk_that_is_full(self, tmp_path: Path) -> None:
        """If the disk is full, the error contains the name of the file, and no files are left."""
        code = (
            "import resource, signal, sys, importlib.util\n"
            "from pathlib import Path\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "from shardcore.errors import SourceError\n"
            "from shardcore.testing.kill_runs import loaded\n"
            f"contract = loaded({killed.class_location(type(self))!r})()\n"
            "writer = contract.created(Path(sys.argv[1]))\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
            "try:\n"
            "    with writer:\n"
            "        contract.fill(writer)\n"
            "except SourceError as error:\n"
            "    print('error:', error)\n"
        )
        target = self.target(tmp_path)
        done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=False)
        assert done.stdout.startswith("error: cannot write"), done.stdout + done.stderr
        assert _names(tmp_path) == []

    def test_killed_at_any_moment(self, tmp_path: Path) -> None:
        """After a kill at any moment a new file is missing or complete; the next run removes temporary files."""
        if not hasattr(os, "fork"):
            pytest.skip("this system has no fork")
        target = self.target(tmp_path / "k")
        whole = self.target(tmp_path)
        self.written(whole)
        wanted = bytes_of(whole)
        outcomes = killed.at_moments(type(self), "written", target, self.moments)
        assert set(outcomes) <= {seen({}), seen(wanted)}, "a file was there that was not complete"
        assert len(outcomes) == killed.count_of(self.moments)
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        self.written(target)
        assert bytes_of(target) == wanted
        assert [name for name in _names(target.parent) if name.endswith(".part")] == []

    def test_extracted_and_packed_again(self, tmp_path: Path) -> None:
        """Extracting, then packing with the manifest of the extraction, gives the same keys, contents and metadata."""
        target = self.target(tmp_path)
        with self.created(target) as writer:
            self.fill(writer)
        with self.opened(target, writer) as shard:
            before = _stored(shard)
            refs = [shard.objects.ref(row) for row in range(len(shard.objects)) if shard.objects.keys[row] is not None]
            refs = [shard.find(shard.views[0])] if shard.views else refs
            assert not any(line.error for line in extract_objects(shard, refs, tmp_path / "x"))
        again = self.target(tmp_path, "again")
        out = f"{again}/" if self.suffix.endswith("/") else str(again)
        done = pack(self.format, out, manifest=tmp_path / "x" / "manifest.json", options=self.options)
        assert done.report is not None
        assert done.report.ok
        assert not done.notes
        with self.opened(again, writer) as shard:
            assert _stored(shard) == before


def _stored(shard: Shard) -> list[tuple[str | None, bytes, str]]:
    shard.load_index()
    refs = [shard.find(shard.views[0])] if shard.views else [shard.objects.ref(r) for r in range(len(shard.objects))]
    stored = [(ref.key, shard.read(ref), json.dumps(shard.facts(ref), sort_keys=True)) for ref in refs if ref.key]
    return sorted(stored, key=str)


class _Failing(io.RawIOBase):
    def __init__(self) -> None:
        super().__init__()
        self._left = 3

    def read(self, size: int = -1) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise OSError(5, "the disk is gone")
        return b"some bytes"


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + 7] for at in range(0, len(data), 7))


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _refs(file: PlannedFile) -> list[ObjectRef]:
    refs = [file.objects.ref(row) for row in range(len(file.objects))]
    columns = file.objects[:]
    assert columns.size.tolist() == [ref.size for ref in refs]
    starts = [ref.spans[0].start if ref.spans and not ref.spans[0].source else -1 for ref in refs]
    assert columns.start.tolist() == starts
    assert file.objects.keys[:] == [ref.key for ref in refs]
    return refs
