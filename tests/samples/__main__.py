"""Write the bundled samples: `python -m tests.samples`. Their titles and keys are in `resources/samples.json`."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.samples import bloscpack, des, mdb, neuroglancer, swh, xorb

RESOURCES = Path(__file__).parent.parent.parent / "resources"


def write_all(folder: Path) -> None:
    """Write every sample below a folder that is empty."""
    for one in (swh, mdb, xorb, bloscpack, des, neuroglancer):
        one.write(folder / one.__name__.rpartition(".")[2])


def main() -> None:
    folder = RESOURCES / "samples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_all(folder)


if __name__ == "__main__":
    main()
