"""A drawing is data that cannot be wrong in silence."""

import pytest

from shardcore.model.drawing import MOST_ITEMS, Band, Bits, Cells, Drawing, Item, Link, Ribbon, Ruler, Table, moved
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
