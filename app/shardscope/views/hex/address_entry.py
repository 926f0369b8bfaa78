"""Meanings of an entry of the address field: an offset, an object, or the beginning of a name or key. No Qt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from shardcore.operations.goto import GotoError, GotoNames, evaluate
from shardscope.session.sections import section_at
from shardscope.session.trace_walk import LEAST_PREFIX
from shardscope.session.words import cut_middle, offset_words

MOST_NAMES = 8
MOST_KEYS = 6
LONGEST_KEY = 44

_DIGITS = re.compile(r"[0-9a-f]*[a-f][0-9a-f]*", re.IGNORECASE)
"""Hexadecimal digits that are no decimal number: no place is written so."""


class EntryAction(Enum):
    GO = "byte"
    LOOK_UP = "object"


@dataclass(frozen=True, slots=True)
class EntryMeaning:
    deed: EntryAction
    text: str
    words: str
    offset: int = 0


@dataclass(frozen=True)
class EntryContext:
    places: GotoNames
    is_key: Callable[[str], bool]
    keys: Iterable[str] = ()


def meanings(text: str, known: EntryContext) -> list[EntryMeaning]:
    trouble = GotoError("a number, a name or a key is missing")
    found: list[EntryMeaning] = []
    try:
        found.append(_place(text, known.places))
    except GotoError as error:
        trouble = error
    if text and (known.is_key(text) or _begins_key(text, known)):
        found.append(_object(text))
    if not found:
        raise trouble
    return found


def choices(text: str, known: EntryContext, recent: Sequence[EntryMeaning] = ()) -> list[EntryMeaning]:
    if not text:
        return list(recent)
    try:
        found = meanings(text, known)
    except GotoError:
        found = []
    wanted = text.lower()
    names = [name for name in known.places.names if wanted in name.lower() and name != text]
    for name in names[:MOST_NAMES]:
        try:
            found.append(_place(name, known.places))
        except GotoError:
            # The value of a field may lie outside the file: it is no place to go to.
            continue
    keys: list[EntryMeaning] = []
    for key in known.keys:
        if key.lower().startswith(wanted) and key != text:
            keys.append(_object(key))
        if len(keys) == MOST_KEYS:
            break
    if keys and not known.is_key(text):
        # The keys that begin so are offered themselves.
        found = [one for one in found if one != _object(text)]
    earlier = [one for one in recent if wanted in one.text.lower()]
    offered: dict[tuple[EntryAction, str], EntryMeaning] = {}
    for one in (*found, *keys, *earlier):
        offered.setdefault((one.deed, one.text), one)
    return list(offered.values())


def _place(text: str, places: GotoNames) -> EntryMeaning:
    offset = evaluate(text, places)
    section = section_at(places.sections, offset)
    where = f" · {section.name}" if section is not None else ""
    named = "" if text == str(offset) else f"{cut_middle(text, LONGEST_KEY)} · "
    return EntryMeaning(EntryAction.GO, text, f"{named}byte {offset_words(offset)}{where}", offset)


def _begins_key(text: str, known: EntryContext) -> bool:
    if len(text) < LEAST_PREFIX:
        return False
    return _DIGITS.fullmatch(text) is not None or any(key.startswith((text, text.lower())) for key in known.keys)


def _object(key: str) -> EntryMeaning:
    return EntryMeaning(EntryAction.LOOK_UP, key, f"object {cut_middle(key, LONGEST_KEY)}")
