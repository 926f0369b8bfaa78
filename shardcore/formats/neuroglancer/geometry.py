"""Decoding of meshes, skeletons and annotations, as the precomputed specification describes them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.draco import MAGIC as DRACO
from shardcore.codecs.draco import Fragment
from shardcore.dataclasses import replace
from shardcore.errors import FormatError, Truncated, Unsupported
from shardcore.formats.neuroglancer.info import SpaceKind, info_members
from shardcore.formats.neuroglancer.layout import fragments_span, read_manifest
from shardcore.formats.neuroglancer.morton import encode_many
from shardcore.formats.neuroglancer.origin import Origin
from shardcore.model.geometry import (
    IDENTITY,
    POLYLINE,
    VERTEX_SIZE,
    AnnotationsGeometry,
    Geometry,
    MeshLayout,
    MeshLevel,
    SkeletonGeometry,
    transformed,
)
from shardcore.model.span import Span, decoded_name
from shardcore.model.text import plural, short

MOST_ATTRIBUTES = 256
"""Maximum number of vertex attributes, properties or relationships in an info."""
MOST_COMPONENTS = 1024
MOST_AXES = 64
MOST_WIDTH = 21
"""Maximum number of bits of a cell coordinate: three of them make a Morton code of 63 bits."""

NUMBER_TYPES = {
    "float32": "<f4", "int32": "<i4", "uint32": "<u4", "int16": "<i2", "uint16": "<u2", "int8": "|i1", "uint8": "|u1",
}  # fmt: skip
"""NumPy types of vertex attributes and annotation properties, by their names in the info."""
COLOURS = {"rgb": 3, "rgba": 4}
"""Property types that are colours, with their sizes in bytes."""

POINTS = {
    "point": ("position",),
    "line": ("point_a", "point_b"),
    "axis_aligned_bounding_box": ("point_a", "point_b"),
    "ellipsoid": ("center", "radii"),
    POLYLINE: (),
}
"""Names of the vectors in each type of annotation, in byte order; a polyline has a count and points instead."""

_METRES = {"m": 1e9, "dm": 1e8, "cm": 1e7, "mm": 1e6, "um": 1e3, "µm": 1e3, "nm": 1.0, "pm": 1e-3}


def geometry_of(origin: Origin, base: int, place: Span | None, key: str | None, data: bytes) -> Geometry | None:
    """Return the geometry of an object; None if the info does not describe one.

    `place` is the span of its stored bytes; mesh fragments are before it, after `base`, the end of the shard index.
    """
    kind = origin.space.kind
    if kind is SpaceKind.MESH and place is not None:
        return mesh_layout(info_members(origin.text), data, place, base)
    if kind is SpaceKind.UNKNOWN and place is not None and data.startswith(DRACO):
        return _draco_value(data, place)
    if kind is SpaceKind.SKELETON:
        return skeleton(info_members(origin.text), data, place)
    if kind is SpaceKind.ANNOTATION_ID:
        return annotation(info_members(origin.text), data, int(key or 0), place)
    if kind in (SpaceKind.ANNOTATION_RELATION, SpaceKind.ANNOTATION_SPATIAL):
        return annotation_list(info_members(origin.text), data, place)
    return None


# --- meshes ---


def mesh_layout(info: Mapping[str, Any], data: bytes, place: Span, base: int) -> MeshLayout:
    manifest = read_manifest(data, place)
    stored = fragments_span(manifest, place.start, base)
    bits = info.get("vertex_quantization_bits", 16)
    if bits not in range(1, 33):
        raise FormatError(f"vertex_quantization_bits is {short(bits)}; valid: 1 to 32")
    scale = _number("lod_scale_multiplier", info.get("lod_scale_multiplier", 1.0))
    levels, first = [], stored.start
    parts = zip(manifest.lod_scales, manifest.vertex_offsets, manifest.positions, manifest.sizes, strict=True)
    with np.errstate(all="ignore"):
        for size, offset, positions, sizes in parts:
            starts = first + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            levels.append(MeshLevel(float(size) * scale, offset.astype(np.float64), positions.T, starts))
            first = int(starts[-1])
    return MeshLayout(
        chunk_shape=np.array(manifest.chunk_shape, np.float64),
        grid_origin=np.array(manifest.grid_origin, np.float64),
        levels=tuple(levels),
        bits=int(bits),
        transform=_transform(info),
        stored=Span(place.source, stored.start, stored.stop),
    )


def mesh_info_faults(info: Mapping[str, Any]) -> list[str]:
    """Return an error text for each member of a mesh info that Neuroglancer rejects."""
    bits, scale = info.get("vertex_quantization_bits"), info.get("lod_scale_multiplier")
    faults = [f"vertex_quantization_bits is {short(bits)}; valid: 10, 16"] if bits not in (10, 16) else []
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale < math.inf:
        faults.append(f"lod_scale_multiplier is {short(scale)}, not a positive number")
    return faults


def order_fault(positions: NDArray[np.uint32]) -> str:
    """Return an error text if the cells of a level of detail are not in Z-curve order or repeat, else ""."""
    width = int(positions.max(initial=1)).bit_length()
    if width > MOST_WIDTH:
        return ""
    codes = encode_many(positions.astype(np.uint64), (1 << width,) * 3)
    faults = ["are not in Z-curve order"] if (codes[1:] < codes[:-1]).any() else []
    if twice := len(codes) - len(np.unique(codes)):
        faults.append("one is repeated" if twice == 1 else f"{twice:,} are repeated")
    return ", ".join(faults)


def fragment_fault(fragment: Fragment, bits: int) -> str:
    """Return an error text if the vertices of a fragment are not numbers of `bits` bits, as readers expect; else ""."""
    most, low, high = 2**bits - 1, fragment.vertices.min(initial=0), fragment.vertices.max(initial=0)
    if fragment.quantised and fragment.quantised != (0, 0, 0, most, bits):
        *corner, extent, own = fragment.quantised
        found = f"{own:.0f} bits, range {extent:g} from {', '.join(f'{one:g}' for one in corner)}"
        return f"is quantised by Draco to {found}; readers expect {bits} bits, range {most} from 0, 0, 0"
    if not 0 <= low <= high <= most:
        return f"has vertices from {low:g} to {high:g}; readers expect {bits} bits, numbers from 0 to {most:,}"
    return ""


def _draco_value(data: bytes, place: Span) -> MeshLayout:
    level = MeshLevel(1.0, np.zeros(3), np.zeros((1, 3), np.uint32), np.array([0, len(data)]))
    if place.size == len(data):
        level = replace(level, starts=level.starts + place.start)
    else:
        place = Span(decoded_name(place.start, place.stop), 0, len(data))
    return MeshLayout(chunk_shape=np.full(3, np.nan), levels=(level,), bits=0, stored=place, unit="")


def _transform(info: Mapping[str, Any]) -> NDArray[np.float64]:
    numbers = info.get("transform", IDENTITY)
    if not isinstance(numbers, Sequence) or isinstance(numbers, str) or len(numbers) != 12:
        raise FormatError(f"transform is {short(numbers)}; 12 numbers are required")
    return np.array([_number("a number of transform", one) for one in numbers]).reshape(3, 4)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{name} is {short(value)}, not a number")
    try:
        return float(value)
    except OverflowError as error:
        raise FormatError(f"{name} is {short(value)}: too large") from error


# --- skeletons ---


def skeleton(info: Mapping[str, Any], data: bytes, place: Span | None = None) -> SkeletonGeometry:
    """Decode a skeleton ("Encoded skeleton file format")."""
    attributes = _attributes(info)
    if len(data) < 8:
        raise Truncated(f"the skeleton has {plural(len(data), 'byte')}; its two counts take 8", span=place)
    vertices, edges = (int(count) for count in np.frombuffer(data, "<u4", 2))
    starts = {"vertices": 8, "edges": 8 + VERTEX_SIZE * vertices}
    at = starts["edges"] + 8 * edges
    for name, dtype, components in attributes:
        starts[name] = at
        at += vertices * components * dtype.itemsize
    if at > len(data):
        counts = f"{plural(vertices, 'vertex', 'vertices')} and {plural(edges, 'edge')}"
        raise Truncated(f"the skeleton has {plural(len(data), 'byte')}; {counts} take {at:,}", span=place)
    pairs = np.frombuffer(data, "<u4", 2 * edges, starts["edges"]).reshape(-1, 2)
    if edges and int(pairs.max()) >= vertices:
        edge = int(np.argmax(pairs.max(axis=1) >= vertices))
        raise FormatError(f"edge {edge:,} refers to vertex {pairs[edge].max():,}; there are {vertices:,}", span=place)
    stored = np.frombuffer(data, "<f4", 3 * vertices, 8).reshape(-1, 3)
    with np.errstate(all="ignore"):
        placed = transformed(stored, _transform(info)).astype(np.float32)
    values = {}
    for name, dtype, components in attributes:
        column = np.frombuffer(data, dtype, vertices * components, starts[name])
        values[name] = column if components == 1 else column.reshape(-1, components)
    return SkeletonGeometry(vertices=placed, edges=pairs, attributes=values, starts=starts, trailing=len(data) - at)


def _attributes(info: Mapping[str, Any]) -> list[tuple[str, np.dtype[Any], int]]:
    found: list[tuple[str, np.dtype[Any], int]] = []
    for one in _members("vertex_attributes", info.get("vertex_attributes", [])):
        dtype, components = str(one.get("data_type")), one.get("num_components", 1)
        if dtype not in NUMBER_TYPES or type(components) is not int or not 1 <= components <= MOST_COMPONENTS:
            name = short(one.get("id"))
            valid = f"valid: {', '.join(NUMBER_TYPES)}, 1 to {MOST_COMPONENTS} components"
            raise FormatError(f"vertex attribute {name}: {short(components)} components of {short(dtype)} ({valid})")
        name = _unique(str(one.get("id")), [name for name, _, _ in found] + ["vertices", "edges"])
        found.append((name, np.dtype(NUMBER_TYPES[dtype]), components))
    return found


def _members(name: str, value: object) -> list[Mapping[str, Any]]:
    fine = isinstance(value, list) and len(value) <= MOST_ATTRIBUTES
    if not isinstance(value, list) or not fine or not all(isinstance(one, Mapping) for one in value):
        raise FormatError(f"{name} is {short(value)}: not a list of at most {MOST_ATTRIBUTES} objects")
    return value


def _unique(name: str, before: Sequence[str]) -> str:
    name = name[:100] or "unnamed"
    found, number = name, 2
    while found in before:
        found, number = f"{name} {number}", number + 1
    return found


# --- annotations ---


def annotation(info: Mapping[str, Any], data: bytes, key: int, place: Span | None = None) -> AnnotationsGeometry:
    """Decode one annotation of the id index: its values, then the ids of related objects.

    Raises:
        FormatError: The size does not match the counts, or the info is invalid.
        Unsupported: The `annotation_type` is unknown.
    """
    head, dtype = _annotation_head(info)
    rows, at = _rows(head, dtype, data, 0, 1, place)
    related: dict[str, NDArray[np.uint64]] = {}
    for one in _members("relationships", info.get("relationships", [])):
        count = int.from_bytes(data[at : at + 4], "little")
        if at + 4 + 8 * count > len(data):
            raise Truncated(f"{count:,} related objects do not fit in {plural(len(data), 'byte')}", span=place)
        name = _unique(str(one.get("id")), list(related))
        related[name] = np.frombuffer(data, "<u8", count, at + 4)
        at += 4 + 8 * count
    if at != len(data):
        raise FormatError(f"the annotation has {plural(len(data), 'byte')}; its parts take {at:,}", span=place)
    return AnnotationsGeometry(**rows, ids=np.array([key], np.uint64), related=related, **head)


def annotation_list(info: Mapping[str, Any], data: bytes, place: Span | None = None) -> AnnotationsGeometry:
    """Decode a list of annotations: count (uint64), annotations, then ids; raises like `annotation`."""
    head, dtype = _annotation_head(info)
    if len(data) < 8:
        raise Truncated(f"the list has {plural(len(data), 'byte')}; its count takes 8", span=place)
    count = int.from_bytes(data[:8], "little")
    rows, ids_start = _rows(head, dtype, data, 8, count, place)
    needed = ids_start + 8 * count
    if needed != len(data):
        kind = Truncated if len(data) < needed else FormatError
        raise kind(f"the list has {plural(len(data), 'byte')}; {count:,} annotations take {needed:,}", span=place)
    ids = np.frombuffer(data, "<u8", count, ids_start)
    return AnnotationsGeometry(**rows, ids=ids, start=8, ids_start=ids_start, **head)


def _rows(
    head: Mapping[str, Any], dtype: np.dtype[Any], data: bytes, start: int, count: int, place: Span | None
) -> tuple[dict[str, Any], int]:
    lines, axes, size = head["shape"] == POLYLINE, len(head["axes"]), dtype.itemsize
    edges, firsts = array("q", [start]), array("q", [0])
    points, values = bytearray(), bytearray()
    while lines and len(firsts) <= count and edges[-1] + 4 <= len(data):
        at, number = edges[-1] + 4, int.from_bytes(data[edges[-1] : edges[-1] + 4], "little")
        stop = at + 4 * axes * number
        points += data[at:stop]
        values += data[stop : stop + size]
        firsts.append(firsts[-1] + number)
        edges.append(stop + size)
    stop = edges[-1] + (count + 1 - len(firsts)) * max(size, 4)
    if stop > len(data):
        text = f"{plural(count, 'annotation takes', 'annotations take')} at least {stop - start:,} bytes"
        raise Truncated(f"{text}; only {len(data) - start:,} are left", span=place)
    if not lines:
        return {"rows": np.frombuffer(data, dtype, count, start)}, stop
    return {
        "rows": np.frombuffer(values, dtype) if values else np.zeros(count, dtype),
        "vertices": np.frombuffer(points, "<f4").reshape(-1, axes),
        "first_vertices": np.array(firsts, np.int64),
        "edges": np.array(edges, np.int64),
    }, stop


def _annotation_head(info: Mapping[str, Any]) -> tuple[dict[str, Any], np.dtype[Any]]:
    shape = str(info.get("annotation_type", "")).lower()
    if shape not in POINTS:
        raise Unsupported(f"annotation_type {short(info.get('annotation_type'))} is not supported")
    dimensions = info.get("dimensions")
    if not isinstance(dimensions, Mapping) or not 1 <= len(dimensions) <= MOST_AXES:
        raise FormatError(f"dimensions is {short(dimensions)}: not an object of 1 to {MOST_AXES} axes")
    scales, units = [], set()
    for name, one in dimensions.items():
        if not isinstance(one, list) or len(one) != 2:
            raise FormatError(f"dimension {short(name)} is {short(one)}; a scale and a unit are required")
        scales.append(_number("a scale", one[0]) * _METRES.get(str(one[1]), 1.0))
        units.add("nm" if str(one[1]) in _METRES else str(one[1]))
    names = POINTS[shape]
    stored, labels = _properties(info, names or ("points",))
    dtype = _padded([*((name, "<f4", (len(dimensions),)) for name in names), *stored])
    unit = units.pop() if len(units) == 1 else ""
    axes = tuple(map(str, dimensions))
    return {"shape": shape, "axes": axes, "scales": tuple(scales), "labels": labels, "unit": unit}, dtype


def _properties(
    info: Mapping[str, Any], before: Sequence[str]
) -> tuple[list[tuple[Any, ...]], dict[str, dict[float, str]]]:
    """Return the properties as dtype fields (largest types first, as in the format), and the labels of enum values."""
    found: list[tuple[Any, ...]] = []
    labels: dict[str, dict[float, str]] = {}
    for one in _members("properties", info.get("properties", [])):
        kind = str(one.get("type"))
        name = _unique(str(one.get("id")), [*before, *(field[0] for field in found)])
        if kind in COLOURS:
            found.append((name, "|u1", (COLOURS[kind],)))
        elif kind in NUMBER_TYPES:
            found.append((name, NUMBER_TYPES[kind]))
        else:
            raise FormatError(f"property {short(name)} has the unknown type {short(kind)}")
        values, texts = one.get("enum_values"), one.get("enum_labels")
        if isinstance(values, list) and isinstance(texts, list) and len(values) == len(texts):
            pairs = zip(values, texts, strict=True)
            labels[name] = {_number("an enum value", value): str(text) for value, text in pairs}
    return sorted(found, key=lambda one: -np.dtype(one[1]).itemsize), labels


def _padded(members: list[Any]) -> np.dtype[Any]:
    packed: np.dtype[Any] = np.dtype(members)
    fields: Mapping[str, Any] = packed.fields or {}
    names = packed.names or ()
    described: Any = {
        "names": list(names),
        "formats": [fields[name][0] for name in names],
        "offsets": [fields[name][1] for name in names],
        "itemsize": packed.itemsize + -packed.itemsize % 4,
    }
    padded: np.dtype[Any] = np.dtype(described)
    return padded
