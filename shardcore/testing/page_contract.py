"""Contract tests for the pages under `docs/formats`, whose tables are generated from the layouts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from shardcore.model.record import Columns, Record, differences_table, layout_table

_DIFFERENCES = re.compile(r"(<!-- differences -->\n).*?(<!-- end of differences -->)", re.DOTALL)
_TABLE = re.compile(r"(<!-- layout: (?P<name>[^>]+?) -->\n).*?(<!-- end of layout -->)", re.DOTALL)


def filled(page: str, layouts: Mapping[str, Record | Columns]) -> str:
    """Return a page, with the tables of its layouts between `<!-- layout: NAME -->` and `<!-- end of layout -->`.

    Between `<!-- differences -->` and `<!-- end of differences -->` it lists fields where specification and practice
    differ.

    Raises:
        KeyError: The page names a layout that does not exist.
    """
    page = _DIFFERENCES.sub(lambda found: f"{found[1]}{differences_table(layouts)}\n{found[2]}", page)
    return _TABLE.sub(lambda found: f"{found[1]}{layout_table(layouts[found['name']])}\n{found[3]}", page)


class PageContract:
    """Contract tests for a page; derive from it, and define page and layouts.

    With `UPDATE_PAGES=1` in the environment, the tables are rewritten instead of compared.

    Attributes:
        page: The page.
        layouts: Layouts of the format, by the names on the page.
    """

    page: ClassVar[Path]
    layouts: ClassVar[Mapping[str, Record | Columns]]

    def test_tables_are_those_of_the_layouts(self) -> None:
        text = self.page.read_text(encoding="utf-8")
        wanted = filled(text, self.layouts)
        if os.environ.get("UPDATE_PAGES") == "1":
            self.page.write_text(wanted, encoding="utf-8")
        else:
            assert text == wanted, "run the tests once with UPDATE_PAGES=1, and read the difference"

    def test_differences_are_listed(self) -> None:
        some = any(field.differs is not None for layout in self.layouts.values() for field in layout.fields)
        assert bool(_DIFFERENCES.search(self.page.read_text(encoding="utf-8"))) == some

    def test_every_layout_has_its_table(self) -> None:
        named = {found["name"] for found in _TABLE.finditer(self.page.read_text(encoding="utf-8"))}
        assert named == set(self.layouts)
