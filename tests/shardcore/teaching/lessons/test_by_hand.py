"""Whoever follows the text of a lesson finds keys: solvers that know nothing else place 20 new keys each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import shardcore
from shardcore.teaching.lessons.answers import Given, judged
from shardcore.teaching.lessons.fresh import make_fresh
from shardcore.teaching.lessons.lesson import Fresh
from shardcore.teaching.lessons.library import lessons
from shardcore.teaching.lessons.stage import staged
from shardcore.teaching.resources import resources
from tests.shardcore.teaching.lessons.solvers import SOLVERS
from tests.shardcore.teaching.lessons.solvers import swh as swh_by_hand

KEYS = 20

Solver = Callable[[str, dict[str, int]], str]
"""The answer to a question, from its prompt and the numbers in it, by the rules that the lesson states."""


def swh(_: str, told: dict[str, int]) -> str:
    """`p0 = d mod n, p1 = d // n, slot = (f + h · p0 + p1) mod n`."""
    p1, p0 = divmod(told["d"], told["n"])
    return str((told["f"] + told["h"] * p0 + p1) % told["n"])


def des(_: str, told: dict[str, int]) -> str:
    """The remainder modulo 2^n_bits, in hexadecimal with capital letters, two digits for eight bits."""
    return f"{told['uid'] % (1 << told['n_bits']):02X}"


BY_TEXT: dict[str, Solver] = {
    "swh-2-find-a-key": swh,
    "des-2-find-a-key": des,
}


def numbers_in(prompt: str) -> dict[str, int]:
    """`name = number`, wherever a prompt says so."""
    plain = prompt.replace("\\", "")
    return {name: int(number.replace(",", "")) for name, number in re.findall(r"(\w+) = ([\d,]*\d)", plain)}


@pytest.mark.parametrize("name", BY_TEXT)
def test_a_solver_that_knows_the_text_alone_places_twenty_new_keys(name: str, tmp_path: Path) -> None:
    """The last question of the lesson, asked for 20 keys of a file that was made for it."""
    lesson = next(lesson for lesson in lessons() if lesson.name == name)
    number = next(number for number, step in enumerate(lesson.steps) if step.fresh is not None)
    fresh = lesson.steps[number].fresh
    assert fresh is not None
    with shardcore.open(make_fresh(fresh, lesson.format, tmp_path, Random(7))) as shard:
        keys = [key for key in shard.objects.keys if key is not None][:KEYS]
        assert len(keys) == KEYS
        for key in keys:
            stage = staged(lesson, number, shard, key)
            assert not stage.missing
            assert stage.question is not None
            answer = BY_TEXT[name](stage.question.prompt, numbers_in(stage.question.prompt))
            assert judged(stage.question, Given(answer), stage.scene).right, key


WHOLE_PATHS: dict[str, tuple[str, list[str]]] = {
    "swh-3-hash-a-key": ("swh", ["a", "f"]),
    "swh-4-from-key-to-bytes": ("swh", ["g", "d", "position", "length"]),
    "mdb-2-find-a-key": ("mdb", ["record"]),
    "mdb-3-from-hash-to-record": ("mdb", ["entry", "record", "chunk"]),
    "mdb-4-from-record-to-bytes": ("mdb", ["record", "start", "byte"]),
    "des-3-from-uid-to-bytes": ("des", ["hex", "index_start", "flags", "size"]),
}
"""The questions about the fresh file, in order; one about a key that is not there may follow."""
LAST = {"swh-4-from-key-to-bytes": "slot", "mdb-4-from-record-to-bytes": "entry", "des-3-from-uid-to-bytes": "hex"}


@pytest.mark.parametrize("name", WHOLE_PATHS)
def test_the_printed_rules_lead_from_raw_bytes_to_the_content(name: str, tmp_path: Path) -> None:
    """20 new keys of a fresh file: every question of the chain, and the content itself; then an absent key."""
    lesson = next(lesson for lesson in lessons() if lesson.name == name)
    number = next(number for number, step in enumerate(lesson.steps) if step.fresh is not None)
    fresh = lesson.steps[number].fresh
    assert fresh is not None
    solve, asked = SOLVERS[WHOLE_PATHS[name][0]], WHOLE_PATHS[name][1]
    path = make_fresh(fresh, lesson.format, tmp_path, Random(11))
    with shardcore.open(path) as shard:
        keys = [str(key) for key in shard.objects.keys if key is not None and ":" not in str(key)]
        keys = [key for key in keys if not staged(lesson, number, shard, key).missing][:KEYS]
        assert len(keys) == KEYS
        for key in keys:
            told, content = solve(path, key)
            assert content == shard[key], key
            for step, value in enumerate(asked, number):
                stage = staged(lesson, step, shard, key)
                assert not stage.missing
                assert stage.question is not None
                assert judged(stage.question, Given(str(told[value])), stage.scene).right, (key, stage.question.prompt)
        if name in LAST:
            stage = staged(lesson, len(lesson.steps) - 1, shard, keys[0])
            told, content = solve(path, lesson.steps[-1].lookup)
            assert content is None
            assert stage.question is not None
            assert judged(stage.question, Given(str(told[LAST[name]])), stage.scene).right


def test_the_printed_rules_hold_for_large_and_odd_files(tmp_path: Path) -> None:
    """Hundreds of buckets with a select directory; files of several segments, groups of bytes, and both absent."""
    path = make_fresh(Fresh(900), "swh", tmp_path, Random(3))
    raw = path.read_bytes()
    with shardcore.open(path) as shard:
        keys = [str(key) for key in shard.objects.keys if key is not None]
        contents = {shard[key] for key in keys}
    assert {swh_by_hand(raw, bytes.fromhex(key))[1] for key in keys} == contents
    assert all(swh_by_hand(raw, Random(seed).randbytes(32))[1] is None for seed in range(20))
    archive = resources() / "samples" / "des" / "archive"
    with shardcore.open(archive) as shard:
        for uid in ("42", "0042", "invoice-2026-017", "minutes-2026-01"):
            assert SOLVERS["des"](archive, uid)[1] == shard[uid]
    cache = resources() / "samples" / "mdb" / "cache"
    for one in sorted(cache.glob("*.mdb")):
        with shardcore.open(one) as shard:
            for key in [str(key) for key in shard.objects.keys if key is not None and ":" not in str(key)]:
                assert SOLVERS["mdb"](one, key)[1] == shard[key]
