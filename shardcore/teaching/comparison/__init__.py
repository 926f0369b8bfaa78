"""Comparison of formats: size of the same objects in each, and the cost of one lookup."""

from shardcore.teaching.comparison.comparison import Comparison, about_text, compare, compared_formats, left_out
from shardcore.teaching.comparison.contents import (
    BUILT_IN,
    MOST_BYTES,
    MOST_OBJECTS,
    ComparedContents,
    ComparedObject,
    files_of,
)
from shardcore.teaching.comparison.costs import ACTIONS
from shardcore.teaching.comparison.measure import (
    blank,
    looked_up,
    measured,
    uncompressed,
    with_costs,
)
from shardcore.teaching.comparison.packed import PackedFormat
from shardcore.teaching.comparison.row import ActionCost, FormatRow, How, Lookup, SectionShare
from shardcore.teaching.comparison.tables import COLUMNS, to_csv, to_json

__all__ = [
    "ACTIONS",
    "BUILT_IN",
    "COLUMNS",
    "MOST_BYTES",
    "MOST_OBJECTS",
    "ActionCost",
    "ComparedContents",
    "ComparedObject",
    "Comparison",
    "FormatRow",
    "How",
    "Lookup",
    "PackedFormat",
    "SectionShare",
    "about_text",
    "blank",
    "compare",
    "compared_formats",
    "files_of",
    "left_out",
    "looked_up",
    "measured",
    "to_csv",
    "to_json",
    "uncompressed",
    "with_costs",
]
