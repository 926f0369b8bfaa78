"""Meanings of the values in lookup steps."""

from __future__ import annotations

from types import MappingProxyType

from shardcore.shards.trace import Meaning, Meanings

MEANINGS: Meanings = MappingProxyType(
    {
        "version": Meaning("the version of the format"),
        "objects_count": Meaning("number of objects written", "objects"),
        "slots": Meaning("slots of the index; a few more than objects, to build the hash function fast", "slots"),
        "seed": Meaning("seed: initial value of the third state number"),
        "a": Meaning("the first number of the hash; it gives the bucket"),
        "b": Meaning("the second number of the hash; it gives the first slot"),
        "c": Meaning("the third number of the hash; it gives the step"),
        "n": Meaning("slots of the index", "slots"),
        "B": Meaning("number of buckets; the keys of a bucket share a displacement", "buckets"),
        "g": Meaning("the bucket of the key"),
        "f": Meaning("the first slot of the key"),
        "h": Meaning("slots per jump", "slots"),
        "P_before": Meaning("position of the one-bit of the previous bucket in the unary bits"),
        "P": Meaning("position of the one-bit of the bucket in the unary bits"),
        "first_bit": Meaning("first bit of the displacement in the value store"),
        "len": Meaning("length of the value", "bits"),
        "d": Meaning("the displacement of the bucket: p0 + p1 · n"),
        "p0": Meaning("number of jumps of h", "jumps"),
        "p1": Meaning("number of further slots", "slots"),
        "slot": Meaning("the number of the slot"),
        "position": Meaning("offset of the slot in the file", "byte"),
        "stored": Meaning("the key in the slot"),
        "equal": Meaning("true if it matches the requested key"),
        "offset": Meaning("offset of the object; all ones if there is none", "byte"),
        "length": Meaning("the size of the content", "bytes"),
        "candidates": Meaning("number of shards that may contain the key"),
    }
    | {f"w{number}": Meaning(f"bytes {4 * number} to {4 * number + 3} of the key") for number in range(8)}
    | {f"round {number} added": Meaning("a, b, c after words of the key were added") for number in (1, 2, 3)}
    | {f"round {number} mixed": Meaning("a, b, c after mixing") for number in (1, 2, 3)}
)
