"""A Dask scheduler with workers in processes of their own, on this machine; and functions that workers can import."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from shardcore.errors import BadChecksum
from shardcore.shards.shard import Shard


def object_count(shard: Shard) -> int:
    """Count the objects of a shard."""
    return len(shard.objects)


def failing(shard: Shard) -> int:
    """Raise what is no error of a shard."""
    raise ValueError("no such column")


def not_plain(shard: Shard) -> Shard:
    """Return what cannot be sent to another process."""
    return shard


def not_the_second(shard: Shard) -> str:
    """Return the first key; of shards without one raise, as damaged ones do."""
    key = shard.objects.keys[0]
    if key == "1":
        raise BadChecksum("the second shard is damaged")
    return str(key)


def killed_once(shard: Shard, mark: str) -> int:
    """End the process at the first call; count the objects of a shard afterwards."""
    path = Path(mark)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return len(shard.objects)
