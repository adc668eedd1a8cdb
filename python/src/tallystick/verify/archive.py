"""Reads an archive of a ledger in a directory (docs/formats/archive.md) as an export."""

from __future__ import annotations

import base64
import hmac
import json
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from . import formats as f
from .archive_forms import (
    NONCE_BYTES,
    TILE,
    Piece,
    Seal,
    digest_of,
    parse_seal,
    plain_text,
    read_lines,
    refused,
    split_bundle,
    split_documents,
    tile_name,
    tiles_between,
)
from .errors import Refused, Unavailable, Unreadable
from .ledger import Erasure
from .limits import (
    ARCHIVE_ENTRY_DOCUMENTS_MAX,
    ARCHIVE_KEY_FILE_DEPTH_MAX,
    ARCHIVE_OBJECT_BYTES_MAX,
    ARCHIVE_SEAL_BYTES_MAX,
    ARCHIVE_SEALS_BYTES_MAX,
)
from .line import Entry
from .merkle import node_hash
from .note import parse_checkpoint
from .source import Lines
from .strict_json import parse

_DEPTH = 24


class Keys:
    """Secrets of a ledger's pieces, by the first seq of each piece. Raises Unreadable if the file is
    not a file of keys.
    """

    def __init__(self, data: bytes) -> None:
        try:
            value = parse(data, ARCHIVE_KEY_FILE_DEPTH_MAX).value
            self.ledger: str = value['ledger']
            if value.keys() != {'archiveKeys', 'ledger', 'pieces'} or not f.is_integer(value['archiveKeys'], 1, 1):
                raise ValueError
            if not isinstance(self.ledger, str):
                raise ValueError
            self._pieces = {_place(start): _secrets(f.from_base64(packed, 'secrets')) for start, packed in value['pieces']}
        except (Refused, ValueError, KeyError, TypeError, AttributeError, struct.error):
            raise Unreadable('the file of --archive-key is no key file of an archive') from None

    def find(self, piece: int, place: int) -> bytes | None:
        for depth, first, secret in self._pieces.get(piece, []):
            if first <= place < first + (1 << (_DEPTH - depth)):
                for bit in range(_DEPTH - depth - 1, -1, -1):
                    secret = hmac.digest(secret, bytes([(place >> bit) & 1]), 'sha256')
                return secret
        return None


def _place(start: object) -> int:
    if not isinstance(start, (int, float)) or not f.is_integer(start, 0):
        raise ValueError
    return int(start)


def _secrets(packed: bytes) -> list[tuple[int, int, bytes]]:
    secrets = list(struct.iter_unpack('>BI32s', packed))
    if any(depth > _DEPTH or first % (1 << (_DEPTH - depth)) for depth, first, _ in secrets):
        raise ValueError
    return secrets


class _Missing:
    pass


class _TooLong:
    pass


