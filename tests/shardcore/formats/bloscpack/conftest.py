"""Copies of the bcolz samples, to be damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.shardcore.formats.bloscpack.bcolz_folders import COLUMN, TABLE


@pytest.fixture
def column(tmp_path: Path) -> Path:
    return Path(shutil.copytree(COLUMN, tmp_path / "samples"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TABLE, tmp_path / "prices"))
