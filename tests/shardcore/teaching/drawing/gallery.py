"""Made-up drawings of every kind of figure: what placing, SVG, text and the window are tried with."""

from __future__ import annotations

from shardcore.model.drawing import Band, Bits, Cells, Drawing, Item, Link, Ribbon, Ruler, Table, Tone
from shardcore.model.span import Span


def place(start: int, stop: int) -> tuple[Span, ...]:
    """One place in the file."""
    return (Span("", start, stop),)


def parking() -> Drawing:
    """Buckets, a folded box, a ring of slots with a collision, and jumps."""
    loads = (3, 0, 2, 4, 1, 2, 0, 3)
    buckets = [
        Item(str(load), place(100 + at, 101 + at), at, tone=Tone.INDEX, name=f"b{at}", here=at == 3, doc="A bucket.")
        for at, load in enumerate(loads)
    ]
    slots = [
        Item("9c1f", place(400 + 40 * at, 440 + 40 * at), at, tone=Tone.KEY, name=f"s{at}") for at in (0, 2, 5, 11)
    ]
    slots.append(Item("ca97", place(960, 1000), 14, tone=Tone.HIT, name="hit", here=True))
    slots += [Item(text, (), 4, tone=Tone.MISS, name=text) for text in ("77ab", "12")]
    slots.append(Item("", place(760, 800), 9, tone=Tone.DEAD))
    stored = place(33, 34)
    rows = (
        (Item("f"), Item("11"), Item("where it starts")),
        (Item("displacement", stored), Item("2", stored), Item("so many jumps of h, then p1", stored)),
    )
    figures = (
        Cells("Buckets: how many keys share one", 8, tuple(buckets)),
        Table("Mixing", ("name", "value", "meaning"), rows),
        Cells("Slots, a ring", 16, tuple(slots), ring=True),
    )
    links = (
        Link("b3", "s11", "f"),
        Link("s11", "77ab", "+h"),
        Link("s2", "s5", "jump"),
        Link("77ab", "hit", "p1", Tone.HIT),
    )
    caption = (
        "A perfect hash gives every key a slot of its own. There are more slots than objects, so that it is found."
    )
    return Drawing("Where the key parks", figures, links, caption, 1010117, what_if=True)


def bits() -> Drawing:
    """Brackets that can be dragged, letters, cells, and a table that an arrow leads to."""
    key = Bits(
        "Key",
        64,
        0x0123456789ABCDEF,
        (
            Item("preshift", (), 0, 4, Tone.FAINT, handle="preshift"),
            Item("minishard", (), 4, 6, Tone.INDEX, name="mini", handle="minishard"),
            Item("shard", (), 10, 3, Tone.KEY, here=True, handle="shard"),
            Item("not used", (), 13, 51, Tone.EMPTY),
        ),
    )
    letters = {bit: ("xyz"[bit % 3], (Tone.ONE, Tone.TWO, Tone.THREE)[bit % 3]) for bit in range(15)}
    morton = Bits("Chunk number, a Morton code", 21, None, (Item("grid", (), 0, 15),), letters)
    loads = (12, 9, 14, 11, 10, 13, 8, 12)
    cells = tuple(
        Item(str(load), place(16 * at, 16 * at + 16), at, tone=Tone.INDEX, name=f"c{at}", here=at == 5)
        for at, load in enumerate(loads)
    )
    rows = tuple(
        (
            Item(str(1000 + row * 7), place(200 + row * 8, 208 + row * 8), tone=Tone.HIT if row == 2 else Tone.KEY),
            Item(f"{4096 * row:,}", place(300 + row * 8, 308 + row * 8), tone=Tone.POINTER, name=f"r{row}"),
            Item(str(4000 + row), place(400 + row * 8, 408 + row * 8), tone=Tone.SIZE),
        )
        for row in range(5)
    )
    index = "An index whose title is longer than it is wide"
    figures = (key, morton, Cells("Minishards and their load", 8, cells), Table(index, ("id", "start", "size"), rows))
    links = (Link("mini", "c5"), Link("c5", "r2", "points to"), Link("r0", "r1", "+"))
    return Drawing("From the key to the chunk", figures, links, "Drag a bracket.", 3)


