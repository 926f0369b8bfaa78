"""bcolz folders: a column, or a table of columns, recognised and opened."""

from __future__ import annotations

from shardcore.errors import NotAShard
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.bloscpack.bcolz import (
    ROOTDIRS,
    SIZES,
    STORAGE,
    is_column,
    is_table,
)
from shardcore.formats.bloscpack.column import BloscpackColumn
from shardcore.formats.bloscpack.dataset import BloscpackDataSet
from shardcore.formats.bloscpack.table import BloscpackTable
from shardcore.sources.base import Folder


def detect_folder(folder: Folder) -> Verdict | None:
    """A folder that names columns is a table; one with `data`, `meta/sizes` and `meta/storage` is a column."""
    if is_table(folder):
        return Verdict(Certainty.BESIDE, f"bcolz table, {ROOTDIRS}")
    return Verdict(Certainty.BESIDE, f"bcolz column, {STORAGE}") if is_column(folder) else None


def open_folder(folder: Folder, context: OpenContext) -> BloscpackDataSet:
    """Opens a column or a table; the files are opened when they are needed.

    Raises:
        NotAShard: It is neither.
        FormatError: The JSON files that describe it make no sense.
        SourceError: They cannot be had.
    """
    if is_table(folder):
        return BloscpackTable(folder, context)
    if is_column(folder):
        return BloscpackColumn(folder, context)
    raise NotAShard(f"{folder.uri}: neither a bcolz column (data, {SIZES}, {STORAGE}) nor a table ({ROOTDIRS})")
