"""What taking everything out of an MDB shard means."""

import shutil
from pathlib import Path

from shardcore.cli.program import run

DATA = Path(__file__).parents[3] / "data" / "mdb"


def test_taking_everything_takes_the_files(tmp_path: Path) -> None:
    cache, xorbs = DATA / "cas" / "shard-cache", DATA / "cas" / "xorbs"
    assert run(["extract", str(cache), str(tmp_path / "files"), "--xorbs", str(xorbs)]) == 0
    assert len(list((tmp_path / "files").iterdir())) == 6 + 1
    assert run(["extract", str(cache), str(tmp_path / "xorbs"), "--kind", "xorb", "--xorbs", str(xorbs)]) == 0
    assert len(list((tmp_path / "xorbs").iterdir())) == 2 + 1
    shutil.rmtree(tmp_path / "files")
