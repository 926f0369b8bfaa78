"""What notices a change of the bytes, and what becomes of each object."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.errors import Cancelled
from shardcore.model.finding import Finding, Report, Severity
from shardcore.model.span import Span
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched_source import Change, PatchedSource, overwriting, redo_step, steps_of, undo_step
from shardcore.teaching import change_impact as comparing
from shardcore.teaching.change_impact import Fate, FindingBaseline, Impact, before, compare, noting, touched

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
SMALL = SAMPLES / "swh" / "small.shard"


def impact_of(path: Path, *changes: Change) -> Impact:
    """What some changes of a file do."""
    with shardcore.open(path, partial=True) as shard:
        was = before(shard)
    with shardcore.open(PatchedSource(FileSource(path), changes), partial=True) as shard:
        return compare(was, shard)


def fates(impact: Impact) -> dict[str, int]:
    """Flips a bit in an object."""
    return {fate.value: count for fate, count in impact.counts.items()}


def checks(impact: Impact) -> list[str]:
    """Which checks notice something."""
    return [check.name for check in impact.checks if check.notices]


def test_a_flipped_bit_of_content_is_served_wrong_and_noticed_by_the_digest() -> None:
    """swh: a lookup compares the key of the slot alone, so wrong bytes are returned; only the sha256 shows it."""
    with shardcore.open(SMALL) as shard:
        ref = next(one for one in map(shard.objects.ref, range(len(shard.objects))) if one.key and one.size > 2)
    start, stop = ref.spans[0].start, ref.spans[0].stop
    impact = impact_of(SMALL, Change.flip(stop - 1, 0, SMALL.read_bytes()[stop - 1]))
    assert fates(impact) == {"wrong": 1, "same": 11}
    assert checks(impact) == ["content"]
    (wrong,) = impact.objects
    assert (wrong.key, wrong.noticed) == (ref.key, ("swh.content-hash",))
    assert start <= wrong.place[1]
    assert not impact.silent


@pytest.fixture
def plain_des(tmp_path: Path) -> Path:
    """Two objects without a checksum; the first begins at byte 8."""
    with shardcore.create(tmp_path / "a.des", format="des") as writer:
        writer.add("a", b"hello")
        writer.add("b", b"shard")
    return tmp_path / "a.des"


def test_plain_content_without_a_digest_is_wrong_in_silence_and_a_changed_key_is_lost(plain_des: Path) -> None:
    """des: uncompressed content has no checksum; the uid is in the index alone."""
    impact = impact_of(plain_des, Change.overwrite(9, b"E"))
    assert fates(impact) == {"wrong": 1, "same": 1}
    assert checks(impact) == []
    assert [one.key for one in impact.silent] == ["a"]
    at = plain_des.read_bytes().rindex(b"\x01\x00b")
    assert fates(impact_of(plain_des, Change.overwrite(at + 2, b"c"))) == {"lost": 1, "same": 1}


@pytest.mark.parametrize(("severity", "silent"), [(Severity.WARNING, ["a"]), (Severity.ERROR, [])])
def test_an_old_warning_tells_nothing_of_new_damage(
    plain_des: Path, monkeypatch: pytest.MonkeyPatch, severity: Severity, silent: list[str]
) -> None:
    """A warning about the bytes of an object that was there before; an error would make its reader careful."""
    known = Finding(severity, "des.example", Span("", 8, 10), "It was there before.")
    monkeypatch.setattr(comparing, "_verified", lambda shard, depth: (Report(depth, 1, (known,)), None))
    impact = impact_of(plain_des, Change.overwrite(9, b"E"))
    assert impact.new == ()
    assert [one.key for one in impact.silent] == silent


def test_a_cut_file_refuses_what_it_cannot_find() -> None:
    """A file without its end cannot be opened: opening reports it, and no object gives wrong bytes."""
    impact = impact_of(SMALL, Change.cut(600, 5064))
    assert checks(impact)[0] == "opening"
    assert fates(impact) == {"refused": 12}
    assert all(one.why for one in impact.objects)


def test_bytes_that_nobody_reads_harm_nothing() -> None:
    """Changing padding, or taking back a change, leaves every object as it was."""
    data = SMALL.read_bytes()
    impact = impact_of(SMALL, Change.flip(200, 1, data[200]))
    assert fates(impact) == {"same": 12}
    assert not impact.objects
    again = impact_of(SMALL, Change.flip(600, 1, 0), Change.overwrite(600, data[600:601]))
    assert (fates(again), checks(again)) == ({"same": 12}, [])


def test_what_is_compared_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more objects than the bound some are compared, spread over all; the others are told as left out."""
    monkeypatch.setattr(comparing, "MOST_OBJECTS", 5)
    impact = impact_of(SMALL, Change.overwrite(200, b"x"))
    assert sum(impact.counts.values()) == 5
    assert impact.left_out == 7
    monkeypatch.setattr(comparing, "MOST_OBJECTS", 3000)
    monkeypatch.setattr(comparing, "MOST_BYTES", 10)
    impact = impact_of(SMALL, Change.overwrite(200, b"x"))
    assert impact.left_out > 5


