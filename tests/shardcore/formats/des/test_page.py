"""The page of the format says what the code does."""

from pathlib import Path
from typing import ClassVar

from shardcore.formats.des.layout import LAYOUTS
from shardcore.testing import PageContract


class TestDesPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "des.md"
    layouts: ClassVar = {layout.name: layout for layout in LAYOUTS}

    def test_the_worked_example_is_the_sample(self) -> None:
        sample = (Path(__file__).parents[3] / "data" / "des" / "tiny.des").read_bytes()
        lines = self.page.read_text(encoding="utf-8").split("## 7. Worked example")[1].splitlines()
        for line in lines:
            place, _, rest = line.partition(" ")
            if len(place) == 2 and place.isalnum():
                stated = rest.split("  ")[0]
                at = int(place, 16)
                for part in stated.replace("|", " ").split():
                    width = 8 if part.endswith("..") else len(part) // 2
                    assert sample[at : at + width] == bytes.fromhex(part.rstrip(".")).ljust(width, b"\0")
                    at += width
