"""Behaviour of the reference reader on damage, as tested."""

from shardcore.model.other_readers import Peer, ReaderAnswer

_NAME = "swh.shard 2.2.1"
_COMPARED = ((0, 9), (32, 40))
"""The compared part of the magic, and the version."""
_FIELDS = ((40, 88),)
"""Counts, positions and sizes in the header."""


def peers() -> tuple[Peer, ...]:
    return (
        Peer(
            _NAME,
            ("swh.content-hash",),
            ReaderAnswer.WRONG,
            "It compares the key of the slot, not the sha256 of the content; only `check --with-hash` does.",
        ),
        Peer(
            _NAME,
            ("swh.hash-function", "swh.select-directory"),
            ReaderAnswer.CRASHES,
            "It trusts every length of the hash function: one changed byte ended it with a signal in 45 of 120 trials.",
        ),
        Peer(
            _NAME,
            ("swh.slot-offset",),
            ReaderAnswer.WRONG,
            "It follows an offset into header, padding and index, and reads the bytes there as a length: it returns "
            "an empty content, or fails. Past the end of the file it does not find the key.",
        ),
        Peer(
            _NAME,
            ("swh.object-length",),
            ReaderAnswer.REFUSES,
            "It fails where a content would end after the file; otherwise it returns the wrong number of bytes.",
        ),
        Peer(
            _NAME,
            ("swh.damaged",),
            ReaderAnswer.REFUSES,
            "It compares the first 9 bytes of the magic, and the version.",
            within=_COMPARED,
        ),
        Peer(
            _NAME,
            ("swh.damaged", "swh.objects-count", "swh.objects-position"),
            ReaderAnswer.IGNORES,
            "It uses only index_position and hash_position: where one of these is wrong, it does not find keys or "
            "does not open the file. Other damage does not affect it.",
            within=_FIELDS,
        ),
        Peer(
            _NAME,
            ("swh.hash-misfit",),
            ReaderAnswer.IGNORES,
            "It finds no key in the slot of the hash function, and raises no error.",
        ),
        Peer(_NAME, ("swh.magic-rest",), ReaderAnswer.IGNORES, "It compares the first 9 bytes of the magic only."),
        Peer(_NAME, ("swh.padding", "swh.trailing"), ReaderAnswer.IGNORES, "It never reads these bytes."),
        Peer(
            _NAME,
            ("swh.slot-mismatch",),
            ReaderAnswer.IGNORES,
            "It does not find a key whose slot has another one, and raises no error; `check` finds it.",
        ),
    )
