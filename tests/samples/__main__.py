"""Writes the bundled samples: `python -m tests.samples`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.samples import bloscpack, des, mdb, neuroglancer, swh, xorb
from tests.samples.entry import Entry

RESOURCES = Path(__file__).parent.parent.parent / "resources"


def write_all(folder: Path) -> list[Entry]:
    """Writes every sample below a folder that is empty, and says what they are."""
    formats = (swh, mdb, xorb, bloscpack, des, neuroglancer)
    return [entry for one in formats for entry in one.write(folder / one.__name__.rpartition(".")[2])]


def as_text(entries: list[Entry]) -> str:
    """The text of `samples.json`."""
    return json.dumps([entry.as_json() for entry in entries], indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes them all anew."""
    folder = RESOURCES / "samples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (RESOURCES / "samples.json").write_text(as_text(write_all(folder)), "utf-8")


if __name__ == "__main__":
    main()