class Archive:
    """Reads an archive as an export. A faulty object is reported when its entries are reached, after all earlier entries."""

    def __init__(self, directory: Path, keys: Keys | None) -> None:
        self._directory = directory.resolve()
        self._keys = keys
        self.damage: Refused | Unreadable | None = None
        """Reason why the lines end before the last entry."""
        checkpoint = self._read('checkpoint', ARCHIVE_OBJECT_BYTES_MAX)
        if isinstance(checkpoint, _Missing):
            raise Unreadable(f'{directory} holds no archive of a ledger')
        note = _note_of(checkpoint)
        self.size = parse_checkpoint(note).size
        if self.size == 0:
            raise refused('checkpoint is of no entry')
        self._seals = self._read_seals()
        self.ledger: str = self._seals[-1].ledger['id']
        self.notes = [*(seal.checkpoint for seal in self._seals), note]
        """All checkpoints: first the checkpoints of the seals, then the newest."""
        self._faults: list[str] = []
        self._erasures = {(subject, of): seq for seal in self._seals for subject, of, seq in seal.erasures}
        self._unexplained: list[str] = []
        """Documents without a key and without an entry that erases them."""
        self._last_bundle: tuple[int, bytes] = (-1, b'')
        self._definitions: dict[int, str] = {}
        self._tiles = _Tiles({seal.size for seal in self._seals})

    def lines(self) -> Lines:
        """Writes the export to a temporary file, up to the first unreadable piece. `damage` then has
        the reason.
        """
        file = tempfile.TemporaryFile(prefix='tallystick-')  # noqa: SIM115, `Lines` closes it
        newest = self._seals[-1]
        head = {'export': 1, 'ledger': newest.ledger, 'keys': newest.keys}
        file.write(_line(head if self._keys is not None else {**head, 'documents': 'withheld'}))
        try:
            for index, seal in enumerate(self._seals):
                self._export(seal, file, index)
        except (Refused, Unreadable) as damage:
            self.damage = damage
        file.write(_line({'checkpoint': self.notes[-1]}))
        return Lines(file, file.tell(), line_bytes_max=file.tell())

    def taken(self, entry: Entry) -> None:
        """Called for each verified entry. Raises Refused if the archived definition differs from the signed one."""
        self._tiles.add(entry.leaf)
        if entry.kind != 'type-registered' or entry.statement is None:
            return
        if self._definitions.pop(entry.seq, None) != entry.statement.subjects[0].digest:
            raise refused(f'the definition of a type is another one than entry {entry.seq} signs')

    def end(self, erasures: list[Erasure]) -> None:
        """Called after the last verified entry. Raises Refused if the hashes in tiles, or the erasures
        in seals, differ from those of the verified entries.
        """
        signed = [(one.subject, one.of, one.seq) for one in erasures]
        at = 0
        for seal in self._seals:
            for name in tiles_between(seal.start, seal.size, 'hashes'):
                if seal.objects[name].sha256 != self._tiles.found.get(name):
                    raise refused(f'{name} holds other hashes than those of the entries')
            own = signed[at : at + len(seal.erasures)]
            if own != seal.erasures or any(not seal.start <= seq < seal.size for _, _, seq in own):
                raise refused(f'seals/{seal.size} names other erasures than its entries')
            at += len(own)
        if at != len(signed):
            raise refused('the seals lack erasures of their entries')

    def _read(self, name: str, bytes_max: int) -> bytes | _Missing | _TooLong:
        """Reads a regular file. Raises Unavailable for anything else, and for symbolic links below the directory."""
        path = self._directory / name
        try:
            if path.resolve(strict=True) != path:
                raise Unavailable(f'{name}: it is a link, or lies behind one')
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_NOFOLLOW', 0)), 'rb') as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise Unavailable(f'{name}: it is no file')
                data = file.read(bytes_max + 1)
        except (FileNotFoundError, NotADirectoryError):
            return _Missing()
        except (IsADirectoryError, RuntimeError):
            raise Unavailable(f'{name}: it is no file') from None
        return data if len(data) <= bytes_max else _TooLong()

    def _read_seals(self) -> list[Seal]:
        seals: list[Seal] = []
        at, left = self.size, ARCHIVE_SEALS_BYTES_MAX
        while at > 0:
            data = self._read(f'seals/{at}', min(left, ARCHIVE_SEAL_BYTES_MAX))
            if isinstance(data, _Missing):
                raise refused(f'seals/{at} is missing')
            if isinstance(data, _TooLong):
                raise refused(f'seals/{at}, or all seals together, are too long')
            left -= len(data)
            if seals and digest_of(data) != seals[-1].previous:
                raise refused(f'seals/{at} is another one than the next one names')
            seal = parse_seal(data, at)
            if seals and seal.ledger['id'] != seals[-1].ledger['id']:
                raise refused(f'seals/{at} is of another ledger than the next one')
            seals.append(seal)
            at = seal.start
        return seals[::-1]

    def _object(self, seal: Seal, name: str) -> bytes | None:
        """Returns an object, and reads no more bytes than the seal names.

        If the object is missing or differs from the sealed object, stores this fault for the report
        and returns None.
        """
        sealed = seal.objects[name]
        data = self._read(name, sealed.bytes)
        if isinstance(data, bytes) and len(data) == sealed.bytes and digest_of(data) == sealed.sha256:
            return data
        self._faults.append(f'{name} is missing' if isinstance(data, _Missing) else f'{name} is not the object that its seal names')
        return None

    def _judge(self, name: str, work: Callable[[], list[bytes]]) -> list[bytes] | None:
        """Runs work on an object that was read. If the form of the object is wrong, stores this fault
        for the report and returns None.
        """
        try:
            return work()
        except Refused as found:
            self._faults.append(f'{name} {found.reason}')
            return None

    def _export(self, seal: Seal, file: IO[bytes], index: int) -> None:
        for piece in seal.pieces:
            lines = self._piece(seal, piece)
            if lines is None:
                self._refuse(index)
            else:
                file.writelines(lines)
        for name in tiles_between(seal.start, seal.size, 'hashes'):
            self._object(seal, name)
        if self._faults:
            self._refuse(index + 1)

    def _refuse(self, rest: int) -> None:
        """Reads the remaining objects and raises Refused. So one run names all faulty objects."""
        for seal in self._seals[rest:]:
            for name in seal.objects:
                self._object(seal, name)
        raise refused('; '.join(dict.fromkeys(self._faults)))

    def _piece(self, seal: Seal, piece: Piece) -> list[bytes] | None:
        """Returns the export lines of a piece. Returns None if an object is missing or differs from
        the sealed object.
        """
        data = self._object(seal, piece.lines)
        documents = b'' if piece.documents is None else self._object(seal, piece.documents)
        envelopes = self._envelopes(seal, piece)
        if data is None or documents is None or envelopes is None:
            return None
        found = self._judge(piece.lines, partial(self._lines, piece, data, documents, envelopes))
        if found is not None and self._unexplained:
            raise Unavailable(f'{self._unexplained[0]} cannot be opened, and no archived entry erases it')
        return found

    def _lines(self, piece: Piece, data: bytes, documents: bytes, envelopes: list[bytes]) -> list[bytes]:
        lines = read_lines(data, piece)
        count = sum(len(line['documents']) for line in lines)
        sealed = iter(split_documents(documents, count) if piece.documents is not None else [b''] * count)
        found = []
        for line, envelope in zip(lines, envelopes, strict=True):
            if line['definition'] is not None:
                self._definitions[int(line['seq'])] = digest_of(line['definition'].encode())
            found.append(self._export_line(line, envelope, piece.start, sealed))
        return found

    def _envelopes(self, seal: Seal, piece: Piece) -> list[bytes] | None:
        envelopes: list[bytes] = []
        for tile in range(piece.start // TILE, (piece.end + TILE - 1) // TILE):
            width = min(TILE, seal.size - tile * TILE)
            name = tile_name('entries', tile, width)
            bundle = self._object(seal, name)
            if bundle is None:
                return None
            entries = self._judge(name, partial(self._entries, tile, width, bundle))
            if entries is None:
                return None
            envelopes += entries[max(0, piece.start - tile * TILE) : piece.end - tile * TILE]
        return envelopes

    def _entries(self, tile: int, width: int, bundle: bytes) -> list[bytes]:
        """Returns the entries of an entry bundle. Raises Refused if the previous bundle belongs to the
        same tile and this bundle does not begin with it.

        The check is needed because readers of tiles get only the widest bundle of a tile.
        """
        before, data = self._last_bundle
        if before == tile and not bundle.startswith(data):
            raise refused('holds other entries than the bundle before it')
        self._last_bundle = (tile, bundle)
        return split_bundle(bundle, width)

    def _export_line(self, line: dict[str, Any], envelope: bytes, piece: int, sealed: Iterator[bytes]) -> bytes:
        seq, items = int(line['seq']), line['items']
        documents = []
        for item, said in enumerate(line['documents']):
            if items is None:
                subject, digest, erased_by = said['subject'], said['digest'], said['erasedBy']
            else:
                subject, digest, erased_by = items[item]['record'], items[item]['digest'], said
            start = _text({'subject': subject, 'digest': digest})[:-1]
            documents.append(f'{start},{self._show(subject, erased_by, seq, piece, item, next(sealed))}')
        head = {name: line[name] for name in ('seq', 'kind', 'recordedAt', 'leaf', 'chain')}
        beside = {name: line[name] for name in ('items', 'received', 'signer') if name in line}
        start = _text({**head, 'envelope': base64.b64encode(envelope).decode()})[:-1]
        return f'{start},"documents":[{",".join(documents)}],{_text(beside)[1:]}\n'.encode()

    def _show(self, subject: str, said: float | None, seq: int, piece: int, item: int, sealed: bytes) -> str:
        """Returns the end of a document's JSON object, as text: the members after `subject` and
        `digest`.
        """
        known = self._erasures.get((subject, seq), said)
        erased_by = int(known) if known is not None and known < self.size else None
        if self._keys is None or erased_by is not None:
            return f'"salt":null,"document":null,"erasedBy":{_text(erased_by)}}}'
        key = self._keys.find(piece, ARCHIVE_ENTRY_DOCUMENTS_MAX * (seq - piece) + item)
        try:
            if key is None or not sealed:
                raise InvalidTag
            opened = AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
        except InvalidTag:
            self._unexplained.append(f'{subject} of the entry {seq}')
            return f'"salt":null,"document":null,"erasedBy":{self.size}}}'
        return f'"erasedBy":null,{plain_text(opened)[1:]}'


def _note_of(data: bytes | _TooLong) -> str:
    if isinstance(data, _TooLong):
        raise refused('checkpoint is too long')
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise refused('checkpoint is not UTF-8') from None


class _Tiles:
    """Computes digests of hash tiles while the tree grows: of full tiles, and of partial tiles at the
    sizes of seals.
    """

    def __init__(self, sizes: set[int]) -> None:
        self.found: dict[str, str] = {}
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
                    self._keep(level)

    def _keep(self, level: int) -> None:
        hashes = self._levels[level]
        self.found[tile_name(level, self._full[level], len(hashes))] = digest_of(b''.join(hashes))

    def _put(self, level: int, value: bytes) -> None:
        if level == len(self._levels):
            self._levels.append([])
            self._full.append(0)
        self._levels[level].append(value)
        if len(self._levels[level]) < TILE:
            return
        self._keep(level)
        hashes = self._levels[level]
        self._levels[level] = []
        self._full[level] += 1
        while len(hashes) > 1:
            hashes = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
        self._put(level + 1, hashes[0])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


def _line(value: dict[str, Any]) -> bytes:
    return f'{_text(value)}\n'.encode()
