"""Writes the samples under `bcolz/`: `python -m tests.data.bloscpack.make_bcolz`.

The files are laid out as bcolz 1.x lays them out: Bloscpack version 1 with one chunk each, and JSON as `json.dumps`
writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.shardcore.formats.bloscpack.chunks import BYTE, make_chunk
from tests.shardcore.formats.bloscpack.files import File

FOLDER = Path(__file__).parent / "bcolz"

APPLE_DOUBLE = bytes.fromhex("0005160700020000") + b"Mac OS X        " + bytes(58)
"""What an archiver of another system puts beside each file."""


def prices() -> dict[str, NDArray[Any]]:
    """The columns of the table: one price a day, as in a bundle of daily equities."""
    random = np.random.default_rng(3)
    close = np.round(100 + np.cumsum(random.normal(0, 1, 700)), 2)
    return {
        "day": (1262304000 + 86400 * np.arange(700)).astype("<u4"),
        "close": close.astype("<f8"),
        "symbol": np.array([("AAPL", "MSFT", "GOOG")[n % 3] for n in range(700)], "<U4"),
    }


def samples() -> NDArray[Any]:
    """A column of several axes: 500 samples of three channels."""
    return np.sin(np.arange(1500) / 50).reshape(500, 3)


def column(array: NDArray[Any], chunklen: int, *, full: bool = False) -> dict[str, bytes]:
    """The files of a column.

    Args:
        array: The content.
        chunklen: Items of a chunk.
        full: Whether the last chunk is as long as the others, as some writers leave it.
    """
    files, stored = {}, 0
    item = array.dtype.itemsize
    for number, first in enumerate(range(0, len(array), chunklen)):
        plain = array[first : first + chunklen].tobytes()
        if full:
            plain = plain.ljust(chunklen * array[:1].nbytes, b"\0")
        chunk = make_chunk(plain, codec=1, how=BYTE, typesize=item, blocksize=4096, split=True)
        files[f"data/__{number}.blp"] = File([chunk], [len(plain)], version=1, offsets=False, checksum=0).write()
        stored += len(chunk)
    storage = {
        "dtype": str(array.dtype),
        "cparams": {"shuffle": 1, "clevel": 5, "cname": "lz4", "quantize": 0},
        "chunklen": chunklen,
        "expectedlen": len(array),
        "dflt": np.zeros(1, array.dtype)[0].item(),
    }
    sizes = {"shape": list(array.shape), "nbytes": array.nbytes, "cbytes": stored}
    files["meta/sizes"] = json.dumps(sizes).encode() + b"\n"
    files["meta/storage"] = json.dumps(storage).encode() + b"\n"
    files["__attrs__"] = b"{}\n"
    return files


def made() -> dict[str, bytes]:
    """The samples, by their names under `bcolz/`."""
    columns = prices()
    files = {f"prices/{name}/{part}": data for name in columns for part, data in column(columns[name], 256).items()}
    files["prices/close/data/.___0.blp"] = APPLE_DOUBLE
    files["prices/__rootdirs__"] = json.dumps({"names": list(columns)}).encode() + b"\n"
    files["prices/__attrs__"] = json.dumps({"first_row": {"AAPL": 0}}).encode() + b"\n"
    files |= {f"samples/{part}": data for part, data in column(samples(), 40, full=True).items()}
    return files


if __name__ == "__main__":
    for name, data in made().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
