"""What the format costs before anybody uses it."""

import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
CODECS = ("lz4", "zstandard", "blosc2")


def loaded(script: str) -> str:
    script += f"; import sys; print([name for name in {CODECS!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def test_opening_a_file_imports_no_codec() -> None:
    script = f"import shardcore; s = shardcore.open({str(DATA / 'array.blp')!r}); s.load_index(); s.metadata; s.tree"
    assert loaded(script) == "[]"
    assert "'blosc2'" in loaded(f"{script}; s.read(s.find('all'))")
