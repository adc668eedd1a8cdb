"""Makes src/tallystick/_sync from _async, and models from the server's schemas.

    python tools/generate.py SCHEMAS [--check]

SCHEMAS: the file that test/system/python/schemas.ts writes. With --check, writes nothing and fails if a file differs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent.parent / 'src' / 'tallystick'
BIN: Final = Path(sys.executable).parent
MADE_BY: Final = '# Made by `npm run python -- generate`; not to be edited.\n'
WRITTEN_TWICE: Final = 'io.py'
"""The module that both kinds of client have in their own version."""
CODEGEN: Final = [
    *['--input-file-type', 'openapi', '--target-python-version', '3.11', '--disable-timestamp', '--formatters', 'builtin'],
    *['--enum-field-as-literal', 'all', '--use-annotated', '--use-schema-description', '--use-field-description'],
    '--use-title-as-name',
]
MODELS: Final = [
    *['--output-model-type', 'pydantic_v2.BaseModel', '--base-class', 'tallystick._core.model.Model'],
    *['--snake-case-field', '--collapse-root-models'],
]
PARAMS: Final = ['--output-model-type', 'typing.TypedDict']


def main(schemas: Path, is_check: bool) -> int:
    made: dict[Path, str] = {}
    texts = read_async()
    for name, text in texts.items():
        made[PACKAGE / '_sync' / name] = synchronous(text)
    said = json.loads(schemas.read_text())
    made[PACKAGE / 'types' / '_models.py'] = models(said['answers'], MODELS)
    made[PACKAGE / 'types' / '_params.py'] = typed_dicts(models(said['values'], PARAMS))
    return settle({path: MADE_BY + text for path, text in made.items()}, is_check)


def read_async() -> dict[str, str]:
    root = PACKAGE / '_async'
    paths = [path for path in sorted(root.rglob('*.py')) if path.name != WRITTEN_TWICE]
    return {str(path.relative_to(root)): path.read_text() for path in paths}


def synchronous(text: str) -> str:
    """Returns the text without async and await."""
    for kind in ('Coroutine', 'Awaitable'):
        text = re.sub(rf'\b{kind}, |, {kind}\b(?!\[)', '', text)
        text = unwrapped(text, f'{kind}[')
    for old, new in REPLACED.items():
        text = re.sub(old, new, text)
    return text


REPLACED: Final = {
    r'\basync (def|with|for)\b': r'\1',
    r'\bawait ': '',
    r'\bAsync([A-Z]\w*)': r'\1',
    r'__a(enter|exit|iter|next)__': r'__\1__',
    r'\baclosing\b': 'closing',
    r'(?<=\bGenerator\[)(\w+)(?=\])': r'\1, None, None',
    'StopAsyncIteration': 'StopIteration',
    r'\ba(close|iter_bytes|next)\b': r'\1',
    '_async': '_sync',
}


def unwrapped(text: str, opening: str) -> str:
    """Replaces a generic type by its last argument: `Coroutine[Any, Any, T]` becomes `T`."""
    while (start := text.find(opening)) >= 0:
        depth, last = 1, start + len(opening)
        end = last
        while depth > 0:
            depth += {'[': 1, ']': -1}.get(text[end], 0)
            if depth == 1 and text[end] == ',':
                last = end + 1
            end += 1
        text = text[:start] + text[last : end - 1].strip() + text[end:]
    return text


def models(schema: object, options: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, 'schema.json'), Path(folder, 'out.py')
        given.write_text(json.dumps(schema))
        command: list[str | Path] = [BIN / 'datamodel-codegen', '--input', given, '--output', out, *CODEGEN, *options]
        subprocess.run(command, check=True)
        text = re.sub(r'\A(#.*\n)+', '', out.read_text())
    names = sorted(re.findall(r'^class (\w+)\b|^(\w+): TypeAlias', text, re.MULTILINE))
    return text + '\n__all__ = ' + repr([one or other for one, other in names])


def typed_dicts(text: str) -> str:
    """Replaces the TypedDict of typing_extensions by that of the standard library, which does not
    support `closed`.
    """
    return text.replace(', closed=True', '').replace('from typing_extensions import', 'from typing import')


def settle(made: dict[Path, str], is_check: bool) -> int:
    """Writes the formatted files, or compares them."""
    status = 0
    for path, text in made.items():
        formatted = ruff(path, text)
        if not is_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(formatted)
        elif not path.exists() or path.read_text() != formatted:
            print(f'{path.relative_to(PACKAGE)} is not what it is made of: run `npm run python -- generate`', file=sys.stderr)
            status = 1
    return status


def ruff(path: Path, text: str) -> str:
    """Sorts imports and formats."""
    for arguments in (['check', '--select', 'I,F401,RUF022', '--fix', '--quiet'], ['format']):
        command: list[str | Path] = [BIN / 'ruff', *arguments, '--stdin-filename', path, '-']
        ran = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, cwd=PACKAGE.parent.parent)
        if not ran.stdout:
            sys.exit(f'{path} is no Python')
        text = ran.stdout
    return text


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1]), '--check' in sys.argv))
