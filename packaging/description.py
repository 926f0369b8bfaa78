"""The description of the package: the README without pictures and links that lead into the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Description(MetadataHookInterface):
    """Hook of hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the description."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = re.sub(r"^(?:<picture>|!\[).*\n\n?", "", text, flags=re.MULTILINE)
        text = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