def test_what_was_changed_is_compared_whatever_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more objects than the bound, rows spread over all are noted; the object whose bytes change is, besides."""
    monkeypatch.setattr(comparing, "MOST_OBJECTS", 4)
    monkeypatch.setattr(comparing, "MOST_LISTED", 5)
    with shardcore.open(SMALL) as shard:
        was = before(shard)
        rows = [shard.objects.ref(row) for row in range(len(shard.objects))]
        other = next(ref for ref in rows if ref.key and ref.key not in was.served and ref.size > 2)
    assert len(was.served) + was.left_out == 12
    place = other.spans[0].start
    change = Change.flip(place, 0, SMALL.read_bytes()[place])
    with shardcore.open(PatchedSource(FileSource(SMALL), [change])) as shard, shardcore.open(SMALL) as original:
        keys = touched(was, shard)
        assert keys == (other.key,)
        impact = compare(noting(was, original, keys), shard)
    assert [(one.key, one.fate) for one in impact.objects] == [(other.key, Fate.WRONG)]
    assert impact.left_out == was.left_out - 1


def test_comparing_can_be_stopped() -> None:
    """Progress is told for each object, and may stop it."""

    def stop(done: int, total: int) -> None:
        if done > 3:
            raise Cancelled

    with shardcore.open(SMALL) as shard, pytest.raises(Cancelled):
        before(shard, stop)


FILES = (
    *(SMALL, SAMPLES / "bloscpack/array.blp", SAMPLES / "xorb/chunks.xorb", SAMPLES / "neuroglancer/hashed/0.shard"),
    *(SAMPLES / "des/archive/20260105_2A_0000.des", sorted(SAMPLES.glob("mdb/cache/*.mdb"))[0]),
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.suffix[1:])
def test_every_format_survives_any_change(path: Path) -> None:
    """Whatever byte is overwritten or cut, the comparison comes to its end, and every object has a fate."""
    with shardcore.open(path, partial=True) as shard:
        was = before(shard)
    assert was.served
    size = path.stat().st_size
    some = [int(size * share) for share in (0, 0.1, 0.35, 0.5, 0.8, 0.97)]
    for change in [*(Change.overwrite(at, b"\xa5") for at in some), *(Change.cut(at, size) for at in some[1:])]:
        with shardcore.open(PatchedSource(FileSource(path), [change]), partial=True) as shard:
            impact = compare(was, shard)
        assert sum(impact.counts.values()) + impact.left_out == len(was.served)


def test_a_cut_that_moves_what_was_known_is_not_newly_noticed() -> None:
    """Findings are held against each other by kind and place: other numbers in the sentence are no news."""
    source = PatchedSource(BytesSource(bytes(100), "x"), [Change.cut(10, 14), Change.cut(50, 60)])

    def said(place: Span | None, text: str, key: str | None = None) -> Finding:
        return Finding(Severity.ERROR, "x.y", place, text, key)

    def reported(*places: tuple[int, int]) -> list[Finding]:
        """Findings at places of the file, at one of decoded bytes, and without a place; each text has a number."""
        *spans, (start, stop) = places
        found = [said(Span("", *span), str(span[0])) for span in spans]
        return [*found, said(Span(f"@{start}-{stop}", 1, 2), str(start)), said(None, str(start))]

    was, moved = reported((12, 20), (40, 90), (64, 70)), reported((10, 16), (36, 76), (50, 56))
    known = FindingBaseline(was, source)
    assert known.gone(was, moved) == ()
    assert known.fresh(moved) == ()
    more = said(Span("", 40, 90), "40")
    other = (said(None, "2"), said(None, "2", "k"))
    assert known.fresh([*moved, more, *other]) == (more, *other)
    assert known.fresh([*moved, more]) == ()
    assert known.gone(was, moved[1:]) == (was[0],)


def test_the_same_trouble_after_another_cut_is_no_news() -> None:
    """A file that lost its end and loses more says what it said before, with other numbers: that is no news."""
    path = SAMPLES / "bloscpack" / "array.blp"
    data = path.read_bytes() + b"trailing"
    with shardcore.open(BytesSource(data, "a.blp")) as shard:
        was = before(shard)
    with shardcore.open(PatchedSource(BytesSource(data, "a.blp"), [Change.cut(len(data) - 3, len(data))])) as shard:
        impact = compare(was, shard)
    assert (impact.new, impact.gone) == ((), ())
    short = BytesSource(path.read_bytes()[:2000], "a.blp")
    with shardcore.open(short, partial=True) as shard:
        was = before(shard)
    with shardcore.open(PatchedSource(short, [Change.cut(1990, 2000)]), partial=True) as shard:
        impact = compare(was, shard)
    assert checks(impact) == []


def test_changes_are_undone_in_steps() -> None:
    """What was pasted or replaced at once is undone at once; two digits of a byte are one change."""
    half = overwriting((), [(5, b"\x10")])
    assert overwriting(half, [(5, b"\x12")], second=True) == overwriting((), [(5, b"\x12")])
    assert steps_of(overwriting(half, [(6, b"\x12")], second=True)) == 2, "of another byte"
    both = overwriting(half, [(7, b"ab"), (9, b"ab")], "2 hits replaced")
    assert steps_of(both) == 2
    assert {one.what for one in both[1:]} == {"2 hits replaced"}
    left, undone = undo_step(both, ())
    assert left == half
    assert redo_step(left, undone) == (both, ())
    assert undo_step(*undo_step(both, ())) == ((), (*reversed(both),))
