"""Bloscpack, versions 1, 2 and 3, and bcolz folders, whose files are Bloscpack: name, options, entry points."""

from shardcore.model.options import Option, OptionPurpose, OptionType, written
from shardcore.shards.format import Detail, Format, lazily
from shardcore.writing.declaration import KeyRule, Writes

FORMAT = Format(
    name="bloscpack",
    title="Bloscpack",
    folder_title="Bloscpack folder",
    specification="https://github.com/Blosc/bloscpack#bloscpack-format",
    suffixes=(".blp",),
    detect=lazily("shardcore.formats.bloscpack.shard:detect"),
    open=lazily("shardcore.formats.bloscpack.shard:open_shard"),
    head_names=r".+\.blp",
    folder_names=("__rootdirs__", "meta", "*.blp"),
    detect_folder=lazily("shardcore.formats.bloscpack.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.bloscpack.folder:open_folder"),
    writes=Writes(
        create=lazily("shardcore.formats.bloscpack.writer:BloscpackWriter"),
        purpose="One array or byte string per file, in chunks that are compressed separately.",
        cannot="A file has one content and no keys; several inputs become a folder of files.",
        keys=KeyRule.NONE,
        folder=True,
        members=("**/*.blp",),
        single=True,
        settings=("checksum",),
        checksum=lazily("shardcore.formats.bloscpack.layout:checksum_name"),
        uncompressed={"level": 0},
    ),
    edits={"append": lazily("shardcore.formats.bloscpack.writer:append")},
    options=(
        written(
            "codec",
            OptionType.CHOICE,
            "The compressor; default: blosclz.",
            default="blosclz",
            choices=("blosclz", "lz4", "lz4hc", "zlib", "zstd"),
        ),
        written("level", OptionType.INTEGER, "0 (no compression) to 9; default: 7.", default=7),
        written(
            "shuffle",
            OptionType.CHOICE,
            "Groups bytes by their position in the element; default: byte. Bit shuffle is not offered, because "
            "readers based on Blosc 2 would return wrong bytes.",
            default="byte",
            choices=("byte", "none"),
        ),
        written(
            "typesize", OptionType.INTEGER, "Bytes of an element, 1 to 255; default: itemsize of the array, else 8."
        ),
        written(
            "chunk_size",
            OptionType.SIZE,
            "Uncompressed bytes of every chunk but the last, rounded down to whole elements; default: 1M.",
            default="1M",
        ),
        written(
            "checksum",
            OptionType.CHOICE,
            "The checksum after every chunk; default: adler32.",
            default="adler32",
            choices=("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"),
        ),
        written("offsets", OptionType.FLAG, "Write a table of the offsets of chunks; default: yes.", default=True),
        written(
            "spare",
            OptionType.INTEGER,
            "Spare slots in the table of offsets, for chunks that are appended later; default: ten per chunk.",
        ),
        written(
            "metadata",
            OptionType.JSON,
            "Metadata of every file: JSON text, or the path of a JSON file; stored after the description of the array.",
        ),
        written(
            "metadata_codec",
            OptionType.CHOICE,
            "Codec of the metadata; default: zlib, or none if zlib makes it longer.",
            default="zlib",
            choices=("none", "zlib"),
        ),
        Option("dtype", OptionType.JSON, "Type of an element of the array, such as <f8.", OptionPurpose.FACT),
        Option("shape", OptionType.JSON, "Elements along each axis of the array, a list.", OptionPurpose.FACT),
        Option(
            "order",
            OptionType.CHOICE,
            "C: the last axis is fastest; F: the first axis.",
            OptionPurpose.FACT,
            choices=("C", "F"),
        ),
        Option("metadata", OptionType.JSON, "Metadata without the members that describe an array.", OptionPurpose.FACT),
        Option("chunk_size", OptionType.INTEGER, "Uncompressed bytes of every chunk but the last.", OptionPurpose.FACT),
        Option(
            "isolated",
            OptionType.FLAG,
            "Decompress chunks in a separate process, so that a crash of the decoder does not end the program.",
            hidden=True,
        ),
    ),
    begins=(b"blpk",),
    details={
        "offset": Detail(),
        "shape": Detail("shape", by=" × "),
        "chunklen": Detail("chunk length"),
        "typesize": Detail("typesize", unit="byte"),
    },
    summary={
        "header.typesize": Detail("typesize", unit="byte"),
        "header.chunk_size": Detail("chunk size", unit="byte"),
    },
    salvage=lazily("shardcore.formats.bloscpack.salvage:salvage"),
)
