"""What the reference reader does about damage, as far as it was tried."""

from shardcore.peers import Answer, Peer

_NAME = "swh.shard 2.2.1"


def peers() -> tuple[Peer, ...]:
    """What is known of other readers."""
    return (
        Peer(
            _NAME,
            ("swh.content-hash",),
            Answer.WRONG,
            "It compares the key of the slot, not the sha256 of the content; only `check --with-hash` does.",
        ),
        Peer(
            _NAME,
            ("swh.hash-function",),
            Answer.CRASHES,
            "It trusts every length of the hash function: one changed byte ended it with a signal in 45 of 120 trials.",
        ),
        Peer(_NAME, ("swh.magic-rest",), Answer.IGNORES, "It compares the first 9 bytes of the magic only."),
        Peer(_NAME, ("swh.padding", "swh.trailing"), Answer.IGNORES, "It never looks at these bytes."),
        Peer(
            _NAME,
            ("swh.slot-mismatch",),
            Answer.IGNORES,
            "A key whose slot holds another one is not there for it, and no error is raised; `check` finds it.",
        ),
    )
