"""The bcolz samples, opened; and how they are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import shardcore
from shardcore.formats.bloscpack.bcolz_column import BloscpackColumn
from shardcore.formats.bloscpack.bcolz_table import BloscpackTable
from shardcore.model.finding import Severity

DATA = Path(__file__).parents[3] / "data" / "bloscpack" / "bcolz"
TABLE, COLUMN = DATA / "prices", DATA / "samples"


def opened_column(where: Path = COLUMN, **options: Any) -> BloscpackColumn:
    shard = shardcore.open(where, **options)
    return shard


def opened_table(where: Path = TABLE) -> BloscpackTable:
    shard = shardcore.open(where)
    return shard


def edit(path: Path, **values: Any) -> None:
    kept = json.loads(path.read_bytes()) | values
    path.write_text(json.dumps({name: value for name, value in kept.items() if value is not None}))


def errors(shard: shardcore.Shard) -> list[str]:
    return [finding.code for finding in shard.verify().findings if finding.severity is Severity.ERROR]
