"""No module of the package imports itself through other modules, not even for a type."""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path

import tallystick

PACKAGE = Path(tallystick.__file__).parent


def test_no_module_imports_itself_through_others() -> None:
    paths = modules()
    imports = {name: imports_of(name, path, paths.keys()) for name, path in paths.items()}
    assert {name for name in imports if name in reached(name, imports)} == set()


def modules() -> dict[str, Path]:
    named = {}
    for path in PACKAGE.rglob('*.py'):
        parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
        named['.'.join(parts[:-1] if parts[-1] == '__init__' else parts)] = path
    return named


def imports_of(name: str, path: Path, known: Collection[str]) -> set[str]:
    package = name.split('.') if path.name == '__init__.py' else name.split('.')[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            base = '.'.join([*package[: len(package) - node.level + 1], *(node.module or '').split('.')]).strip('.')
            inner = {f'{base}.{alias.name}' for alias in node.names}
            found |= inner.intersection(known) or {base}
    return found - {name}


def reached(name: str, imports: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(imports[name])
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += imports.get(each, ())
    return seen
