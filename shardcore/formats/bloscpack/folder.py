"""Detecting and opening folders: a bcolz column or table, or a folder of Bloscpack files."""

from __future__ import annotations

from shardcore.errors import NotAShard
from shardcore.formats.bloscpack.bcolz import (
    ROOTDIRS,
    SIZES,
    STORAGE,
    is_column,
    is_table,
)
from shardcore.formats.bloscpack.bcolz_column import BloscpackColumn
from shardcore.formats.bloscpack.bcolz_dataset import BloscpackDataSet
from shardcore.formats.bloscpack.bcolz_table import BloscpackTable
from shardcore.formats.bloscpack.files_dataset import BloscpackFiles, is_files
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import Folder


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a table by `__rootdirs__`, a column by `data`, `meta/sizes` and `meta/storage`, else `.blp` files."""
    if is_table(folder):
        return Verdict(Certainty.BESIDE, f"bcolz table, {ROOTDIRS}")
    if is_column(folder):
        return Verdict(Certainty.BESIDE, f"bcolz column, {STORAGE}")
    return Verdict(Certainty.BESIDE, "Bloscpack files") if is_files(folder) else None


def open_folder(folder: Folder, context: OpenContext) -> BloscpackDataSet | BloscpackFiles:
    """Open a column, a table or a folder of files; the files are opened when needed."""
    if is_table(folder):
        return BloscpackTable(folder, context)
    if is_column(folder):
        return BloscpackColumn(folder, context)
    files = BloscpackFiles(folder, context)
    if files.members:
        return files
    raise NotAShard(
        f"{folder.uri}: neither a bcolz column (data, {SIZES}, {STORAGE}) nor a table ({ROOTDIRS}), and no .blp file"
    )
