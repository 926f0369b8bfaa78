"""Bloscpack, versions 1, 2 and 3, and the bcolz folders that hold such files."""

from shardcore.model.options import Option, OptionPurpose, OptionType
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
        purpose="One array or dump for each file, compressed in chunks that can be read one by one.",
        cannot="It has no keys: a file holds one content, so that several inputs become a folder of files.",
        keys=KeyRule.NONE,
        folder=True,
        members=("**/*.blp",),
        single=True,
        settings=("checksum",),
        checksum=lazily("shardcore.formats.bloscpack.checksums:name_of"),
        uncompressed={"level": 0},
    ),
    edits={"append": lazily("shardcore.formats.bloscpack.append:append")},
    options=(
        Option(
            "codec",
            OptionType.CHOICE,
            "The compressor; default: blosclz.",
            OptionPurpose.WRITE,
            default="blosclz",
            choices=("blosclz", "lz4", "lz4hc", "zlib", "zstd"),
        ),
        Option(
            "level", OptionType.INTEGER, "0, nothing is compressed, to 9; default: 7.", OptionPurpose.WRITE, default=7
        ),
        Option(
            "shuffle",
            OptionType.CHOICE,
            "Sorts bytes by their position in the element; default: byte. Bits cannot be: Blosc 2, which "
            "compresses here, lays them out in another way, and readers of Blosc 1 would get wrong bytes.",
            OptionPurpose.WRITE,
            default="byte",
            choices=("byte", "none"),
        ),
        Option(
            "typesize",
            OptionType.INTEGER,
            "Bytes of an element, 1 to 255; default: those of the array's type, else 8.",
            OptionPurpose.WRITE,
        ),
        Option(
            "chunk_size",
            OptionType.SIZE,
            "Uncompressed bytes of every chunk but the last, rounded down to whole elements; default: 1M.",
            OptionPurpose.WRITE,
            default="1M",
        ),
        Option(
            "checksum",
            OptionType.CHOICE,
            "The checksum after every chunk; default: adler32.",
            OptionPurpose.WRITE,
            default="adler32",
            choices=("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"),
        ),
        Option(
            "offsets",
            OptionType.FLAG,
            "Write a table of the offsets of chunks; default: yes.",
            OptionPurpose.WRITE,
            default=True,
        ),
        Option(
            "spare",
            OptionType.INTEGER,
            "Spare slots in that table, for chunks that are appended later; default: ten per chunk.",
            OptionPurpose.WRITE,
        ),
        Option(
            "metadata",
            OptionType.JSON,
            "A file with JSON, or JSON text, that every file stores; an array's own members come first.",
            OptionPurpose.WRITE,
        ),
        Option(
            "metadata_codec",
            OptionType.CHOICE,
            "How the metadata is stored; default: zlib, and none where zlib makes it longer.",
            OptionPurpose.WRITE,
            default="zlib",
            choices=("none", "zlib"),
        ),
        Option("dtype", OptionType.JSON, "Type of an element of the array, such as <f8.", OptionPurpose.FACT),
        Option("shape", OptionType.JSON, "Elements along each axis of the array, a list.", OptionPurpose.FACT),
        Option(
            "order",
            OptionType.CHOICE,
            "Whether the last axis (C) or the first (F) is fastest.",
            OptionPurpose.FACT,
            choices=("C", "F"),
        ),
        Option("metadata", OptionType.JSON, "Metadata other than that of an array.", OptionPurpose.FACT),
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
