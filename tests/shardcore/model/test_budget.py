"""The budget of an operation: what it counts, where it ends, and what becomes of errors that no reader foresees."""

from __future__ import annotations

import struct
import threading
from contextvars import copy_context
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.codecs.decompress import decompress
from shardcore.errors import FormatError, LimitExceeded, ShardError
from shardcore.model.budget import Budget, OverBudget, budget, budgeted, charge_items
from shardcore.model.finding import Depth, Findings, Report
from shardcore.progress import Progress
from shardcore.shards.shard import Shard
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from shardcore.sources.wrapper_sources import WrapperSource
from tests.hostile.making import gzip_bomb
from tests.shardcore.toy import LineShard


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.write(b"x" * 100)
        file.truncate(size)
    return path


def test_what_is_stored_of_a_sparse_file_is_what_lies_outside_of_its_holes(tmp_path: Path) -> None:
    """A file of a hundred bytes and a hole of 8 GB stores a few blocks."""
    with FileSource(sparse(tmp_path / "a", 8 << 30)) as source:
        assert 100 <= source.stored <= 1 << 20
        assert WrapperSource(source).stored == source.stored
    (tmp_path / "b").write_bytes(b"x" * 5000)
    with FileSource(tmp_path / "b") as source:
        assert source.stored == source.size == 5000


def test_reads_are_charged_once_however_many_sources_lie_over_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    with FileSource(tmp_path / "a") as source, budgeted() as spent:
        WrapperSource(WrapperSource(source)).read(10, 20)
        source.read_many([(0, 5), (7, 9)])
        source.read_first(100)
        source.read_last(9000)
        assert spent.read == 10 + 7 + 100 + 5000
        assert spent.stored == 5000


def test_reading_a_hole_ends_with_an_error_that_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.model.budget.WORK_FLOOR", 1 << 26)
    with FileSource(sparse(tmp_path / "hole.bin", 8 << 30)) as source:
        with pytest.raises(LimitExceeded, match=r"hole\.bin.*after reading .* stored bytes"), budgeted():
            for start in range(0, source.size, 1 << 24):
                source.read(start, start + (1 << 24))
        with pytest.raises(LimitExceeded, match="before an allocation of"), budgeted():
            source.read(0, source.size)
        with pytest.raises(LimitExceeded, match="before an allocation of"), budgeted(taking=True):
            source.read(0, source.size)


def test_decompression_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.model.budget.WORK_FLOOR", 1 << 26)
    data = gzip_bomb(16 << 20)
    with budgeted() as spent:
        for _ in range(3):
            decompress("gzip", data)
        assert spent.expanded == 3 * (16 << 20)
    with pytest.raises(LimitExceeded, match="after decompressing"), budgeted():
        for _ in range(100):
            decompress("gzip", data)


def test_large_files_are_not_refused() -> None:
    """The limit of an operation grows with the stored size."""
    spent = Budget()
    source = BytesSource(b"", "large")
    spent.add(source)
    spent.stored = 10**10
    spent.charge_read(source, 3 * 10**10)
    spent.charge_expanded(10 * 10**10)
    spent.charge_items(10**9)
    spent.charge_memory(10**10)
    assert spent.left > 10**11


def test_an_operation_inside_another_shares_its_budget() -> None:
    """Returning contents raises the limit of the outer operation only."""
    with budgeted() as outer, budgeted() as inner, budgeted(taking=True) as content:
        assert inner is content is outer
    with budgeted(taking=True) as outer, budgeted() as inner:
        assert inner is not outer
        with pytest.raises(OverBudget):
            inner.charge_items(1 << 40)
        outer.charge_items(1 << 40)
    assert budget() is None


def test_what_is_spent_passes_handlers_of_damaged_objects() -> None:
    """A handler that continues with the next object must not continue for ever."""
    tried = 0
    with pytest.raises(LimitExceeded), budgeted():
        for _ in range(10):
            tried += 1
            try:
                charge_items(1 << 40)
            except ShardError:
                continue
    assert tried == 1


def test_threads_of_an_operation_spend_from_its_budget() -> None:
    with budgeted() as spent:
        context = copy_context()
        thread = threading.Thread(target=lambda: context.run(charge_items, 5))
        thread.start()
        thread.join()
        charge_items(2)
        assert spent.items == 7


@pytest.mark.parametrize(
    "error",
    [
        *(MemoryError(), RecursionError("too deep"), OverflowError("too large"), struct.error("too short")),
        *(IndexError("index 5"), ValueError("no number"), KeyError("name"), EOFError()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_no_reader_foresees_is_an_error_of_the_library(error: Exception) -> None:
    with pytest.raises(ShardError, match=r"^'small\.shard': ") as caught, budgeted() as spent:
        spent.add(BytesSource(b"", "small.shard"))
        raise error
    assert caught.value.__cause__ is error
    assert isinstance(caught.value, FormatError) is not isinstance(error, MemoryError)


class Careless(LineShard):
    """A format that forgets everything: it checks for ever, and its lookups fail in ways of their own."""

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        findings = Findings()
        findings.error("lines.bad", None, "the first line is bad")
        while True:
            charge_items(1000)

    def lookup(self, key: str, recorder: LookupRecorder) -> shardcore.ObjectRef:
        raise IndexError("list index out of range")


def careless() -> Shard:
    return Careless(b"a=1\nb=2\n")


def test_verification_that_costs_too_much_reports_what_it_found_until_then() -> None:
    report = careless().verify()
    assert [one.code for one in report.findings] == ["lines.bad", "lines.unchecked"]
    assert "not checked further" in report.findings[-1].message
    assert not report.ok


def test_contents_that_are_left_out_are_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.des"
    with shardcore.create(path, format="des", codec="zstd") as writer:
        for number in range(50):
            writer.add(str(number), b"%d" % number * 50_000)
    monkeypatch.setattr("shardcore.model.budget.WORK_FLOOR", 1 << 20)
    with shardcore.open(path) as shard:
        report = shard.verify()
        assert (report.ok, report.left_out > 10) == (False, True)
        with shardcore.allowing(0):
            assert shard.verify().ok
    assert run(["verify", str(path)]) == 1
    assert run(["verify", str(path), "--limit-work", "0"]) == 0


def test_no_format_can_forget_its_budget() -> None:
    with pytest.raises(FormatError, match="in an unexpected way"):
        careless().find("a")
