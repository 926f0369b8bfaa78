"""Integers that Python refuses to print, wherever JSON is read: an answer or one line, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shardcore.cli.program import run
from tests.hostile.des import entry, shard
from tests.hostile.neuroglancer import SHARDING
from tests.shardcore.formats.bloscpack.files import File

LONG = "9" * 5000
"""More digits than Python converts to text and back."""
DES = "2024-01-15_00_0000.des"

Made = Callable[[Path], list[list[str]]]


def _put(path: Path, data: bytes | str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def _all(uri: str, key: str) -> list[list[str]]:
    looks = [["info", uri], ["tree", uri], ["tree", uri, "--json"], ["ls", uri], ["verify", uri]]
    return [*looks, ["explain", uri, "0x20"], ["trace", uri, "--", key], ["get", uri, "--", key]]


def _info(folder: Path) -> list[list[str]]:
    spec = json.dumps(SHARDING | {"minishard_bits": "N"}).replace('"N"', LONG)
    _put(folder / "info", f'{{"@type": "neuroglancer_skeletons", "sharding": {spec}}}')
    path = _put(folder / "0.shard", bytes(16))
    given = [["info", path, "--spec", one] for one in (spec, _put(folder / "spec.json", spec))]
    return [*_all(str(folder), "0"), *_all(path, "0"), *given]


def _bloscpack(folder: Path) -> list[list[str]]:
    text = f'{{"container": "numpy", "dtype": "<f8", "shape": [{LONG}], "order": "C", "n": -{LONG}}}'.encode()
    column = folder / "column"
    _put(column / "meta/storage", f'{{"dtype": "|u1", "chunklen": {LONG}, "expectedlen": {LONG}, "dflt": {LONG}}}')
    _put(column / "meta/sizes", f'{{"shape": [{LONG}], "nbytes": {LONG}, "cbytes": 1}}')
    (column / "data").mkdir()
    file = File([], [], metadata=text, meta_codec=0, room=len(text))
    return [*_all(_put(folder / "a.blp", file.write()), "all"), *_all(str(column), "0")]


def _des_sidecar(folder: Path) -> list[list[str]]:
    meta = f'{{"n": {LONG}, "created_at": -{LONG}}}'.encode()
    index = f'{{"one": {{"offset": {LONG}, "length": -{LONG}}}}}'
    _put(folder / DES.replace(".des", ".meta"), f'{{"version": 1, "shard_size": {LONG}, "index": {index}}}')
    return _all(_put(folder / DES, shard(b"x", [entry(b"one", 8, 1, 0, 1, meta)])), "one")


def _des_zones(folder: Path) -> list[list[str]]:
    _put(folder / DES, shard(b"x", [entry(b"one", 8, 1, 0, 1)]))
    text = f'{{"n_bits": {LONG}, "zones": [{{"name": "a", "range": {{"start": 0, "end": {LONG}}}}}]}}'
    zones = _put(folder / "zones.json", text)
    place = ["-O", "date=2024-01-15", "-O", f"zones={zones}"]
    return [["locate", "des", "one", *place], ["info", str(folder), "-O", f"zones={zones}"]]


def _keys(folder: Path) -> list[list[str]]:
    path = _put(folder / DES, shard(b"x", [entry(b"one", 8, 1, 0, 1)]))
    keys = _put(folder / "keys", f'"one"\n{LONG}\n')
    return [["get", path, "--keys", keys], ["extract", path, str(folder / "out"), "--keys", keys]]


@pytest.mark.parametrize(
    "make",
    [_info, _bloscpack, _des_sidecar, _des_zones, _keys],
    ids=lambda make: make.__name__.strip("_"),
)
def test_integers_of_thousands_of_digits_are_answered(
    make: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in make(tmp_path):
        code = run(arguments)
        told = capsys.readouterr()
        assert code in range(5), arguments
        assert "Traceback" not in told.err, arguments
        assert "Exceeds the limit" not in told.out + told.err, arguments
        assert LONG not in told.err, arguments
