"""Every route has a method in both kinds of client, or a reason for having none."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tallystick
from tallystick import AsyncTallystick, Tallystick
from tallystick._core import operations
from tallystick._core.operations import Operation
from tallystick._sync.resources.webhooks import Webhooks
from tallystick.types import Webhook

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


def test_both_flavours_have_the_same_methods() -> None:
    flavours = [client(api_key='tly_x') for client in (Tallystick, AsyncTallystick)]
    plain, waiting = ({name: names_of(value) for name, value in vars(made).items() if not name.startswith('_')} for made in flavours)
    assert plain == waiting


def names_of(resource: object) -> set[str]:
    return {name for name, _ in inspect.getmembers(resource, callable) if not name.startswith('_')}


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


@pytest.mark.parametrize('method', ['create', 'update'])
def test_a_webhook_includes_each_of_the_servers_words(method: str) -> None:
    schema = json.dumps(Webhook.model_json_schema()['properties']['include'])
    words = {word for listed in re.findall(r'"enum": \[(.*?)\]', schema) for word in json.loads(f'[{listed}]')}
    annotation = inspect.signature(getattr(Webhooks, method)).parameters['include'].annotation
    assert len(words) > 1 and set(re.findall(r"'(\w+)'", annotation)) == words
