"""Every route has a method, in both flavours, or a reason for having none."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tallystick
from tallystick import AsyncTallystick, Tallystick
from tallystick._async import raw as async_raw
from tallystick._core import operations
from tallystick._core.operations import Operation
from tallystick._sync import raw as sync_raw

SPOKEN_BY_OTHERS = {
    'POST_TRACES': 'exporters of OpenTelemetry',
    'POST_LOGS': 'exporters of OpenTelemetry',
    'GET_ENTRIES_BY_ID': 'clients of SCRAPI; here `statements.receipt`',
    'GET_WELL_KNOWN_SCITT_KEYS': 'clients of SCRAPI; here `ledger.get().note_verifier_key`',
    'GET_WELL_KNOWN_SCITT_KEYS_BY_KID': 'clients of SCRAPI',
    'GET_TLOG_BY_LEDGER_CHECKPOINT': 'clients of C2SP tiled logs; here `checkpoints.latest`',
    'GET_TLOG_BY_LEDGER_TILE_BY_PATH': 'clients of C2SP tiled logs; here `entries.stream`',
    'GET_PREDICATES_BY_KIND_V1': 'readers of JSON Schema, without a client',
    'GET_OPENAPI_JSON': 'tools that read OpenAPI',
    'GET_ROOT': 'browsers',
    'GET_DOCS': 'browsers',
    'GET_DOCS_BASE_JS': 'browsers',
    'GET_DOCS_SCALAR_JS': 'browsers',
}
PACKAGE = Path(tallystick.__file__).parent


@pytest.mark.parametrize('flavour', ['_async', '_sync'])
def test_every_route_has_a_method(flavour: str) -> None:
    used = set()
    for path in [*(PACKAGE / flavour / 'resources').glob('*.py'), PACKAGE / flavour / 'client.py']:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == 'ops':
                used.add(node.attr)
    routes = {name for name, value in vars(operations).items() if isinstance(value, Operation)}
    assert len(routes) > 90
    assert routes - used == set(SPOKEN_BY_OTHERS)
    assert used <= routes


@pytest.mark.parametrize('flavour', ['_async', '_sync'])
def test_every_method_names_its_route_and_the_route_is_there(flavour: str) -> None:
    known = {f'{value.method} {value.path}' for value in vars(operations).values() if isinstance(value, Operation)}
    named = set()
    for path in (PACKAGE / flavour / 'resources').glob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith('_'):
                said = ast.get_docstring(node) or ''
                named |= {word for word in said.split('`') if word.split(' ')[0] in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')}
    assert len(named) > 80
    assert named <= known


@pytest.mark.parametrize(('client', 'raw'), [(Tallystick, sync_raw), (AsyncTallystick, async_raw)])
def test_methods_have_the_names_of_both_flavours_and_a_raw_twin(client: type, raw: ModuleType) -> None:
    made = client(api_key='tly_x')
    plain = made.with_raw_response
    for name, resource in vars(made).items():
        if name.startswith('_') or name in ('exports', 'subjects', 'bundles'):
            continue
        twin = getattr(plain, name)
        methods = {each for each, _ in inspect.getmembers(resource, inspect.ismethod) if not each.startswith('_')}
        streams = {'list', 'stream', 'tail', 'entries', 'deliveries', 'list_signing_keys', 'records', 'dead_letters', 'forks'}
        assert set(vars(twin)) == methods - streams, name


@pytest.mark.parametrize('module', ['tallystick', 'tallystick.errors', 'tallystick.verify', 'tallystick.verify.cli'])
def test_neither_the_package_nor_the_verifier_imports_http_or_models(module: str) -> None:
    program = f'import sys, {module}; print(*sys.modules)'
    ran = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    loaded = set(ran.stdout.split())
    assert module in loaded and not loaded & {'httpx2', 'pydantic', 'anyio', 'asyncio'}


def test_every_name_that_type_checkers_see_is_there() -> None:
    tree = ast.parse((PACKAGE / '__init__.py').read_text())
    names = [alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname]
    assert len(names) > 20
    for name in names:
        assert getattr(tallystick, name).__name__ == name
    with pytest.raises(AttributeError):
        tallystick.Nothing  # noqa: B018
