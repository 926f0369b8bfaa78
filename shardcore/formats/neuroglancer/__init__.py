"""Neuroglancer precomputed, sharded: volumes, meshes, skeletons and annotations packed by unsigned 64-bit keys."""

from shardcore.format import Format, lazily
from shardcore.options import Option, OptionType, Purpose

FORMAT = Format(
    name="neuroglancer",
    title="Neuroglancer precomputed, sharded",
    suffixes=(".shard", ".index", ".data"),
    detect=lazily("shardcore.formats.neuroglancer.shard:detect"),
    open=lazily("shardcore.formats.neuroglancer.shard:open_shard"),
    infer=lazily("shardcore.formats.neuroglancer.shard:infer"),
    folder_names=("info", "*.shard", "*.index"),
    detect_folder=lazily("shardcore.formats.neuroglancer.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.neuroglancer.folder:open_folder"),
    locate=lazily("shardcore.formats.neuroglancer.lookup:locate"),
    options=(
        Option("spec", OptionType.JSON, "The sharding specification.", names_format=True),
        Option("info", OptionType.JSON, "The info of a data set, or its folder.", Purpose.LOCATE),
        Option("spec", OptionType.JSON, "The sharding specification alone.", Purpose.LOCATE),
        Option("folder", OptionType.TEXT, "The folder of the key space, where the info has several.", Purpose.LOCATE),
    ),
)
