"""The format `neuroglancer`: precomputed volumes, meshes, skeletons and annotations, sharded by uint64 keys."""

from shardcore.model.options import Option, OptionPurpose, OptionType, written
from shardcore.shards.format import Detail, Format, lazily
from shardcore.writing.declaration import KeyRule, Writes

FORMAT = Format(
    name="neuroglancer",
    title="Neuroglancer precomputed, sharded",
    specification="https://github.com/google/neuroglancer/blob/master/src/datasource/precomputed/sharded.md",
    suffixes=(".shard", ".index", ".data"),
    detect=lazily("shardcore.formats.neuroglancer.shard:detect"),
    open=lazily("shardcore.formats.neuroglancer.shard:open_shard"),
    infer=lazily("shardcore.formats.neuroglancer.shard:infer"),
    head_names=r"[0-9a-f]{1,16}\.(shard|index|data)",
    folder_names=("info", "*.shard", "*.index"),
    folder_mark="info",
    detect_folder=lazily("shardcore.formats.neuroglancer.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.neuroglancer.folder:open_folder"),
    locate=lazily("shardcore.formats.neuroglancer.lookup:locate"),
    writes=Writes(
        create=lazily("shardcore.formats.neuroglancer.writer:NeuroglancerWriter"),
        purpose="Chunks of volumes, meshes and skeletons, found by 64-bit keys with three range requests.",
        cannot="It stores no names and no metadata of objects; changing a value rewrites the whole shard.",
        keys=KeyRule.OWN,
        own_key=lazily("shardcore.formats.neuroglancer.inputs:key_of_name"),
        key_form="a number from 0 to 2^64 - 1, decimal or with 0x",
        check_key=lazily("shardcore.formats.neuroglancer.inputs:checked_key"),
        parts=("fragments",),
        folder=True,
        members=("*.shard",),
        gather=lazily("shardcore.formats.neuroglancer.inputs:gather"),
        converted="number",
        inherited=lazily("shardcore.formats.neuroglancer.info_writer:inherited"),
        uncompressed={
            "spec": {
                "@type": "neuroglancer_uint64_sharded_v1",
                "preshift_bits": 0,
                "hash": "murmurhash3_x86_128",
                "minishard_bits": 4,
                "shard_bits": 0,
                "data_encoding": "raw",
            }
        },
    ),
    options=(
        Option("spec", OptionType.JSON, "The sharding specification.", names_format=True, flag="JSON|FILE"),
        Option("info", OptionType.JSON, "Info of a data set, or its folder: path or address.", OptionPurpose.LOCATE),
        Option("spec", OptionType.JSON, "The sharding specification alone.", OptionPurpose.LOCATE),
        Option("folder", OptionType.TEXT, "Folder of the key space, if the info has several.", OptionPurpose.LOCATE),
        written(
            "spec",
            OptionType.JSON,
            "The sharding specification, or an info with it; default: suggested by the program, with the reason.",
            flag="JSON|FILE",
        ),
        written(
            "order",
            OptionType.CHOICE,
            "Order in a shard: by-minishard (values and index of each minishard in turn) or indices-last (all values, "
            "then all indices); default: by-minishard.",
            default="by-minishard",
            choices=("by-minishard", "indices-last"),
        ),
        written(
            "info",
            OptionType.FLAG,
            "Write the info of the data set if its details are known; default: yes.",
            default=True,
        ),
        written(
            "kind",
            OptionType.CHOICE,
            "Kind of the data, for the info; for a volume: image or segmentation.",
            choices=("mesh", "skeleton", "image", "segmentation"),
        ),
        written(
            "volume",
            OptionType.TEXT,
            "A .npy with the axes x, y, z (and channels), written as raw chunks.",
            content=True,
            path=True,
        ),
        written("chunk_size", OptionType.TEXT, "Voxels per chunk of volume; default: 64,64,64.", "64,64,64"),
        written("resolution", OptionType.TEXT, "Nanometres per voxel of volume; default: 1,1,1.", "1,1,1"),
        written("template", OptionType.JSON, "The info of a data set that is not sharded.", hidden=True),
    ),
    details={
        "voxel_begin": Detail("voxels", until="voxel_end"),
        "voxel_end": Detail(),
        "shape": Detail("shape", by=" × "),
        "order": Detail("order", yes="Fortran: x varies fastest"),
        "index_size": Detail(),
    },
    summary={
        "space.name": Detail("key space"),
        "spec.hash": Detail("hash"),
        "spec.preshift_bits": Detail("bits", "preshift {}, minishard {spec_minishard_bits}, shard {spec_shard_bits}"),
        "spec.data_encoding": Detail("encoding", "{}; minishard index {spec_minishard_index_encoding}"),
        "dataset.key_spaces": Detail("key spaces"),
    },
    salvage=lazily("shardcore.formats.neuroglancer.salvage:salvage"),
)
