"""Every command over every hostile file, within the bounds of `docs/bounds.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shardcore.testing import rounds, sampled
from tests.hostile.bounds import commands_of, judged
from tests.hostile.files import ALL
from tests.hostile.making import Hostile
from tests.hostile.running import Runner

QUICK_FILES, QUICK_COMMANDS = 3, 3
FULL_FILES, FULL_COMMANDS = 10, 5
"""Of the files, and of the commands over each; always the same ones. `python -m tests.hostile` runs all of them."""


SMALL = 12_000_000
"""Bytes of a hostile file at most, and of all that lies beside it: the bounds are those of small files."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as made:
        yield made


@pytest.mark.timeout(900)
@pytest.mark.parametrize("one", sampled(ALL, rounds(FULL_FILES, QUICK_FILES), full=False), ids=str)
def test_every_command_stays_within_the_bounds(one: Hostile, runner: Runner, tmp_path: Path) -> None:
    """Memory stays within `docs/bounds.md`; the output has no traceback and no control characters."""
    path = one.make(tmp_path)
    assert one.sparse or sum(each.lstat().st_size for each in tmp_path.rglob("*") if each.is_file()) <= SMALL
    commands = commands_of(one, path, tmp_path)
    broken = []
    for command in sampled(commands, rounds(FULL_COMMANDS, QUICK_COMMANDS), full=False):
        outcome, wrong = judged(runner, command)
        if wrong:
            broken.append(f"{command}: {wrong} ({outcome}) {outcome.err[-500:]}")
    assert not broken, "\n".join(broken)
