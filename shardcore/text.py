"""Text that came out of a file, made fit to be shown: a key, a name or a member of JSON may hold anything."""

from __future__ import annotations

SHOWN = 80
"""Letters of a value that a sentence quotes."""


def visible(text: str, keep: str = "") -> str:
    """Text without anything that would act instead of being seen; what would is shown as an escape.

    Control characters and escape sequences move the cursor, marks of direction turn the text around them
    (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), and lone surrogates cannot be written at all.

    Args:
        text: Any text.
        keep: Characters that stay as they are: line ends, where the place that shows the text has lines.
    """
    if text.isprintable():
        return text
    return text.translate(_Escapes(keep))


class _Escapes(dict[int, str]):
    """How each letter is shown, made when it is met first: keys of a thousand letters are no rarity."""

    def __init__(self, keep: str) -> None:
        super().__init__()
        self._keep = keep

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        fit = letter.isprintable() or letter in self._keep
        shown = letter if fit else letter.encode("unicode_escape").decode("ascii")
        self[code] = shown
        return shown


def short(value: object, most: int = SHOWN) -> str:
    """A value as a sentence quotes it: its `repr`, cut where it becomes long.

    Args:
        value: A value that JSON text can hold, or any text.
        most: Letters that are kept.
    """
    # Most of a value is never written out: a list of a million numbers would be, for its first eighty letters.
    if isinstance(value, (str, bytes)) and len(value) > most:
        return f"{value[:most]!r}…"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * most:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(short(item, most) for item in value[:most])
        text = f"[{inner}{'' if len(value) <= most else ', …'}]"
    elif isinstance(value, dict):
        items = [pair for pair, _ in zip(value.items(), range(most), strict=False)]
        inner = ", ".join(f"{short(name, most)}: {short(item, most)}" for name, item in items)
        text = f"{{{inner}{'' if len(value) <= most else ', …'}}}"
    else:
        text = repr(value)
    return text if len(text) <= most else text[:most] + "…"
