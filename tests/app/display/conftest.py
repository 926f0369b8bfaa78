"""What tests in a real display share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def errors_of(tmp_path: Path) -> Path:
    return tmp_path / "errors.txt"
