"""Xet MDB shards: an index of files, xorbs and chunks."""

from shardcore.format import Format, lazily
from shardcore.options import Option, OptionType

FORMAT = Format(
    name="mdb",
    title="Xet MDB shard",
    suffixes=(".mdb",),
    detect=lazily("shardcore.formats.mdb.shard:detect"),
    open=lazily("shardcore.formats.mdb.shard:open_shard"),
    folder_names=("*.mdb", "shard-cache", "shards"),
    detect_folder=lazily("shardcore.formats.mdb.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.mdb.folder:open_folder"),
    options=(Option("xorbs", OptionType.FOLDER, "The folder that holds the xorbs."),),
    begins=(b"HFRepoMetaData\0",),
)
