"""An archive of a ledger in a directory (docs/formats/archive.md), read as an export of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import Refused, Unreadable
from .formats import is_hex64
from .limits import ARCHIVE_LINES_BYTES_MAX, ARCHIVE_OBJECT_BYTES_MAX, ARCHIVE_SEAL_BYTES_MAX, ARCHIVE_SEALS_BYTES_MAX
from .merkle import leaf_hash, node_hash
from .note import parse_checkpoint
from .source import Lines

_TILE = 256
_DEPTH = 24
_ITEMS = 4_096
_PIECE_ENTRIES_MAX = 4_096
_NONCE_BYTES = 12
_SECRET_BYTES = 37
_SEAL = {'archive', 'ledger', 'keys', 'from', 'size', 'previous', 'checkpoint', 'erasures', 'pieces', 'objects'}
_PIECE_NAME = re.compile(r'(lines|documents)/[0-9]{1,16}-[0-9a-f]{64}\Z')


class Keys:
    """Secrets of the pieces of a ledger, by the first entry of each."""

    def __init__(self, data: bytes) -> None:
        try:
            value = json.loads(data)
            if value['archiveKeys'] != 1:
                raise ValueError
            self.ledger = str(value['ledger'])
            self._pieces = {int(start): _secrets(base64.b64decode(packed, validate=True)) for start, packed in value['pieces']}
        except (ValueError, KeyError, TypeError, struct.error):
            raise Unreadable('the file of --archive-key is no key file of an archive') from None

    def find(self, piece: int, place: int) -> bytes | None:
        for depth, first, secret in self._pieces.get(piece, []):
            if first <= place < first + (1 << (_DEPTH - depth)):
                for bit in range(_DEPTH - depth - 1, -1, -1):
                    secret = hmac.digest(secret, bytes([(place >> bit) & 1]), 'sha256')
                return secret
        return None


def _secrets(packed: bytes) -> list[tuple[int, int, bytes]]:
    return [(depth, first, secret) for depth, first, secret in struct.iter_unpack('>BI32s', packed)]


class Archive:
    def __init__(self, directory: Path, keys: Keys | None) -> None:
        self._directory = directory.resolve()
        self._keys = keys
        checkpoint = self._read('checkpoint')
        if checkpoint is None:
            raise Unreadable(f'{directory} holds no archive of a ledger')
        self.note = checkpoint.decode('utf-8', 'replace')
        self.size = parse_checkpoint(self.note).size
        self._seals = self._read_seals()
        self._faults: list[str] = []
        self._erasures = {(subject, of): seq for seal in self._seals for subject, of, seq in seal['erasures']}
        if keys is not None and keys.ledger != self._seals[-1]['ledger']['id']:
            raise Unreadable('the file of --archive-key is of another ledger')

    def lines(self) -> Lines:
        """The export, in a temporary file. Raises Refused `archive_object` where an object is missing or another one."""
        file = tempfile.TemporaryFile(prefix='tallystick-')  # noqa: SIM115, `Lines` closes it
        newest = self._seals[-1]
        head = {'export': 1, 'ledger': newest['ledger'], 'keys': newest['keys']}
        file.write(_line(head if self._keys is not None else {**head, 'documents': 'withheld'}))
        tiles = _Tiles({seal['size'] for seal in self._seals})
        for seal in self._seals:
            self._export(seal, file, tiles)
        for seal in self._seals:
            self._check_tiles(seal, tiles)
        if self._faults:
            raise Refused('archive_object', '; '.join(dict.fromkeys(self._faults)))
        file.write(_line({'checkpoint': self.note}))
        return Lines(file, file.tell())

    def _read(self, name: str, bytes_max: int = ARCHIVE_OBJECT_BYTES_MAX) -> bytes | None:
        """Regular files only, and no symbolic link below the directory."""
        path = self._directory / name
        try:
            if path.resolve(strict=True) != path:
                raise Unreadable(f'{name}: it is a link, or lies behind one')
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_NOFOLLOW', 0)), 'rb') as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise Unreadable(f'{name}: it is no file')
                data = file.read(bytes_max + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (IsADirectoryError, RuntimeError):
            raise Unreadable(f'{name}: it is no file') from None
        if len(data) > bytes_max:
            raise Unreadable(f'{name}: it has more than {bytes_max} bytes')
        return data

    def _read_seals(self) -> list[dict[str, Any]]:
        seals: list[dict[str, Any]] = []
        at, expected, left = self.size, None, ARCHIVE_SEALS_BYTES_MAX
        while at > 0:
            data = self._read(f'seals/{at}', ARCHIVE_SEAL_BYTES_MAX)
            if data is None:
                raise Refused('archive_object', f'seals/{at} is missing')
            if expected is not None and hashlib.sha256(data).hexdigest() != expected:
                raise Refused('archive_object', f'seals/{at} is another one than the next one names')
            left -= len(data)
            if left < 0:
                raise Refused('archive_object', f'the seals have more than {ARCHIVE_SEALS_BYTES_MAX} bytes')
            seal = _parse_seal(data, at)
            seals.insert(0, seal)
            at, expected = seal['from'], seal['previous']
        return seals

    def _object(self, seal: dict[str, Any], name: str) -> bytes | None:
        data = self._read(name)
        if data is None:
            self._faults.append(f'{name} is missing')
        elif hashlib.sha256(data).hexdigest() != seal['digests'][name]:
            self._faults.append(f'{name} is not the object that its seal names')
            return None
        return data

    def _export(self, seal: dict[str, Any], file: IO[bytes], tiles: _Tiles) -> None:
        envelopes = self._envelopes(seal)
        for piece in seal['pieces']:
            lines = self._object(seal, piece['lines'])
            documents = b'' if piece['documents'] is None else self._object(seal, piece['documents'])
            if lines is None or documents is None or self._faults:
                continue
            sealed = _split(documents)
            try:
                parsed = [json.loads(line) for line in _gunzip(lines).split(b'\n')[:-1]]
                if len(parsed) != piece['end'] - piece['from']:
                    raise ValueError
                for seq, line in enumerate(parsed, piece['from']):
                    envelope = envelopes[seq - (seal['from'] - seal['from'] % _TILE)]
                    tiles.add(leaf_hash(envelope))
                    file.write(_line(self._export_line(line, envelope, seq, piece['from'], sealed)))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error, RecursionError):
                self._faults.append(f'{piece["lines"]} does not hold the lines of its entries')

    def _envelopes(self, seal: dict[str, Any]) -> list[bytes]:
        """From the first entry of the first tile of the seal on."""
        envelopes: list[bytes] = []
        for name in _tiles_between(seal['from'], seal['size'], 'entries'):
            bundle = self._object(seal, name) or b''
            at = 0
            while at + 2 <= len(bundle):
                end = at + 2 + int.from_bytes(bundle[at : at + 2], 'big')
                envelopes.append(bundle[at + 2 : end])
                at = end
        return envelopes

    def _export_line(self, line: dict[str, Any], envelope: bytes, seq: int, piece: int, sealed: Iterator[bytes]) -> dict[str, Any]:
        documents = []
        for item, said in enumerate(line['documents']):
            if line['items'] is None:
                subject, digest, erased_by = said['subject'], said['digest'], said['erasedBy']
            else:
                subject, digest, erased_by = line['items'][item]['record'], line['items'][item]['digest'], said
            shown = self._show(subject, erased_by, seq, piece, item, next(sealed, b''))
            documents.append({'subject': subject, 'digest': digest, **shown})
        members = {name: value for name, value in line.items() if name != 'definition'}
        return {**members, 'envelope': base64.b64encode(envelope).decode(), 'documents': documents}

    def _show(self, subject: str, said: int | None, seq: int, piece: int, item: int, sealed: bytes) -> dict[str, Any]:
        erased_by = self._erasures.get((subject, seq), said)
        if erased_by is not None and erased_by >= self.size:
            erased_by = None
        if self._keys is None or erased_by is not None:
            return {'salt': None, 'document': None, 'erasedBy': erased_by}
        key = self._keys.find(piece, _ITEMS * (seq - piece) + item)
        try:
            if key is None:
                raise InvalidTag
            members = json.loads(AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None))
        except (InvalidTag, ValueError):
            raise Unreadable(f'{subject} of the entry {seq} cannot be opened, and no archived entry erases it') from None
        return {**members, 'erasedBy': None}

    def _check_tiles(self, seal: dict[str, Any], tiles: _Tiles) -> None:
        for name in _tiles_between(seal['from'], seal['size'], 'hashes'):
            data = self._object(seal, name)
            if data is not None and not self._faults and data != tiles.found.get(name):
                self._faults.append(f'{name} holds other hashes than those of the entries')


class _Tiles:
    """Hash tiles as they come about: full ones, and at the sizes of seals the others."""

    def __init__(self, sizes: set[int]) -> None:
        self.found: dict[str, bytes] = {}
        self._sizes = sizes
        self._size = 0
        self._levels: list[list[bytes]] = []
        self._full: list[int] = []

    def add(self, leaf: bytes) -> None:
        self._size += 1
        self._put(0, leaf)
        if self._size in self._sizes:
            for level, hashes in enumerate(self._levels):
                if hashes:
                    self.found[_tile_name(level, self._full[level], len(hashes))] = b''.join(hashes)

    def _put(self, level: int, value: bytes) -> None:
        if level == len(self._levels):
            self._levels.append([])
            self._full.append(0)
        self._levels[level].append(value)
        if len(self._levels[level]) < _TILE:
            return
        hashes = self._levels[level]
        self.found[_tile_name(level, self._full[level], _TILE)] = b''.join(hashes)
        self._levels[level] = []
        self._full[level] += 1
        while len(hashes) > 1:
            hashes = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
        self._put(level + 1, hashes[0])


def _tile_name(level: int | str, tile: int, width: int) -> str:
    elements = [f'{tile % 1000:03d}']
    while tile >= 1000:
        tile //= 1000
        elements.insert(0, f'x{tile % 1000:03d}')
    return f'tile/{level}/{"/".join(elements)}' + ('' if width == _TILE else f'.p/{width}')


def _tiles_between(before: int, size: int, kind: str) -> Iterator[str]:
    """Names of the bundles, or of the hash tiles, that a log of `size` entries has and one of `before` has not."""
    level, unit = 0, 1
    while unit <= size:
        had, hashes = before // unit, size // unit
        for tile in range(had // _TILE, (hashes + _TILE - 1) // _TILE):
            width = min(_TILE, hashes - tile * _TILE)
            if tile * _TILE + width > had:
                yield _tile_name('entries' if kind == 'entries' else level, tile, width)
        if kind == 'entries':
            return
        level, unit = level + 1, unit * _TILE


def _parse_seal(data: bytes, size: int) -> dict[str, Any]:
    try:
        seal = json.loads(data)
        if not _is_seal(seal, size):
            raise ValueError
        named = [*_tiles_between(seal['from'], size, 'entries'), *_tiles_between(seal['from'], size, 'hashes')]
        for piece in seal['pieces']:
            named += [piece['lines'], *([] if piece['documents'] is None else [piece['documents']])]
        seal['digests'] = {one['name']: one['sha256'] for one in seal['objects']}
        if set(seal['digests']) != set(named):
            raise ValueError
        return dict(seal)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused('archive_object', f'seals/{size} is no seal of these entries') from None


def _is_seal(seal: Any, size: int) -> bool:
    before = seal['from']
    if set(seal) != _SEAL or seal['archive'] != 1 or seal['size'] != size or type(before) is not int or not 0 <= before < size:
        return False
    if (seal['previous'] is None) != (before == 0) or not (before == 0 or is_hex64(seal['previous'])):
        return False
    at = before
    for piece in seal['pieces']:
        start, end = piece['from'], piece['end']
        if start != at or type(end) is not int or not start < end <= min(size, start + _PIECE_ENTRIES_MAX):
            return False
        for kind in ('lines', 'documents'):
            name = piece[kind]
            if name is None and kind == 'documents':
                continue
            if not name.startswith(f'{kind}/{at}-') or not _PIECE_NAME.match(name):
                return False
        at = end
    erasures = all(isinstance(one[0], str) and type(one[1]) is int and type(one[2]) is int for one in seal['erasures'])
    return at == size and erasures and isinstance(seal['ledger']['id'], str) and isinstance(seal['keys'], list)


def _split(documents: bytes) -> Iterator[bytes]:
    at = 0
    while at + 4 <= len(documents):
        end = at + 4 + int.from_bytes(documents[at : at + 4], 'big')
        yield documents[at + 4 : end]
        at = end


def _gunzip(data: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=31)
    text = inflater.decompress(data, ARCHIVE_LINES_BYTES_MAX)
    if not inflater.eof:
        raise ValueError
    return text


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(',', ':')).encode() + b'\n'
