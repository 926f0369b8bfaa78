"""What the format costs before anybody uses it."""

import subprocess
import sys
from pathlib import Path

from shardcore.formats.bloscpack import FORMAT, layout

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
CODECS = ("lz4", "zstandard", "blosc2")


def loaded(script: str, names: tuple[str, ...]) -> str:
    """Which modules a script has imported when it ends, of those named."""
    script += f"; import sys; print([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def test_listing_the_format_imports_no_reader() -> None:
    """What opens and decodes is imported by whoever does so first."""
    assert loaded("import shardcore.formats.bloscpack", (*CODECS, "shardcore.formats.bloscpack.shard")) == "[]"


def test_opening_a_file_imports_no_codec() -> None:
    """Codecs come with the first chunk: looking at headers, metadata and the tree needs none."""
    script = f"import shardcore; s = shardcore.open({str(DATA / 'array.blp')!r}); s.load_index(); s.metadata; s.tree"
    assert loaded(script, CODECS) == "[]"
    assert "'blosc2'" in loaded(f"{script}; s.read(s.find('all'))", CODECS)


def test_files_begin_with_the_magic() -> None:
    """The bytes by which files are sorted out are those of the layout."""
    assert FORMAT.begins == (layout.MAGIC,)
