"""Texts of the steps of a lookup, in a table per class of result; the titles are those of `docs/formats/swh.md`."""

from __future__ import annotations

from functools import partial
from struct import unpack

from shardcore.errors import KeyAbsent
from shardcore.formats.swh.layout import HASH_HEAD, HASH_TAIL, HEADER
from shardcore.formats.swh.lookup import Begun, Candidates, DisplacementLocated, Hashed, KeyCompared, KeyPlaced
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.trace import Row, Rows, Value


def _words(key: bytes) -> list[str]:
    return [f"{word:08x}" for word in unpack("<8I", key)]


def _hex(numbers: tuple[int, ...]) -> str:
    return " ".join(f"{number:08x}" for number in numbers)


def _word(number: int, fact: Begun) -> str:
    return _words(fact.key)[number]


def _round(number: int) -> tuple[Value, Value]:
    name = f"round {number + 1}"
    return (
        Value(
            f"{name} added", lambda fact: _hex(fact.rounds[number].added), "a, b, c after words of the key were added"
        ),
        Value(f"{name} mixed", lambda fact: _hex(fact.rounds[number].mixed), "a, b, c after mixing"),
    )


def _tail(field: str, fact: Hashed) -> Span:
    return HASH_TAIL.span(field, fact.hashing.tail.start)


def _number(number: int, fact: Hashed) -> str:
    return f"{fact.rounds[-1].mixed[number]:08x}"


def _state(hashed: Hashed) -> str:
    return ", ".join(f"{name} = {number:08x}" for name, number in zip("abc", hashed.rounds[-1].mixed, strict=True))


def _seed(fact: Begun | Hashed) -> Span:
    return HASH_HEAD.span("seed", fact.hashing.start)


def _ends(located: DisplacementLocated) -> str:
    bucket, low = located.hashed.bucket, located.hashed.hashing.low_width

    def end(number: int, which: int) -> str:
        at = located.positions[which]
        return f"({at} - {number}) · 2^{low} + {located.lows[which]} = {((at - number) << low) + located.lows[which]}"

    stop = located.start + located.length
    if not bucket:
        return (
            "Values are packed one after the other; that of bucket 0 begins at store bit 0. One-bit 0 is at bit "
            f"{located.positions[1]} of the unary bits; with its low bits, {located.lows[1]}, the value ends at store "
            f"bit {stop}, as {end(0, 1)}"
        )
    return (
        "Values are packed one after the other, and the end of each is stored in two parts. "
        f"One-bits {bucket - 1} and {bucket} are at bits {located.positions[0]} and {located.positions[1]} of the "
        f"unary bits; with their low bits, {located.lows[0]} and {located.lows[1]}, values {bucket - 1} and {bucket} "
        f"end at store bits {located.start} and {stop}, as {end(bucket - 1, 0)} and {end(bucket, 1)}"
    )


def _value(placed: KeyPlaced) -> str:
    length, start, d = placed.located.length, placed.located.start, placed.displacement
    if not length:
        return "The value takes no bits, and a value of no bits is 0: d = 0"
    least = (1 << length) - 1
    bits = plural(length, "bit")
    return (
        f"The {bits} from store bit {start} on are the number {d - least}. Values of {bits} count from 2^{length} - 1 "
        f"= {least} on, where shorter ones end: d = {d - least} + {least} = {d}"
    )


def _verdict(compared: KeyCompared) -> str:
    if compared.state is State.UNUSED:
        return "its offset shows whether it has an object"
    absent = ", so this one is not in the shard" if isinstance(compared.missing, KeyAbsent) else ""
    return ("it is this key" if compared.equal else "it is another key") + absent


_SLOTS = "slots of the index"
_OFFSET = Value(
    "offset", "offset", "offset of the object; all ones if there is none", "byte", at=lambda fact: fact.span("offset")
)

_CANDIDATES = (
    Row(
        "Which shard",
        "A key does not give its shard, and Read Shards have no routing rule: {count:shard} to search, one after the "
        "other, until one has the key.",
        "Only a lookup shows whether a shard has a key; archives store elsewhere in which shard each key is.",
        (Value("candidates", lambda fact: list(fact.names[:100]), "the shards that may contain the key"),),
        words={"count": lambda fact: len(fact.names)},
    ),
)

_BEGUN = (
    Row(
        "Is this a shard?",
        "The header: version 1, {objects_count:object} written, an index of {slots:slot}.",
        "A reader first checks the format; the header has the offsets of the other sections.",
        (
            Value("version", lambda _: 1, "the version of the format"),
            Value("objects_count", "shard.declared", "number of objects written", "objects"),
            Value(
                "slots",
                "shard.slots",
                f"{_SLOTS}; a few more than objects, to build the hash function fast",
                "slots",
            ),
        ),
        spans=lambda _: HEADER.span(""),
    ),
    Row(
        "The key as eight numbers",
        "Its 32 bytes are read as eight little-endian 32-bit numbers, w0 to w7: {words}.",
        "The hash works on 32-bit numbers, not on single bytes.",
        tuple(Value(f"w{n}", partial(_word, n), f"bytes {4 * n} to {4 * n + 3} of the key") for n in range(8)),
        words={"words": lambda fact: " ".join(_words(fact.key))},
    ),
    Row(
        "The seed",
        "The key is hashed by Bob Jenkins' hash, which works on three 32-bit state numbers, a, b and c. They start as "
        "a = b = 9e3779b9 and c = the seed, {seed}.",
        "The writer tried seeds until each key had its own slot; only the same seed finds it again.",
        (Value("seed", "hashing.seed", "seed: initial value of the third state number", at=_seed),),
        spans=_seed,
    ),
)

