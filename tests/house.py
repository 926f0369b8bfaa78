"""Figures of the house: `python -m tests.house [FOLDER]` prints files, lines, public names and import circles by room.

Imports for the type checker and inside functions count as imports.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOTS = {"shardcore": "shardcore", "shardscope": "app/shardscope"}


def modules(root: Path) -> dict[str, Path]:
    """All modules of the house, by name."""
    found: dict[str, Path] = {}
    for package, folder in ROOTS.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


def imports(tree: ast.AST, known: Iterable[str]) -> Iterator[str]:
    """The modules of the house that a module imports."""
    names = set(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in names or node.module in names:
                    yield inner if inner in names else node.module


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or around corners."""
    reach = {name: set(targets) for name, targets in graph.items()}
    for middle in graph:
        for targets in reach.values():
            if middle in targets:
                targets |= reach[middle]
    groups: list[list[str]] = []
    for name in graph:
        if name in reach[name] and not any(name in group for group in groups):
            groups.append(sorted(other for other in reach[name] if name in reach.get(other, ())))
    return groups


def room_of(name: str) -> str:
    """The room of a module: a format, a folder, or the ground floor of a package."""
    parts = name.split(".")
    return ".".join(parts[: 3 if parts[1:2] == ["formats"] else 2]) if len(parts) > 2 else parts[0]


def main(root: Path) -> None:
    """Prints the figures."""
    found = modules(root)
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in found.items()}
    graph = {name: set(imports(tree, found)) - {name} for name, tree in trees.items()}
    files, lines, names = Counter[str](), Counter[str](), Counter[str]()
    for name, path in found.items():
        room = room_of(name)
        files[room] += 1
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
        defined = (n for n in trees[name].body if isinstance(n, (ast.ClassDef, ast.FunctionDef)))
        names[room] += sum(not one.name.startswith("_") for one in defined)
    for room in sorted(files):
        print(f"{room:<34} {files[room]:>4} files {lines[room]:>6} lines {names[room]:>5} public names")
    print(f"{'all':<34} {files.total():>4} files {lines.total():>6} lines {names.total():>5} public names")
    for group in circles(graph):
        print(f"circle of {len(group)}: {', '.join(group)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
