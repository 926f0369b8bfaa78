"""What the reference reader does about damage, as far as its source says."""

from shardcore.peers import Answer, Peer

_NAME = "hf-xet 1.8.0"


def peers() -> tuple[Peer, ...]:
    """What is known of other readers."""
    return (
        Peer(
            _NAME,
            ("mdb.name", "mdb.segment", "mdb.file-hash", "mdb.range-hash"),
            Answer.IGNORES,
            "A shard has no digest inside, and its name is not compared again: segments are followed as they stand.",
        ),
    )
