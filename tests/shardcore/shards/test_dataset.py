"""Many shards as one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from shardcore.errors import BadMagic, Cancelled, FormatError, KeyAbsent, NotAShard, SourceError, UsageError
from shardcore.model.span import Span
from shardcore.shards.shard_tasks import member_count
from shardcore.testing import check_columns
from tests.shardcore.toy import LineSet, LineShard, line_set

A, B, C = b"one=first\ntwo=second\n", b"three=third\n", b"four=x\none=other\nbad=y!\n"


def noted(opened: list[LineShard], name: str = "lines") -> LineShard:
    """Open a member that notes when it is closed."""
    opened.append(LineShard(A, name))
    return opened[-1]


def test_an_object_found_early_is_usable_early_and_late() -> None:
    shards = line_set(a=A, b=B, c=C)
    early = shards.find("four")
    assert early.row == -1
    assert early.spans == (Span("c", 5, 6), Span("c@0-1", 0, 1), Span("info", 0, 1))
    assert shards.read(early) == b"x"
    shards.load_index()
    late = shards.find("four")
    assert late.row == 3
    for ref in (early, late, shards.objects.ref(3)):
        assert shards.read(ref) == b"x"
        assert shards.read_range(ref, 0, 9) == b"x"
    assert late == shards.objects.ref(3)


def test_rows_are_those_of_the_members_in_turn() -> None:
    shards = line_set(a=A, b=B, c=C)
    rows = shards.find_many(["three", "bad", "nobody", "two"])
    assert rows.tolist() == [2, 5, -1, 1]
    assert shards.loaded
    assert list(shards.objects.keys) == ["one", "two", "three", "four", "one", "bad"]
    assert shards.objects[:].shard.tolist() == [0, 0, 1, 2, 2, 2]
    check_columns(shards)
    shuffled = np.array([5, 0, 2, 1], np.int64)
    assert shards.objects.columns(shuffled).row.tolist() == shuffled.tolist()
    assert [shards.find(key).row for key in ("one", "two", "three", "four", "bad")] == [0, 1, 2, 3, 5]
    assert shards.find_all("one") == (shards.objects.ref(0), shards.objects.ref(4))


def test_empty_members_take_no_rows() -> None:
    shards = line_set(a=b"", b=A, c=b"", d=B, e=b"")
    shards.load_index()
    assert [shards.objects.ref(row).shard for row in range(3)] == ["b", "b", "d"]
    assert shards.objects[:].shard.tolist() == [1, 1, 3]
    for wrong in (-1, 3):
        with pytest.raises(IndexError):
            shards.objects.ref(wrong)


@pytest.mark.parametrize("damage", [BadMagic("no magic", span=Span("", 0, 4)), NotAShard("nothing")])
def test_a_damaged_member_hides_nothing_else(damage: Exception) -> None:
    """A key that no readable shard holds is damage, not absence."""
    shards = line_set(a=damage, b=B, c=C)
    assert shards.read(shards.find("three")) == b"third"
    assert len(shards.find_all("three")) == 1
    for find in (shards.find, shards.find_all):
        with pytest.raises(type(damage)):
            find("nobody")
    shards.load_index()
    assert list(shards.unreadable) == ["a"]
    assert len(shards.objects) == 4
    assert shards.find("three").row == 0
    report = shards.verify()
    assert "lines.unreadable" in [f.code for f in report.findings]
    assert report.objects == 4


def test_a_lost_connection_is_not_skipped() -> None:
    """Which of two equal keys is returned must not depend on the network."""
    with pytest.raises(SourceError):
        line_set(a=SourceError("offline"), b=B).find("three")


def test_members_that_failed_are_tried_again() -> None:
    state = {"broken": True}

    def flaky() -> LineShard:
        if state["broken"]:
            raise SourceError("offline")
        return LineShard(A, "a")

    shards = LineSet({"a": flaky, "b": lambda: LineShard(B, "b")})
    shards.load_index()
    assert len(shards.objects) == 1
    state["broken"] = False
    shards.load_index()
    assert (len(shards.objects), shards.unreadable) == (3, {})


def test_errors_of_members_have_their_place() -> None:
    shards = line_set(a=A, c=C + b"broken=\n")
    ref = shards.find("bad")
    for _ in range(3):
        with pytest.raises(FormatError) as caught:
            shards.read(ref)
        assert caught.value.span == Span("c", 0, 1)
        with pytest.raises(FormatError):
            shards.read_range(ref, 0, 5)
    with pytest.raises(FormatError) as caught:
        shards.find("broken")
    assert caught.value.span.source == "c"
    trace = shards.trace("broken")
    assert trace.outcome == "damaged"


def test_long_work_can_be_cancelled_inside_a_member() -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise Cancelled

    for work in (line_set(a=A, b=B).load_index, lambda p: line_set(a=A, b=B).verify("content", p)):
        with pytest.raises(Cancelled):
            work(stop)


def test_bytes_of_members() -> None:
    shards = line_set(a=A, b=B)
    assert shards.bytes_of("a").read(0, 3) == b"one"
    assert shards.sections_of("b")[0].stop == len(B)
    assert shards.sections_of("") == ()
    assert [n.name for n in shards.explain(5, "a")] == ["lines", "one"]
    assert shards.runs(0, len(A), "a").stop[-1] == len(A)
    assert len(shards.runs(0, 0)) == 0
    assert [n.name for n in shards.tree.children] == ["a", "b"]
    for name in ("", "c", "a@", "a@0-1", "info", "b@x@y"):
        with pytest.raises(UsageError):
            shards.bytes_of(name)


def test_members_are_opened_once_and_in_parallel() -> None:
    opened: list[str] = []
    both = threading.Barrier(2, timeout=10)

    def opener(name: str) -> LineShard:
        opened.append(name)
        both.wait()
        return LineShard(A, name)

    shards = LineSet({"a": lambda: opener("a"), "b": lambda: opener("b")})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shards.member, "abababab"))
    assert sorted(opened) == ["a", "b"]
    assert len({id(shard) for shard in found}) == 2


def test_a_closed_data_set_stays_closed() -> None:
    shards = line_set(a=A, b=B)
    member = shards.member("a")
    shards.close()
    shards.close()
    assert member.closed
    for use in (lambda: shards.find("one"), shards.load_index, lambda: shards.member("b")):
        with pytest.raises(SourceError, match="closed"):
            use()


def test_absent_keys_and_strange_members() -> None:
    shards = line_set(a=A)
    with pytest.raises(KeyAbsent):
        shards.find("nobody")
    assert shards.find_all("nobody") == ()
    with pytest.raises(UsageError):
        shards.member("z")
    empty = line_set()
    empty.load_index()
    assert len(empty.objects) == 0
    with pytest.raises(KeyAbsent):
        empty.find("x")


def test_members_that_nobody_has_open_are_closed_again() -> None:
    opened: list[LineShard] = []
    names = [f"{number:04}" for number in range(300)]
    shards = LineSet({name: partial(noted, opened, name) for name in names})
    shards.jobs = 3
    most = 0
    held = shards.member("0007")
    seen = []
    for member, count in shards.each_member(member_count):
        seen.append((member.name, count))
        most = max(most, sum(not shard.closed for shard in opened))
    assert seen == [(name, 2) for name in names]
    assert most <= 2 * shards.jobs + 2
    assert shards.is_open("0007")
    assert [shard for shard in opened if not shard.closed] == [held]
    assert shards.verify().objects == 600
    assert [shard for shard in opened if not shard.closed] == [held]
    shards.release("0007")
    assert held.closed


def test_counting_keeps_no_member_open() -> None:
    opened: list[LineShard] = []

    def broken() -> LineShard:
        raise BadMagic("no lines")

    shards = LineSet({f"{number:04}": partial(noted, opened) for number in range(100)} | {"9999": broken})
    before = shards.declared_objects
    shards.count_objects()
    assert (before, shards.declared_objects) == (None, 200)
    assert list(shards.unreadable) == ["9999"]
    assert shards.unreadable["9999"].__traceback__ is None
    assert shards.objects_in("0000") is None
    assert len(opened) == 100
    assert all(shard.closed for shard in opened)
    shards.load_index()
    assert shards.declared_objects == len(shards.objects) == 200


def test_many_members_are_nodes_by_the_thousand() -> None:
    opened: list[LineShard] = []
    names = [f"m{number:04}" for number in range(2500)]
    shards = LineSet({name: partial(noted, opened, name) for name in names})
    tree = shards.tree
    assert [node.name for node in tree.children] == ["[0..999]", "[1000..1999]", "[2000..2499]"]
    assert tree.children[2].text == "500 files from m2000"
    assert [node.name for group in tree.children for node in group.children] == names
    assert opened == []
    path = shards.whole_path(0, "m1234")
    assert [node.name for node in path[:3]] == [tree.name, "[1000..1999]", "m1234"]
    assert [shard.source.name for shard in opened] == ["m1234"]
