"""Hook of mkdocs: runs docs/notebook.ipynb and adds it to the site as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

NAME = "notebook"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    path = Path(config.docs_dir, f"{NAME}.ipynb")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}).execute()
    text = "\n\n".join(part for cell in notebook.cells for part in _parts(cell))
    files.append(File.generated(config, f"{NAME}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to the notebook lead to the page."""
    return markdown.replace(f"{NAME}.ipynb)", f"{NAME}.md)")


def _parts(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "text/html" in data:
            # Indented lines and blank lines would end a block of HTML.
            lines = (line.strip() for line in data["text/html"].splitlines())
            yield f'<div class="output">{" ".join(line for line in lines if line)}</div>'
        else:
            yield f"```text\n{data['text/plain'].rstrip()}\n```"
