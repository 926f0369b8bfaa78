"""Size of the program: `python -m tests.house [FOLDER]` prints the size per room (package) and repeated class names.

`python -m tests.house --lower` lowers the limits in `tests/test_house.py` for rooms that became smaller.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOPS = ("shardcore", "app", "tests")
COLUMNS = ("files", "code", "statements", "docs")


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _statements(child)


def measure(text: str) -> Counter[str]:
    """Return the numbers of code lines, statements and docstring lines; any string statement counts as a docstring."""
    lines, tree = text.split("\n"), ast.parse(text)
    docs, texts, statements = set[int](), set[int](), 0
    for node in _statements(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            docs.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
        else:
            statements += 1
    # Walking the expressions takes most of the time.
    if any('"""' in line and n not in docs for n, line in enumerate(lines, 1)):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and '"""' in lines[node.lineno - 1]:
                texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code = {n for n, line in enumerate(lines, 1) if n in texts or (line.strip() and line.lstrip()[0] != "#")}
    return Counter(files=1, code=len(code - docs), statements=statements, docs=len(docs))


def room_of(path: Path) -> str:
    """Return the room of a module: the package of a format, a folder of the library or the window, or `tests`."""
    parts = path.parts[:-1]
    if parts[0] == "tests":
        return "tests"
    return "/".join(parts[: 3 if parts[0] == "app" or parts[1:2] == ("formats",) else 2])


def rooms(root: Path) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for top in TOPS:
        for path in sorted((root / top).rglob("*.py")):
            room = found.setdefault(room_of(path.relative_to(root)), Counter())
            room += measure(path.read_text(encoding="utf-8"))
    return found


def lower(root: Path) -> None:
    """Lower the limits in the table to the present sizes; no limit is raised."""
    table = root / "tests/test_house.py"
    text = table.read_text(encoding="utf-8")
    for room, counts in rooms(root).items():
        row = re.compile(rf'^(    "{re.escape(room)}": )\(([\d_, ]+)\)', re.MULTILINE)
        if old := row.search(text):
            least = map(min, map(int, old[2].split(", ")), (counts[name] for name in COLUMNS))
            text = row.sub(lambda match, least=least: f"{match[1]}({', '.join(f'{n:_}' for n in least)})", text)
    table.write_text(text, encoding="utf-8")


def main(root: Path) -> None:
    sizes = rooms(root)
    sizes["all but tests"] = sum((counts for room, counts in sizes.items() if room != "tests"), Counter())
    print(f"{'room':<34}" + "".join(f"{name:>12}" for name in COLUMNS))
    for room, counts in sizes.items():
        print(f"{room:<34}" + "".join(f"{counts[name]:>12,}" for name in COLUMNS))
    paths = (path for top in TOPS[:2] for path in (root / top).rglob("*.py"))
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    print("class names used twice:", ", ".join(sorted(n for n, k in classes.items() if k > 1 and n[0] != "_")))


if __name__ == "__main__":
    if "--lower" in sys.argv:
        lower(ROOT)
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
