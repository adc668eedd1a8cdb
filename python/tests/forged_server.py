"""A server that answers with a forged ledger: with rare data, and with data that no real server would
send.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from forge import ISSUER, Chain, Signer, compact, path_of, render_line, seconds_text

from tallystick.verify import formats as f
from tallystick.verify import merkle
from tallystick.verify.note import key_id

Alter = Callable[[str, Any], Any]


class ForgedServer:
    """Answers the requests that bundles need. `alter` is called with the path and an answer, or with
    the entries of a stream, and may change them.
    """

    def __init__(self, chain: Chain, alter: Alter = lambda _, answer: answer) -> None:
        self.chain = chain
        self.alter = alter
        self.asked = 0
        self.lines: list[dict[str, Any]] = []
        self.leaves: list[bytes] = []
        at = merkle.genesis(f.id_bytes(chain.led))
        for seq, line in enumerate(chain.lines):
            shown, leaf, at = render_line(line, seq, at)
            self.lines.append(shown)
            self.leaves.append(leaf)
        self.texts = [compact(line) + b'\n' for line in self.lines]
        self.checkpoint = chain.checkpoint(len(self.leaves), merkle.root_of(self.leaves), at)
        self.registered = {
            line.statement['predicate']['newKey']['kid']: seq
            for seq, line in enumerate(chain.lines)
            if line.statement is not None and self.lines[seq]['kind'] == 'agent-key-registered'
        }

    def answer(self, path: str, query: dict[str, str]) -> Any:
        self.asked += 1
        match path.split('/')[2:]:
            case ['entries', seq, 'proof']:
                return self.proof(int(seq))
            case ['agents', agent, 'signing-keys']:
                return page([self.signing_key(seq) for seq in self.registered.values() if self.said(seq)['agent'] == agent])
            case ['records', id]:
                return self.record(id)
            case ['records']:
                return page([])
        raise LookupError(path)

    def stream(self, path: str, query: dict[str, str]) -> Any:
        self.asked += 1
        start = int(query.get('after', -1)) + 1
        return self.alter(path, self.texts[start : start + int(query['limit'])])

    def said(self, seq: int) -> dict[str, Any]:
        statement = self.chain.lines[seq].statement
        assert statement is not None
        said: dict[str, Any] = statement['predicate']
        return said

    def proof(self, seq: int) -> dict[str, Any]:
        line, chain = self.chain.lines[seq], self.chain
        entry = {name: value for name, value in self.lines[seq].items() if name not in ('documents', 'items', 'signer')}
        registration = chain.lines[self.registered[line.signer.kid.hex()]] if line.by_agent else None
        vkey = f'{chain.origin}+{key_id(chain.origin, 1, chain.note.raw).hex()}+{f.to_base64(bytes([1]) + chain.note.raw)}'
        return {
            'ledger': {'id': chain.led, 'name': chain.name, 'issuer': ISSUER, 'origin': chain.origin, 'noteVerifierKey': vkey},
            'keys': [published((registration or line).signer)],
            **({} if registration is None else {'registration': f.to_base64(registration.envelope())}),
            'entry': entry,
            'index': seq,
            'treeSize': len(self.leaves),
            'path': [node.hex() for node, _ in path_of(self.leaves, seq)],
            'checkpoint': self.checkpoint,
        }

    def signing_key(self, seq: int) -> dict[str, Any]:
        said = self.said(seq)
        times = {'registeredAt': said['recordedAt'], 'revokedAt': None}
        return {**said['newKey'], 'required': said['required'], **times, 'seq': seq, 'revokedSeq': None}

    def record(self, id: str) -> dict[str, Any]:
        """Returns a record that was not notarized in a batch."""
        seq = next(seq for seq, line in enumerate(self.lines) if any(each['subject'] == id for each in line['documents']))
        line, said, document = self.lines[seq], self.said(seq), self.lines[seq]['documents'][0]
        none = dict.fromkeys(('onBehalfOf', 'parent', 'references', 'occurredAt', 'batch', 'metadata', 'erasure', 'gated'))
        return {
            'id': id,
            'ledger': self.chain.led,
            'type': 'generic/1',
            'state': 'RECORDED',
            'version': 1,
            'nextEvents': [],
            'payload': document['document'],
            'salt': document['salt'],
            'digest': document['digest'],
            **none,
            'actor': said['actor'],
            'key': said['key'],
            'recordedAt': line['recordedAt'],
            'entry': {name: line[name] for name in ('seq', 'kind', 'leaf', 'chain')} | {'signedBy': 'server'},
        }


def page(data: list[Any]) -> dict[str, Any]:
    return {'data': data, 'nextCursor': None}


def published(signer: Signer) -> dict[str, Any]:
    return {**signer.public(), 'use': 'envelope', 'activatedAt': seconds_text(0), 'retiredAt': None, 'compromisedAt': None}


@contextmanager
def serving(server: ForgedServer) -> Iterator[str]:
    """Yields the server's address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.send_response(200)
            if url.path == '/v1/entries':
                texts = server.stream(url.path, query)
                self.send_header('content-type', 'application/x-ndjson')
                self.send_header('content-length', str(sum(map(len, texts))))
                self.end_headers()
                for text in texts:
                    self.wfile.write(text)
                return
            content = json.dumps(server.alter(url.path, server.answer(url.path, query))).encode()
            self.send_header('content-type', 'application/json')
            self.send_header('content-length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    listener = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield f'http://127.0.0.1:{listener.server_address[1]}'
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
