"""Setting up a client: what it reads from the environment, and how it reports faults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hostile import AGENT, API_KEY, hostile, send_json

from tallystick import AsyncTallystick, ConnectionError, Tallystick, TallystickOperator, UsageError

SOURCES = Path(__file__).parents[2] / 'src'
PROGRAM = """
import asyncio
from tallystick import AsyncTallystick, Tallystick

with Tallystick() as tallystick:
    tallystick.agents.register(name='a')
    tallystick.notarizer().close()

async def main():
    async with AsyncTallystick() as tallystick:
        await tallystick.agents.register(name='a')

asyncio.run(main())
"""


@pytest.mark.parametrize(
    'variables',
    [
        {'ALL_PROXY': 'socks5://127.0.0.1:1', 'SSL_CERT_FILE': '/nonexistent'},
        {'HTTP_PROXY': 'ftp://127.0.0.1:1', 'SSL_CERT_DIR': '/nonexistent', 'NO_PROXY': '[', 'SSLKEYLOGFILE': '/nonexistent/keys'},
        {'http_proxy': 'http://127.0.0.1:1', 'https_proxy': 'http://127.0.0.1:1'},
    ],
)
def test_neither_proxies_nor_authorities_nor_netrc_are_read_from_the_environment(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / '.netrc').write_text('default login other password secret\n')
    netrc = {'HOME': str(tmp_path), 'NETRC': str(tmp_path / '.netrc')}
    with hostile(lambda connection, *_: send_json(connection, AGENT, 201)) as server:
        own = {'TALLYSTICK_URL': f' {server.base_url}\n', 'TALLYSTICK_API_KEY': f'\ufeff{API_KEY}\r\n'}
        env = {**os.environ, 'PYTHONPATH': str(SOURCES), **own, **netrc, **variables}
        done = subprocess.run([sys.executable, '-c', PROGRAM], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
    assert [request.headers['authorization'] for request in server.requests] == [f'Bearer {API_KEY}'] * 2


@pytest.mark.parametrize('white', ['{}\n', '{}\r\n', ' {}', '\t{} ', '\ufeff{}', '{}\u00a0'])
def test_white_space_around_a_key_is_left_out(white: str) -> None:
    keys = [white.format(API_KEY), lambda: white.format(API_KEY)]
    with hostile(lambda connection, *_: send_json(connection, AGENT)) as server:
        for key in keys:
            with Tallystick(base_url=server.base_url, api_key=key) as client:
                client.agents.register(name='a')
    assert {request.headers['authorization'] for request in server.requests} == {f'Bearer {API_KEY}'}


@pytest.mark.parametrize('key', ['tly_one tly_two', 'tly_one\ntly_two', 'tly_oné', 'tly_one\x00'])
def test_a_key_that_cannot_be_sent_is_told_where_and_is_not_shown(key: str) -> None:
    for make in (lambda: Tallystick(api_key=key), lambda: TallystickOperator(operator_key=key)):
        with pytest.raises(UsageError, match=r'after its first [67] characters') as caught:
            make()
        assert 'tly' not in str(caught.value)
    with pytest.raises(UsageError, match='no API key'):
        Tallystick(api_key=' \n')


@pytest.mark.parametrize(
    ('make', 'says'),
    [
        (lambda: Tallystick(api_key='k', http_client=httpx2.AsyncClient()), r'httpx2\.Client, not a AsyncClient'),
        (lambda: AsyncTallystick(api_key='k', http_client=httpx2.Client()), r'httpx2\.AsyncClient, not a Client'),
        *[
            (lambda url=url: Tallystick(api_key='k', base_url=url), 'is not a URL')
            for url in ('http://[::1', 'http://a:b', 'http://exa mple')
        ],
    ],
)
def test_a_wrong_set_up_is_a_usage_error_when_the_client_is_made(make: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make()


def test_a_proxy_that_refuses_the_tunnel_was_given_no_request() -> None:
    def refuse(connection: Any, _number: int, _request: Any) -> None:
        connection.sendall(b'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')

    with hostile(refuse) as proxy, httpx2.Client(proxy=proxy.base_url, trust_env=False) as http_client:
        client = Tallystick(base_url='https://ledger.example', api_key=API_KEY, http_client=http_client, max_retries=0)
        with pytest.raises(ConnectionError, match=r'no connection .*407 Proxy Authentication Required') as caught:
            client.agents.register(name='a')
    assert caught.value.nothing_done and caught.value.idempotency_key is None
    assert [request.method for request in proxy.requests] == ['CONNECT']
