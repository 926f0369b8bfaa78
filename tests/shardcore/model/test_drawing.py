"""Drawings: items, links, values of controls, and which cells of many are drawn."""

from __future__ import annotations

from typing import Any

import pytest

from shardcore.errors import UsageError
from shardcore.model.drawing import (
    MOST_ITEMS,
    Band,
    Bits,
    Cells,
    Control,
    ControlKind,
    Drawing,
    Item,
    Link,
    Ribbon,
    Ruler,
    Table,
    chosen,
    moved,
    value_from,
    window,
)
from shardcore.model.span import Span

HEAD, BODY = Span("", 0, 8), Span("", 8, 20)


def _one_of_each() -> Drawing:
    below = Ruler("stored", 0, 20, (Item("body", (BODY,), at=8, size=12),))
    return Drawing(
        "one of each",
        (
            Bits("key", 8, 0b101, (Item("low", at=0, size=3),)),
            Cells("slots", 13, (Item("3", (HEAD,), at=3, name="slot"),)),
            Table("rows", ("a", "b"), ((Item("1", (HEAD,)), Item("2")),)),
            Ribbon("joined", Ruler("plain", 0, 9), below, (Band(Item("piece", (BODY,), at=0, size=9), (8, 20)),)),
        ),
    )


def test_a_drawing_lists_the_items_of_all_its_figures() -> None:
    assert [item.text for item in _one_of_each().items] == ["low", "3", "1", "2", "piece", "body"]


def test_a_drawing_has_no_more_items_than_a_person_can_look_at() -> None:
    items = tuple(Item(str(number), at=number) for number in range(MOST_ITEMS + 1))
    with pytest.raises(ValueError, match="61 items"):
        Drawing("too many", (Cells("slots", 100, items),))


def test_links_lead_to_items_that_are_drawn() -> None:
    slot = Cells("slots", 13, (Item("3", at=3, name="slot"),))
    with pytest.raises(ValueError, match="not drawn: bucket"):
        Drawing("a link to nowhere", (slot,), (Link("bucket", "slot"),))
    with pytest.raises(ValueError, match="same name"):
        Drawing("two of one name", (slot, slot))


def test_a_drawing_of_a_member_is_told_in_the_words_of_the_data_set() -> None:
    drawing = moved(_one_of_each(), lambda span: Span(f"a.shard/{span.source}", span.start, span.stop))
    sources = {span.source for item in drawing.items for span in item.spans}
    assert sources == {"a.shard/"}
    assert [item.computed for item in drawing.items] == [item.computed for item in _one_of_each().items]


CONTROLS = (
    Control("bits", "Bits", ControlKind.SLIDER, 8, 4, 16),
    Control("shuffled", "Shuffled", ControlKind.SWITCH, True),
    Control("order", "Order", ControlKind.CHOICE, "file", choices=("file", "size")),
    Control("uid", "Uid", ControlKind.TEXT, "12"),
)


def test_what_is_not_said_is_as_the_file_says() -> None:
    assert chosen(CONTROLS, {"bits": 4}) == {"bits": 4, "shuffled": True, "order": "file", "uid": "12"}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"bits": 17}, "bits must be a whole number from 4 to 16, not 17"),
        ({"bits": True}, "a whole number"),
        ({"shuffled": 1}, "shuffled must be yes or no, not 1"),
        ({"order": "key"}, "order must be one of file, size, not 'key'"),
        ({"uid": 12}, "uid must be a text"),
        ({"seed": 1}, "unknown control 'seed'; available: bits, shuffled, order, uid"),
    ],
)
def test_wrong_values(values: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        chosen(CONTROLS, values)


def test_texts() -> None:
    texts = ("0x10", "off", "size", "0x10")
    found = [value_from(control, text) for control, text in zip(CONTROLS, texts, strict=True)]
    assert found == [16, False, "size", "0x10"]
    for control, text in zip(CONTROLS[:3], ("many", "perhaps", "key"), strict=True):
        with pytest.raises(UsageError, match="not"):
            value_from(control, text)


@pytest.mark.parametrize(
    ("count", "around", "most", "shown"),
    [
        (5, 2, 9, range(5)),
        (100, 50, 9, range(46, 55)),
        (100, 0, 9, range(9)),
        (100, 99, 9, range(91, 100)),
        (2**64, 2**64 - 1, 2, range(2**64 - 2, 2**64)),
        (0, 0, 9, range(0)),
    ],
)
def test_what_matters_is_in_the_middle(count: int, around: int, most: int, shown: range) -> None:
    assert window(count, around, most) == shown
