"""What importing a format costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("zstandard", "lz4", "mmh3", "blosc2", "blake3")


@pytest.mark.parametrize("name", ["swh", "xorb", "bloscpack", "des", "mdb", "neuroglancer"])
def test_listing_a_format_imports_no_reader_and_no_codec(name: str) -> None:
    code = f"""
import sys
before = set(sys.modules)
import shardcore.formats.{name} as found
assert found.FORMAT.name == "{name}"
readers = {{f"shardcore.formats.{name}.{{part}}" for part in ("shard", "writer")}}
print(*sorted((set({HEAVY!r}) | readers) & (set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
