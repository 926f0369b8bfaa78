"""What connects the bytes with the rest of a window: the list of hits, the objects, what is remembered."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from shardscope.startup.settings import Settings
from shardscope.views.findings.hits import HitsTable
from shardscope.views.hex.panel import HexPanel


class Commands(Protocol):
    """What the bytes ask of a window."""

    def show_part(self, name: str, *, focus: bool = False) -> None:
        """Brings a dock to the front."""

    def trace_key(self, key: str) -> None:
        """Traces a key."""

    def extract_row(self, row: int) -> None:
        """Extracts one object."""


def connect_bytes(bytes_: HexPanel, hits: HitsTable, window: Commands, settings: Settings) -> None:
    """Connects the bytes.

    Args:
        bytes_: They.
        hits: Lists what a search found.
        window: Does what they ask for.
        settings: What is remembered.
    """
    bytes_.look_up_wanted.connect(window.trace_key)
    bytes_.extract_wanted.connect(window.extract_row)
    bytes_.search.hits_changed.connect(hits.set_hits)
    bytes_.search.list_wanted.connect(lambda: window.show_part("hits"))
    bytes_.overview.set_schematic(settings.schematic)
    bytes_.overview.scale_changed.connect(partial(setattr, settings, "schematic"))
    bytes_.search.history.set_entries(settings.searches)
    bytes_.search.history.changed.connect(partial(setattr, settings, "searches"))
    bytes_.drawings.remembered = settings.sketches
    bytes_.drawings.remembered_changed.connect(partial(setattr, settings, "sketches"))
    bytes_.actions_.fields.setChecked(settings.fields_shown)
    bytes_.actions_.fields.toggled.connect(partial(setattr, settings, "fields_shown"))
