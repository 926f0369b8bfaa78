"""The same objects in every format: what each makes of them, and what it costs to find one again."""

from shardcore.comparing.comparison import Comparison, compare, compared_formats
from shardcore.comparing.contents import BUILT_IN, MOST_BYTES, Contents, Thing, files_of
from shardcore.comparing.drawing import to_svg
from shardcore.comparing.row import Cost, How, Lookup, Piece, Row
from shardcore.comparing.shaped import measured, sketched
from shardcore.comparing.tables import COLUMNS, to_csv, to_json

__all__ = [
    "BUILT_IN",
    "COLUMNS",
    "MOST_BYTES",
    "Comparison",
    "Contents",
    "Cost",
    "How",
    "Lookup",
    "Piece",
    "Row",
    "Thing",
    "compare",
    "compared_formats",
    "files_of",
    "measured",
    "sketched",
    "to_csv",
    "to_json",
    "to_svg",
]
