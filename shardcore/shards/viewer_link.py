"""Parsing of Neuroglancer links: the layers with precomputed sources in the JSON state after `#!`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from shardcore.codecs.json_text import FREE, JsonLimits, parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LayerUnchosen, UsageError
from shardcore.model.text import visible
from shardcore.sources.remote.address import parse_address

LIMITS = JsonLimits(size=4 << 20, digits=FREE.digits)
"""Limits for parsing the state of a link; browsers accept links of 2 MB."""

_STRING = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_PRECOMPUTED = ("precomputed://", "|neuroglancer-precomputed:")


@dataclass(frozen=True, slots=True)
class Layer:
    """Layer of a Neuroglancer state: name, type (empty if missing), and address of its source."""

    name: str
    kind: str
    address: str


def layers_of(link: str) -> tuple[Layer, ...]:
    """Return the layers with precomputed sources, in order, one per source; UsageError if the state is invalid."""
    state = unquote(link.partition("#!")[2]).strip()
    if not state.startswith("{"):
        raise UsageError("this Neuroglancer link contains only the address of its state: open the address of a layer")
    try:
        found = parse_json(_plain_json(state), "the state of the link", limits=LIMITS)
    except FormatError as error:
        raise UsageError(error.message) from error
    layers = found.get("layers")
    if isinstance(layers, dict):  # written by older versions
        layers = [{"name": name, **one} for name, one in layers.items() if isinstance(one, dict)]
    return tuple(_layers(layers if isinstance(layers, list) else []))


def layer_address(link: str) -> str:
    """Return the address of the only layer; LayerUnchosen if there are several, UsageError if there are none."""
    found = layers_of(link)
    if not found:
        raise UsageError("this Neuroglancer link has no layer with a precomputed source")
    if len({one.address for one in found}) > 1:
        raise LayerUnchosen(layers=tuple((one.name, one.address) for one in found))
    return found[0].address


def _layers(layers: list[object]) -> Iterator[Layer]:
    for layer in layers:
        if not isinstance(layer, dict):
            continue
        sources = layer.get("source")
        for source in sources if isinstance(sources, list) else [sources]:
            url = source.get("url") if isinstance(source, dict) else source
            if not isinstance(url, str) or not any(mark in url for mark in _PRECOMPUTED):
                continue
            try:
                address = parse_address(url)
            except UsageError:
                continue
            # A signature in the state is used, but not displayed.
            found = address.shown if address.is_public else url
            yield Layer(visible(str(layer.get("name", "")))[:80], str(layer.get("type", ""))[:40], found)


def _plain_json(state: str) -> str:
    """Return a state as JSON: links may contain `'` instead of quotes, and `_` instead of commas outside strings."""
    parts = _STRING.split(state)
    # Odd parts are strings.
    parts[::2] = [part.replace("_", ",") for part in parts[::2]]
    parts[1::2] = [part if part[0] == '"' else _double_quoted(part[1:-1]) for part in parts[1::2]]
    return "".join(parts)


def _double_quoted(inner: str) -> str:
    return '"' + re.sub(r"""\\'|(?<!\\)\"""", lambda found: "'" if found[0] == "\\'" else '\\"', inner) + '"'
