"""Meanings of the values in lookup steps."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "version": Meaning("the version of the format"),
        "objects_count": Meaning("objects that the writer put in", "objects"),
        "slots": Meaning("slots of the index; a few more than objects, so that free ones are found quickly", "slots"),
        "seed": Meaning("the number that the hash starts from"),
        "a": Meaning("the first number of the hash; it gives the bucket"),
        "b": Meaning("the second number of the hash; it gives the first slot"),
        "c": Meaning("the third number of the hash; it gives the step"),
        "n": Meaning("slots of the index", "slots"),
        "B": Meaning("buckets: keys of one bucket are moved together", "buckets"),
        "g": Meaning("the bucket of the key"),
        "f": Meaning("the slot that counting starts at"),
        "h": Meaning("how far one jump goes", "slots"),
        "P_before": Meaning("number of the unary bit where the one-bit of the bucket before stands"),
        "P": Meaning("number of the unary bit where the one-bit of the bucket stands"),
        "first_bit": Meaning("number of the store bit where the displacement begins"),
        "len": Meaning("how long it is there", "bits"),
        "d": Meaning("the displacement of the bucket: p0 + p1 · n"),
        "p0": Meaning("how many jumps of h", "jumps"),
        "p1": Meaning("how many single slots more", "slots"),
        "slot": Meaning("the number of the slot"),
        "position": Meaning("where the slot begins in the file", "byte"),
        "stored": Meaning("the key in the slot"),
        "equal": Meaning("whether it is the key that was looked up"),
        "offset": Meaning("where the object begins; all ones for none", "byte"),
        "length": Meaning("the size of the content", "bytes"),
        "candidates": Meaning("the files that may hold the key"),
    }
    | {f"w{number}": Meaning(f"bytes {4 * number} to {4 * number + 3} of the key") for number in range(8)}
    | {f"round {number} added": Meaning("a, b, c after words of the key were added") for number in (1, 2, 3)}
    | {f"round {number} mixed": Meaning("a, b, c after mixing") for number in (1, 2, 3)}
)
