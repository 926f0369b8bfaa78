"""Bloscpack, versions 1, 2 and 3, and the bcolz folders that hold such files."""

from shardcore.format import Format, lazily
from shardcore.options import Option, OptionType

FORMAT = Format(
    name="bloscpack",
    title="Bloscpack",
    suffixes=(".blp",),
    detect=lazily("shardcore.formats.bloscpack.shard:detect"),
    open=lazily("shardcore.formats.bloscpack.shard:open_shard"),
    folder_names=("__rootdirs__", "meta"),
    detect_folder=lazily("shardcore.formats.bloscpack.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.bloscpack.folder:open_folder"),
    options=(
        Option(
            "isolated",
            OptionType.FLAG,
            "Decompress chunks in a process of their own, so that one that kills its decoder kills nothing else.",
            hidden=True,
        ),
    ),
    begins=(b"blpk",),
)
