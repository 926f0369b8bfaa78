"""Promises of start-up: what importing the format brings with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("zstandard", "lz4", "mmh3")


@pytest.mark.parametrize("name", ["des", "neuroglancer"])
def test_a_format_is_listed_without_its_codecs(name: str) -> None:
    """Importing a format brings no codec and no hash function: they come when a file is opened."""
    code = f"""
import sys
before = set(sys.modules)
import shardcore.formats.{name} as found
assert found.FORMAT.name == "{name}"
print(*sorted(set({HEAVY!r}) & (set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
