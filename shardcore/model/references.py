"""References: fields that point to a given range of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from shardcore.dataclasses import dataclass, replace
from shardcore.model.computed_children import Deferred
from shardcore.model.data_set_nodes import placed_span
from shardcore.model.node import Children, Node
from shardcore.model.span import SourceName, Span

T = TypeVar("T")

MOST_REFERENCES = 60
"""Maximum number of references listed; others are only counted."""

_MOST_NODES = 4096
"""Maximum number of nodes examined for references."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference: the field at `place` points to the bytes `target`. `why` is a sentence about it."""

    place: Span
    target: Span
    why: str


@dataclass(frozen=True, slots=True)
class NamedReference:
    """A reference for display: the field at `span` points to `target`; `names` is the path of nodes to the field."""

    span: Span
    target: Span
    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class References:
    """References, smallest target first; `more`: number left out; `complete`: False if the index was not read."""

    found: tuple[NamedReference, ...]
    more: int = 0
    complete: bool = True


class ReferenceCollector:
    """Collects up to `most` references to bytes in `span`, counts the others. An empty span means the byte after it."""

    def __init__(self, span: Span, most: int = MOST_REFERENCES) -> None:
        self.span = Span(span.source, span.start, max(span.stop, span.start + 1))
        self.found: list[Reference] = []
        self.more = 0
        self._most = most

    def add(self, *references: Reference) -> None:
        self.add_rows(references, lambda reference: reference)

    def add_rows(self, rows: Sequence[T], make: Callable[[T], Reference]) -> None:
        room = max(self._most - len(self.found), 0)
        self.found += [make(row) for row in rows[:room]]
        self.more += max(len(rows) - room, 0)

    def wants(self, target: Span) -> bool:
        stop = max(target.stop, target.start + 1)
        return target.source == self.span.source and target.start < self.span.stop and self.span.start < stop

    @property
    def sorted(self) -> list[Reference]:
        """The references, smallest target first. Of several from one field, only that with the smallest target."""
        places: dict[Span, Reference] = {}
        for reference in self.found:
            known = places.get(reference.place)
            if known is None or reference.target.size < known.target.size:
                places[reference.place] = reference
        return sorted(places.values(), key=lambda one: (one.target.size, one.place.source, one.place.start))


def placed_references(references: References, member: str) -> References:
    found = (
        replace(
            reference,
            span=placed_span(reference.span, member),
            target=placed_span(reference.target, member),
            names=(member, *reference.names),
        )
        for reference in references.found
    )
    return replace(references, found=tuple(found))


def gather_declared(root: Node, path: Iterable[Node], into: ReferenceCollector) -> None:
    """Collect the references in `Node.target` of all nodes outside tables, and of nodes on `path`."""
    left = _MOST_NODES
    seen: set[Span] = set()
    for node in (root, *path):
        for below in _declared(node):
            left -= 1
            if left < 0:
                return
            target = below.target
            if target is None or below.span in seen or not into.wants(target):
                continue
            if any(kid.target == target for kid in _kids(below)):
                continue  # its field has the same target
            seen.add(below.span)
            into.add(Reference(below.span, target, below.doc.strip() or f"{below.name} points to these bytes."))


def gather_decoded(source: str, size: int, into: ReferenceCollector) -> None:
    """If `source` names decompressed bytes, add the reference from the compressed bytes to all of them."""
    name = SourceName.parse(source)
    if name.stretch is not None:
        stored = Span(str(name.outer), *name.stretch)
        into.add(Reference(stored, Span(source, 0, size), "These stored bytes decompress to the requested bytes."))


def _declared(node: Node) -> Iterator[Node]:
    yield node
    for kid in _kids(node):
        yield from _declared(kid)


def _kids(node: Node) -> Sequence[Node]:
    kids = node.children
    if isinstance(kids, Deferred):
        return kids.nodes
    return () if isinstance(kids, Children) else kids
