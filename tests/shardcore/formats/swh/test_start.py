"""What the format costs before anybody uses it."""

import subprocess
import sys

from shardcore.formats.swh import FORMAT, layout

HEAVY = ("lz4", "zstandard", "blosc2", "blake3", "mmh3", "shardcore.formats.swh.shard", "shardcore.formats.swh.writer")


def test_listing_the_format_imports_no_reader() -> None:
    """What opens, writes and decodes is imported by whoever does so first."""
    script = f"import sys, shardcore.formats.swh; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_files_begin_with_the_magic() -> None:
    """The bytes by which files are sorted out are those of the layout."""
    assert FORMAT.begins == (layout.MAGIC,)