_HASHED = (
    Row(
        "Three rounds of mixing",
        "Each round adds to a, b, c and mixes them: w0, w1, w2; then w3, w4, w5; then w6, w7 and 32, the key's length "
        "in bytes. They end as {state}.",
        "Mixing spreads keys evenly: keys that differ in a single bit get very different numbers.",
        (
            *(value for n in range(3) for value in _round(n)),
            Value("a", partial(_number, 0), "the first number of the hash; it gives the bucket"),
            Value("b", partial(_number, 1), "the second number of the hash; it gives the first slot"),
            Value("c", partial(_number, 2), "the third number of the hash; it gives the step"),
        ),
        inputs=_seed,
        words={"state": _state},
    ),
    Row(
        "Bucket, first slot, step",
        "With n = {n:slot} and B = {B:bucket}: bucket g = a mod B = {g}; first_slot f = b mod n = {f}; step h = c mod "
        "(n - 1) + 1 = {h}.",
        "The bucket selects the displacement; it is applied to the first slot and the step.",
        (
            Value("n", "hashing.slots", _SLOTS, "slots", partial(_tail, "slots_count")),
            Value(
                "B",
                "hashing.buckets",
                "number of buckets; the keys of a bucket share a displacement",
                "buckets",
                partial(_tail, "buckets_count"),
            ),
            Value("g", "bucket", "the bucket of the key"),
            Value("f", "first", "the first slot of the key"),
            Value("h", "step", "slots per jump", "slots"),
        ),
        spans="hashing.tail",
    ),
)

_LOCATED = (
    Row(
        "Location of the displacement of bucket {hashed.bucket}",
        "{ends}: first_bit = {first_bit}, length = {len:bit}.",
        "Most displacements are small, so each is stored in only the bits it needs, and its end is stored too.",
        (
            Value("P_before", "positions[0]", "position of the one-bit of the previous bucket in the unary bits"),
            Value("P", "positions[1]", "position of the one-bit of the bucket in the unary bits"),
            Value("first_bit", "start", "first bit of the displacement in the value store"),
            Value("len", "length", "length of the value", "bits"),
        ),
        spans="spans",
        words={"ends": _ends},
    ),
)

_PLACED = (
    Row(
        "The displacement",
        "{value}; p1 = {d} // {slots} = {p1}, p0 = {d} mod {slots} = {p0}.",
        "The hash function stores one number per bucket instead of a table of keys.",
        (
            Value("d", "displacement", "the displacement of the bucket: p0 + p1 · n"),
            Value("p0", "probes", "number of jumps of h", "jumps"),
            Value("p1", "turns", "number of further slots", "slots"),
        ),
        spans=lambda placed: placed.stored if placed.stored.size else (),
        inputs=lambda placed: () if placed.stored.size else placed.located.spans,
        words={"value": _value},
    ),
    Row(
        "The slot",
        "(first_slot + step · p0 + p1) mod n = ({hashed.first} + {hashed.step} · {probes} + {turns}) mod {slots} = "
        "{slot}. Slot {slot} of the index begins at byte {position:#x}.",
        "The writer moved each bucket until all its keys had free slots; a reader repeats the move.",
        (
            Value("slot", "slot", "the number of the slot"),
            Value("position", "slot_start", "offset of the slot in the file", "byte"),
        ),
        inputs="hashed.hashing.tail",
    ),
)

_COMPARED = (
    Row(
        "Is it really this key?",
        "Every key maps to some slot, so the keys must be compared. Slot {placed.slot} has {stored}: {verdict}.",
        "A perfect hash gives any key a slot, so only a comparison shows whether the key is in the shard.",
        (
            Value("stored", lambda fact: fact.stored.hex(), "the key in the slot"),
            Value("equal", "equal", "true if it matches the requested key"),
        ),
        spans=lambda fact: fact.span("key"),
        words={"verdict": _verdict},
    ),
    Row(
        "Location of the object",
        "Its offset marks a slot without an object: never used, or its object was deleted.",
        "There are more slots than objects, so that building is fast; the offset shows which are unused.",
        (_OFFSET,),
        spans=lambda fact: fact.span("offset"),
        only=lambda fact: fact.state is State.UNUSED,
    ),
    Row(
        "Location of the object",
        "The object begins at byte {offset:#x}, with the 8 bytes of its length.",
        "Slots have a fixed size and contents do not, so a slot has only the offset of its object.",
        (_OFFSET,),
        spans=lambda fact: fact.span("offset"),
        only=lambda fact: fact.missing is None,
    ),
)

_OBJECT = (
    Row(
        "The object",
        "Its length is {length:byte}; the content follows.",
        "The length is stored before the content, so that one read returns both.",
        (Value("length", "size", "the size of the content", "bytes", at="spans[1]"),),
        spans=lambda ref: tuple(reversed(ref.spans)),
    ),
)

STEPS: Rows = {
    Candidates: _CANDIDATES,
    Begun: _BEGUN,
    Hashed: _HASHED,
    DisplacementLocated: _LOCATED,
    KeyPlaced: _PLACED,
    KeyCompared: _COMPARED,
    ObjectRef: _OBJECT,
}
