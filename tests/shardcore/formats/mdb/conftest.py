"""What the tests of MDB shards share: their sample files, and shards of any size made from a seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[3] / "data" / "mdb"


@pytest.fixture(scope="session")
def mdb_data() -> Path:
    """The folder of sample shards and xorbs."""
    return DATA


@pytest.fixture(scope="session")
def expected() -> dict[str, Any]:
    """What the samples hold, as listed when they were made."""
    listed: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
    return listed


@pytest.fixture(scope="session")
def make_shard() -> Callable[..., bytes]:
    """Makes a full shard from a seed; see `made_shard`."""
    return made_shard
