"""Questions of an exercise about a Bloscpack lookup."""

from __future__ import annotations

from shardcore.shards.practice import Ask, Mistake, Practice, Slip

_FULL = Mistake(
    Slip.NO_REMAINDER,
    lambda values: values["chunk_size"],
    "That is the size of all other chunks: the last one has the remainder",
)


def practice() -> Practice:
    """Return what is asked: the number of chunks, and the place, sizes and digest of one."""
    return Practice(
        before=(
            Ask("Header fields", "nchunks", detail=True),
            Ask("Header fields", "last_chunk", detail=True, mistakes=(_FULL,)),
            Ask("Skip the metadata", "next", detail=True),
        ),
        after=(
            Ask("Found", "offset"),
            Ask("Blosc header", "nbytes", detail=True),
            Ask("Blosc header", "ctbytes"),
            Ask("Digest", "stored", detail=True),
        ),
        objects=(5, 10),
        options={
            "level": ("0",),
            "chunk_size": ("3000", "3600", "4800", "5000"),
            "typesize": ("2", "4", "8"),
            "checksum": ("None", "adler32", "crc32"),
        },
        variants=(
            {"spare": "0"},
            {"spare": "2"},
            {"spare": "5"},
            {"offsets": "no"},
            {"spare": "2", "metadata": '{"unit": "nm"}', "metadata_codec": "none"},
        ),
    )
