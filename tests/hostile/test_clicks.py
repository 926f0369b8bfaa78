"""Every click in a window over a hostile file, within the bounds of `docs/bounds.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.testing import rounds, sampled
from tests.hostile import bounds
from tests.hostile.clicks import Click, clicks_over
from tests.hostile.files import ALL
from tests.hostile.making import Hostile

QUICK_FILES = 1
FULL_FILES = 3
WALL_SECONDS = 600.0
"""After this time by the clock a window is ended: it would never answer."""


def fault(click: Click) -> str:
    if click.wrong:
        return click.wrong
    if click.megabytes > bounds.MEGABYTES:
        return f"{click.megabytes:.0f} MB over the empty window"
    return ""


def is_refused(path: Path) -> bool:
    """Return True for a file that cannot be opened: there is nothing to click in it."""
    try:
        shardcore.open(path).close()
    except ShardError:
        return True
    return False


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("one", sampled(ALL, rounds(FULL_FILES, QUICK_FILES), full=False), ids=str)
def test_every_click_stays_within_the_bounds(one: Hostile, tmp_path: Path) -> None:
    path = one.make(tmp_path)
    clicks = clicks_over(path, one.keys, WALL_SECONDS)
    assert len(clicks) > 2 or is_refused(path)
    broken = [f"{click.what}: {wrong}" for click in clicks if (wrong := fault(click))]
    assert not broken, "\n".join(broken)
