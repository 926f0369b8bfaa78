"""Software Heritage Read Shard: many small objects, found by key through a perfect hash function."""

from shardcore.model.options import OptionType, written
from shardcore.shards.format import Detail, Format, lazily
from shardcore.writing.declaration import KeyRule, Writes

FORMAT = Format(
    name="swh",
    title="Software Heritage Read Shard",
    folder_title="Software Heritage folder",
    specification="https://docs.softwareheritage.org/devel/swh-shard/format.html",
    suffixes=(".shard",),
    detect=lazily("shardcore.formats.swh.shard:detect"),
    open=lazily("shardcore.formats.swh.shard:open_shard"),
    detect_folder=lazily("shardcore.formats.swh.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.swh.folder:open_folder"),
    writes=Writes(
        create=lazily("shardcore.formats.swh.writer:SwhWriter"),
        purpose="Many small objects, each under a 32-byte key, found with a few reads in one file of any size.",
        cannot="It does not compress and stores no names. Objects cannot be added to a written shard.",
        keys=KeyRule.CONTENT,
        key_form="64 hex digits",
        check_key=lazily("shardcore.formats.swh.file:checked_key"),
        converted="sha256",
    ),
    edits={
        "delete": lazily("shardcore.formats.swh.writer:delete"),
        "truncate": lazily("shardcore.formats.swh.writer:truncate"),
    },
    options=(
        written(
            "seed", OptionType.INTEGER, "First seed tried for the hash function, 0 to 2^32 - 1; default: 1.", default=1
        ),
        written(
            "dedupe",
            OptionType.FLAG,
            "Deduplicate identical objects; by default, duplicates are an error.",
            default=False,
            flag="",
        ),
    ),
    begins=(b"SWHShard",),
    details={"offset": Detail()},
    summary={
        "hash_function.hash_name": Detail("hash", "CHD over {}, seed {hash_function_seed}"),
        "hash_function.table_size": Detail("slots", "{:,}"),
    },
    salvage=lazily("shardcore.formats.swh.salvage:salvage"),
)