def ribbons() -> Drawing:
    """Two rulers with bands that cross, come to a point, and are too narrow for a text."""
    above = Ruler(
        "files",
        0,
        52000,
        (
            Item("readme.md", place(0, 48), 0, 9000, Tone.HEADER),
            Item("model.bin", place(48, 96), 9000, 30000, Tone.DATA, here=True),
            Item("end", place(96, 144), 52000, 0, Tone.POINTER),
        ),
        "bytes",
    )
    below = Ruler("xorbs", 0, 40000, (Item("xorb 3f9a…", place(200, 248), 0, 24000, Tone.INDEX),), "bytes")
    bands = (
        Band(Item("chunks 0–3", place(300, 348), 0, 9000, Tone.HEADER), (0, 9000)),
        Band(Item("chunks 0–9", place(348, 396), 9000, 15000, Tone.DATA), (0, 15000)),
        Band(Item("shared", place(396, 444), 39000, 7000, Tone.HIT), (0, 6000)),
        Band(Item("", (), 46000, 100, Tone.MISS), (39000, 39000)),
    )
    return Drawing("What files have in common", (Ribbon("Segments", above, below, bands),))


def tape() -> Drawing:
    """A board, and a tape of entries with an arc for each that is skipped."""
    uid = Bits("CRC of the uid", 32, 0xDEADBEEF, (Item("n_bits", (), 0, 8, Tone.KEY, name="low", here=True),))
    digits = tuple("0123456789ABCDEF")
    cell = Item("ef", (), 0xEF, name="cell", tone=Tone.HIT, here=True)
    board = Cells("256 parts", 256, (cell, Item("", place(0, 1), 3)), 16, column_names=digits, row_names=digits)
    entries = [
        Item(text, place(start, start + size), start, size, tone, name=f"e{start}")
        for text, start, size, tone in (
            ("a", 0, 400, Tone.DATA),
            ("b", 400, 300, Tone.DATA),
            ("c", 700, 900, Tone.DEAD),
            ("uid 1234", 2100, 900, Tone.HIT),
            ("narrow and in question", 3000, 10, Tone.MISS),
        )
    ]
    entries.append(Item("whole", place(0, 4000), 0, 3990, Tone.FAINT))
    entries.append(Item("footer", place(3990, 4000), 3990, 0, Tone.POINTER))
    figures = (uid, board, Ruler("Entries", 0, 4000, tuple(entries), "bytes"))
    arcs = [Link(a, b, str(n)) for n, (a, b) in enumerate((("e0", "e400"), ("e400", "e700"), ("e700", "e2100")), 1)]
    return Drawing("The address of a uid", figures, (Link("low", "cell"), Link("cell", "e0"), *arcs))


def crowded() -> Drawing:
    """As much as there may be: long names, narrow items, many cells, a table wider than the page, nothing at all."""
    fields = tuple(Item(f"a long name of field {n}", (), n * 4, 4, handle="n" if n else "") for n in range(16))
    narrow = tuple(Item(f"record {n}", place(n, n + 1), n * 10, 9, Tone.DATA, here=n % 3 == 0) for n in range(20))
    texts = ("a text that is longer than any column of a table may become on a page of usual width", "x" * 300, "7")
    rows = (tuple(Item(text, place(0, 1)) for text in texts),)
    board = Cells(
        "Many", 1000, (Item("7", place(1, 2), 10**6 + 300, here=True), Item("8", place(2, 3), 10**6 + 999)), first=10**6
    )
    figures = (
        Bits("Bits", 64, 2**64 - 1, fields),
        Ruler("Records", 0, 200, narrow, "bytes"),
        Table("Wide", ("a", "b", "c"), rows),
        board,
        Cells("None", 0),
        Table("Nothing", (), ()),
        Ruler("", 0.0, 1.0),
        Ruler("Far", 10**15, 10**15 + 7, (Item("at the end", (), 10**15 + 7, 0),)),
    )
    title = (
        "A title that is so long that it has to go on in a second line wherever the page is a narrow one, or a third"
    )
    return Drawing(title, figures, caption="A caption. " * 30)


ALL = (parking, bits, ribbons, tape, crowded)
