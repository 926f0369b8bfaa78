"""Text and attributes of SVG.

The standard library has both beside its readers of XML, which bring in a client for HTTP: a tenth of a second before
the window is seen.
"""

from __future__ import annotations

from html import escape


def escaped(text: str) -> str:
    """Text between two tags."""
    return escape(text, quote=False)


def quoted(text: str) -> str:
    """The value of an attribute, in its quotation marks."""
    return '"' + escaped(text).replace('"', "&quot;") + '"'
