"""Feeds damaged chunks to the decoder, in a process of its own: `python mutate.py COUNT SEED SAMPLE…`.

Prints `passed refused decoded`: chunks that passed the structural check, that were refused by a ShardError, that
decompressed. Whatever kills the process or leaves it as another exception is a failure for whoever started it.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from shardcore.errors import ShardError
from shardcore.formats.bloscpack.blosc1 import check_chunk, decompress
from shardcore.testing import mutated


def damaged(chunk: bytes, dice: random.Random) -> bytes:
    """Half of the damaged chunks state their length, so that they reach the decompressor."""
    changed = mutated(chunk, dice)
    return changed[:12] + len(changed).to_bytes(4, "little") + changed[16:] if dice.random() < 0.5 else changed


def main(count: int, seed: int, samples: list[Path]) -> None:
    dice = random.Random(seed)
    chunks = [path.read_bytes() for path in samples]
    passed = refused = decoded = 0
    for _ in range(count):
        chunk = damaged(dice.choice(chunks), dice)
        try:
            check_chunk(chunk, limit=2**24)
            passed += 1
            decompress(chunk, limit=2**24)
            decoded += 1
        except ShardError:
            refused += 1
    sys.stdout.write(f"{passed} {refused} {decoded}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
