"""Makes small archives (docs/formats/archive.md) and alters them. The digests are made to match again,
as an attacker without a key could do.
"""

from __future__ import annotations

import base64
import copy
import gzip
import hmac
import json
import struct
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from forge import Chain, compact, render_line

from tallystick.verify import formats as f
from tallystick.verify import merkle

SECRET = sha256(b'secrets of a piece').digest()
Change = Callable[[dict[str, Any]], None]


class Draft:
    """An archive before its seals are written. If an object is changed, its seal names the changed object."""

    def __init__(self, chain: Chain, cuts: list[int]) -> None:
        """`cuts`: sizes of the archive's seals. They are below 256, so that there is one tile of each
        level.
        """
        lines = chain.lines[: cuts[-1]]
        at, tree = merkle.genesis(f.id_bytes(chain.led)), merkle.Tree()
        self.objects: dict[str, bytes] = {}
        self.seals: list[dict[str, Any]] = []
        self.ledger = chain.led
        shown, leaves, erasures = [], [], []
        head = json.loads(chain.export().split(b'\n', 1)[0])
        for seq, line in enumerate(lines):
            value, leaf, at = render_line(line, seq, at)
            tree.add(leaf)
            shown.append(value)
            leaves.append(leaf)
            if value['kind'] == 'payload-erased' and line.statement is not None:
                erasures.append([line.statement['subject'][0]['name'], line.statement['predicate']['seq'], seq])
            if seq + 1 not in cuts:
                continue
            size, start = seq + 1, self.seals[-1]['size'] if self.seals else 0
            note = chain.checkpoint(size, tree.root(), at)
            bundle = b''.join(struct.pack('>H', len(data)) + data for data in (base64.b64decode(one['envelope']) for one in shown))
            objects = [self._add(f'tile/entries/000.p/{size}', bundle), self._add(f'tile/0/000.p/{size}', b''.join(leaves))]
            middle = (start + size) // 2
            pieces = []
            for first, end in ((start, middle), (middle, size)) if middle > start else ((start, size),):
                named = self._piece(chain, shown, first, end)
                pieces.append({'from': first, 'end': end, **named})
                objects += [self._named(name) for name in named.values() if name is not None]
            self.seals.append(
                {
                    'archive': 1,
                    'ledger': head['ledger'],
                    'keys': head['keys'],
                    'from': start,
                    'size': size,
                    'previous': None,
                    'checkpoint': note,
                    'erasures': [one for one in erasures if one[2] >= start],
                    'pieces': pieces,
                    'objects': objects,
                }
            )
        self.checkpoint = self.seals[-1]['checkpoint'].encode()

    def keys(self) -> bytes:
        starts = [piece['from'] for seal in self.seals for piece in seal['pieces']]
        packed = base64.b64encode(struct.pack('>BI32s', 0, 0, SECRET)).decode()
        return compact({'archiveKeys': 1, 'ledger': self.ledger, 'pieces': [[start, packed] for start in starts]})

    def _add(self, name: str, data: bytes) -> dict[str, Any]:
        self.objects[name] = data
        return self._named(name)

    def _named(self, name: str) -> dict[str, Any]:
        data = self.objects[name]
        return {'name': name, 'bytes': len(data), 'sha256': sha256(data).hexdigest()}

    def _piece(self, chain: Chain, shown: list[dict[str, Any]], start: int, end: int) -> dict[str, str | None]:
        lines, sealed = [], []
        for seq in range(start, end):
            value = {name: member for name, member in shown[seq].items() if name != 'envelope'}
            documents = value['documents']
            for item, document in enumerate(documents):
                plain = {name: document[name] for name in ('salt', 'document', 'references') if name in document}
                sealed.append(b'' if document['salt'] is None else seal_document(compact(plain), (seq - start) * 4_096 + item))
            value['documents'] = [
                one['erasedBy'] if value['items'] is not None else {name: one[name] for name in ('subject', 'digest', 'erasedBy')}
                for one in documents
            ]
            if seq in chain.definitions:
                value['definition'] = chain.definitions[seq]
            lines.append(compact(value) + b'\n')
        named: dict[str, str | None] = {'lines': self._object('lines', start, gzip.compress(b''.join(lines), mtime=0)), 'documents': None}
        if any(sealed):
            named['documents'] = self._object('documents', start, b''.join(map(sized, sealed)))
        return named

    def _object(self, kind: str, start: int, data: bytes) -> str:
        name = f'{kind}/{start}-{sha256(data).hexdigest()}'
        self.objects[name] = data
        return name

    def change(self, name: str, data: bytes) -> None:
        """Replaces an object, and names the new object in its seal as a writer would."""
        del self.objects[name]
        kind, _, rest = name.partition('/')
        new = name if kind == 'tile' else f'{kind}/{rest.partition("-")[0]}-{sha256(data).hexdigest()}'
        self.objects[new] = data
        for seal in self.seals:
            for piece in seal['pieces']:
                for member in ('lines', 'documents'):
                    piece[member] = new if piece[member] == name else piece[member]
            seal['objects'] = [self._named(new) if one['name'] == name else one for one in seal['objects']]

    def files(self, changes: dict[int, Change] | None = None) -> dict[str, bytes]:
        """Returns the files. `changes`: changes to seals, by index of the seal. They are applied
        before the next seal names the changed seal.
        """
        files = {**self.objects, 'checkpoint': self.checkpoint}
        before = None
        for index, seal in enumerate(self.seals):
            value = copy.deepcopy({**seal, 'previous': before})
            if changes is not None and index in changes:
                changes[index](value)
            data = compact(value)
            files[f'seals/{seal["size"]}'] = data
            before = sha256(data).hexdigest()
        return files

    def copy(self) -> Draft:
        return copy.deepcopy(self)


