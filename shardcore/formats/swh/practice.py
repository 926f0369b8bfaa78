"""Questions of an exercise about a Read Shard lookup."""

from __future__ import annotations

from shardcore.shards.practice import Ask, Mistake, Practice, Slip, Values

_PLACE = "Bucket, first slot, step"
_MIXED = "After the three rounds a, b and c are `{round 3 mixed in Three rounds of mixing}`, in hex."


def practice() -> Practice:
    """Return what is asked: the hash of the key, its bucket and displacement, the slot, and the object."""
    return Practice(
        before=(
            Ask("The key as eight numbers", "w0", detail=True),
            Ask(_PLACE, "g", detail=True, given=_MIXED, mistakes=(_whole("a", 0, "B"),)),
            Ask(_PLACE, "f", detail=True, given=_MIXED, mistakes=(_whole("b", 1, "n"),)),
            Ask(_PLACE, "h", detail=True, given=_MIXED, mistakes=(_whole("c", 2, "n - 1"), _without_one())),
            Ask("The displacement", "d", detail=True),
            Ask("The slot", "slot", mistakes=_slot_mistakes()),
            Ask("The slot", "position", detail=True, mistakes=(_in_index(),)),
        ),
        after=(Ask("Where the object is", "offset"), Ask("The object", "length")),
        objects=(9, 28),
        options={"seed": ("1", "7", "2718", "65537")},
        bits=32,
    )


def _mixed(values: Values, number: int) -> int:
    return int(values["round 3 mixed"].split()[number], 16)


def _whole(name: str, number: int, divisor: str) -> Mistake:
    text = f"That is {name} itself: the remainder by {divisor} is missing"
    return Mistake(Slip.NO_REMAINDER, lambda values: _mixed(values, number), text)


def _without_one() -> Mistake:
    text = "The step is the remainder plus 1: a step of 0 would never move"
    return Mistake(Slip.OFF_BY_ONE, lambda values: _mixed(values, 2) % (values["n"] - 1), text)


def _slot_mistakes() -> tuple[Mistake, ...]:
    def summed(values: Values) -> int:
        return int(values["f"] + values["h"] * values["p0"] + values["p1"])

    return (
        Mistake(Slip.NO_REMAINDER, summed, "The slots are a ring: the remainder by n is missing"),
        Mistake(Slip.SWAPPED, lambda values: values["f"], "That is the first slot: the displacement is missing"),
        Mistake(
            Slip.SWAPPED,
            lambda values: (values["f"] + values["h"] * values["p1"] + values["p0"]) % values["n"],
            "p0 and p1 are swapped: p0 counts jumps of h, p1 single slots",
        ),
    )


def _in_index() -> Mistake:
    text = "That counts from the beginning of the index, not of the file"
    return Mistake(Slip.WRONG_BASE, lambda values: 40 * values["slot"], text)
