"""Behaviour of tensorstore and cloud-volume on damaged shards, as tested."""

from shardcore.model.other_readers import SILENT, Peer, ReaderAnswer

_TENSORSTORE = "tensorstore 0.1.86"
_CLOUD_VOLUME = "cloud-volume 12.15"


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _TENSORSTORE,
            ("neuroglancer.value-outside",),
            ReaderAnswer.REFUSES,
            "An error for that key; others stay readable.",
        ),
        Peer(_CLOUD_VOLUME, ("neuroglancer.value-outside",), ReaderAnswer.WRONG, "It returns a truncated value."),
        Peer(
            _TENSORSTORE,
            ("neuroglancer.range-outside", "neuroglancer.backward-range", "neuroglancer.minishard-index"),
            ReaderAnswer.REFUSES,
            "An error that names the minishard.",
        ),
        Peer(
            _CLOUD_VOLUME,
            ("neuroglancer.range-outside",),
            ReaderAnswer.IGNORES,
            "A range is cut at the end of the file: an index at the very end is read, any other is an error.",
        ),
        Peer(
            _CLOUD_VOLUME,
            ("neuroglancer.backward-range", "neuroglancer.minishard-index"),
            ReaderAnswer.REFUSES,
            "An error for the keys of that minishard; a listing treats it as empty.",
        ),
        Peer(
            _TENSORSTORE,
            ("neuroglancer.wrong-minishard", "neuroglancer.wrong-shard", "neuroglancer.id-overflow"),
            ReaderAnswer.IGNORES,
            "It does not find the key, and reports nothing.",
        ),
        Peer(
            _TENSORSTORE,
            ("neuroglancer.overlap", "neuroglancer.shared-index"),
            ReaderAnswer.WRONG,
            "It does not detect that two ranges share bytes, and returns both.",
        ),
        *(
            Peer(
                name,
                (SILENT,),
                ReaderAnswer.WRONG,
                "A value that is stored raw has no checksum: it is returned as it is.",
            )
            for name in (_TENSORSTORE, _CLOUD_VOLUME)
        ),
    )