def sized(sealed: bytes) -> bytes:
    return struct.pack('>I', len(sealed)) + sealed


def seal_document(plain: bytes, place: int) -> bytes:
    secret = SECRET
    for bit in range(23, -1, -1):
        secret = hmac.digest(secret, bytes([(place >> bit) & 1]), 'sha256')
    nonce = sha256(place.to_bytes(4, 'big') + plain).digest()[:12]
    return nonce + AESGCM(secret).encrypt(nonce, plain, None)


def write(files: dict[str, bytes], directory: Path) -> Path:
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


# Files of altered archives, each with a description

Altered = tuple[str, dict[str, bytes]]


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    return ([path] if path else []) + [found for step in steps for found in paths_of(value[step], (*path, step))]


def at_path(value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> None:
    for step in path[:-1]:
        value = value[step]
    change(value, path[-1])


def every_member_of_seals(draft: Draft) -> list[Altered]:
    """Changes each member of each seal: removed, duplicated, and with other types and nearby values."""
    found = []
    for index in range(len(draft.seals)):
        before = draft.files()
        value = json.loads(before[f'seals/{draft.seals[index]["size"]}'])
        for path in paths_of(value):
            for how, change in _changes_of_member(value, path):
                found.append((f'seal {index} {path} {how}', draft.files({index: lambda seal, p=path, c=change: at_path(seal, p, c)})))
    return found


def _changes_of_member(value: Any, path: tuple[Any, ...]) -> list[tuple[str, Callable[[Any, Any], None]]]:
    def put(new: Any) -> Callable[[Any, Any], None]:
        return lambda at, last: at.__setitem__(last, new)

    here = value
    for step in path:
        here = here[step]
    strange = [None, True, -1, 0, 1.5, 2**53, '', '0', [], {}, [[]], 'a' * 64]
    changes = [(repr(new), put(new)) for new in strange if new != here or type(new) is not type(here)]
    changes.append(('gone', lambda at, last: at.__delitem__(last)))
    if isinstance(here, dict):
        changes.append(('another member', lambda at, last: at[last].__setitem__('another', 1)))
    if isinstance(here, list):
        changes.append(('its first twice', lambda at, last: at[last].extend(copy.deepcopy(at[last][:1]))))
    if isinstance(here, int):
        changes += [('more', put(here + 1)), ('less', put(here - 1)), ('as a float', put(float(here))), ('as text', put(str(here)))]
    return changes


def every_region_of_objects(draft: Draft, regions: int) -> list[Altered]:
    """Changes each object in several places: flips a bit, cuts the end, inserts bytes, appends bytes.
    Returns each change twice: once with a seal that names the changed object, and once with the old
    seal.
    """
    found: list[Altered] = []
    for name, data in [*draft.objects.items(), ('checkpoint', draft.checkpoint)]:
        steps = [*range(0, len(data), max(1, len(data) // regions)), len(data)]
        for at in steps:
            flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] if at < len(data) else data + b'\x00'
            for how, changed in (
                ('flip', flipped),
                ('cut', data[:at]),
                ('insert', data[:at] + b'\x00{' + data[at:]),
                ('behind', data + data[: at + 1]),
            ):
                found.append((f'{name} {how} at {at}', {**draft.files(), name: changed}))
                if name != 'checkpoint':
                    other = draft.copy()
                    other.change(name, changed)
                    found.append((f'{name} {how} at {at}, sealed', other.files()))
    return found


def gzips(draft: Draft) -> list[Altered]:
    """Returns archives whose lines are right, but are compressed in other ways or not at all."""
    found = []
    for name, data in list(draft.objects.items()):
        if not name.startswith('lines/'):
            continue
        text = gzip.decompress(data)
        raw = data[10:-8]
        trailer = data[-8:]
        stored = zlib.compressobj(0, zlib.DEFLATED, 31)
        for how, changed in {
            'level 0': stored.compress(text) + stored.flush(),
            'two members': gzip.compress(text[:50], mtime=0) + gzip.compress(text[50:], mtime=0),
            'an empty member behind': data + gzip.compress(b'', mtime=0),
            'zeros behind': data + bytes(512),
            'garbage behind': data + b'garbage',
            'a zero and garbage behind': data + b'\x00garbage',
            'no trailer': data[:-8],
            'half a trailer': data[:-4],
            'another checksum': data[:-8] + bytes([trailer[0] ^ 1]) + trailer[1:],
            'another length': data[:-1] + bytes([trailer[7] ^ 1]),
            'a name': data[:3] + b'\x08' + data[4:10] + b'lines\x00' + raw + trailer,
            'a reserved flag': data[:3] + b'\x80' + data[4:],
            'zlib': zlib.compress(text),
            'raw': raw,
            'not compressed': text,
            'empty': b'',
            'a bomb': gzip.compress(bytes(80 * 1024 * 1024), mtime=0),
            'a line less': gzip.compress(text[text.index(b'\n') + 1 :], mtime=0),
            'the last line twice': gzip.compress(text + text[text.rindex(b'\n', 0, -1) + 1 :], mtime=0),
            'no newline at its end': gzip.compress(text[:-1], mtime=0),
            'an empty line behind': gzip.compress(text + b'\n', mtime=0),
            'space behind': gzip.compress(text + b' ', mtime=0),
            'CRLF': gzip.compress(text.replace(b'\n', b'\r\n'), mtime=0),
            'a byte order mark': gzip.compress(b'\xef\xbb\xbf' + text, mtime=0),
            'UTF-16': gzip.compress(text.decode().encode('utf-16'), mtime=0),
        }.items():
            other = draft.copy()
            other.change(name, changed)
            found.append((f'{name}: {how}', other.files()))
    return found
