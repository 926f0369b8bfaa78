"""What the tests of MDB shards share: their sample files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
