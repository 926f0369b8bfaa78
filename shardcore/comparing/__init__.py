"""The same objects in every format: what each makes of them, and what it costs to find one again."""

from shardcore.comparing.comparison import Comparison, about_text, compare, compared_formats, left_out
from shardcore.comparing.contents import BUILT_IN, MOST_BYTES, MOST_OBJECTS, Contents, Object, files_of
from shardcore.comparing.costs import ACTIONS
from shardcore.comparing.drawing import to_svg
from shardcore.comparing.packed import Packed
from shardcore.comparing.row import Cost, How, Lookup, Piece, Row
from shardcore.comparing.shaped import (
    MORE,
    Points,
    blank,
    looked_up,
    measured,
    points_of,
    sketched,
    uncompressed,
    with_costs,
)
from shardcore.comparing.tables import COLUMNS, to_csv, to_json

__all__ = [
    "ACTIONS",
    "BUILT_IN",
    "COLUMNS",
    "MORE",
    "MOST_BYTES",
    "MOST_OBJECTS",
    "Comparison",
    "Contents",
    "Cost",
    "How",
    "Lookup",
    "Object",
    "Packed",
    "Piece",
    "Points",
    "Row",
    "about_text",
    "blank",
    "compare",
    "compared_formats",
    "files_of",
    "left_out",
    "looked_up",
    "measured",
    "points_of",
    "sketched",
    "to_csv",
    "to_json",
    "to_svg",
    "uncompressed",
    "with_costs",
]
