"""Whoever follows the text of a lesson finds keys: solvers that know nothing else place 20 new keys each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import shardcore
from shardscope.learning.lessons.answers import Given, judged
from shardscope.learning.lessons.fresh import make_fresh
from shardscope.learning.lessons.library import lessons
from shardscope.learning.lessons.stage import staged

KEYS = 20

Solver = Callable[[str, dict[str, int]], str]
"""The answer to a question, from its prompt and the numbers in it, by the rules that the lesson states."""


def swh(_: str, told: dict[str, int]) -> str:
    """`p0 = d mod n, p1 = d // n, slot = (f + h · p0 + p1) mod n`."""
    p1, p0 = divmod(told["d"], told["n"])
    return str((told["f"] + told["h"] * p0 + p1) % told["n"])


def neuroglancer(_: str, told: dict[str, int]) -> str:
    """Drop the low bits; the lowest bits of what is left are the minishard."""
    return str((told["key"] >> told["preshift_bits"]) % (1 << told["minishard_bits"]))


def des(_: str, told: dict[str, int]) -> str:
    """The remainder modulo 2^n_bits, in hexadecimal with capital letters, two digits for eight bits."""
    return f"{told['uid'] % (1 << told['n_bits']):02X}"


def bloscpack(_: str, told: dict[str, int]) -> str:
    """A division by the uncompressed size of a chunk."""
    return str(told["b"] // told["chunk_size"])


def xorb(_: str, told: dict[str, int]) -> str:
    """A record is 8 bytes of header, and the stored bytes."""
    return str(told["stop"] - told["begin"] - 8)


def mdb(_: str, told: dict[str, int]) -> str:
    """Records of 48 bytes, counted from the beginning of the section."""
    return str(told["begin"] + 48 * told["index"])


SOLVERS: dict[str, Solver] = {
    "swh-2-find-a-key": swh,
    "neuroglancer-2-find-a-key": neuroglancer,
    "des-2-find-a-key": des,
    "bloscpack-2-find-a-key": bloscpack,
    "xorb-2-find-a-key": xorb,
    "mdb-2-find-a-key": mdb,
}


def numbers_in(prompt: str) -> dict[str, int]:
    """`name = number`, wherever a prompt says so."""
    plain = prompt.replace("\\", "")
    return {name: int(number.replace(",", "")) for name, number in re.findall(r"(\w+) = ([\d,]*\d)", plain)}


@pytest.mark.parametrize("name", SOLVERS)
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
            answer = SOLVERS[name](stage.question.prompt, numbers_in(stage.question.prompt))
            assert judged(stage.question, Given(answer), stage.scene).right, key
