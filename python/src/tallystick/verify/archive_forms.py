"""Formats of the objects of an archive (docs/formats/archive.md). For each format, one function
accepts or refuses a whole object.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from . import formats as f
from .errors import Refused
from .limits import (
    ARCHIVE_ENTRY_DOCUMENTS_MAX,
    ARCHIVE_LINES_BYTES_MAX,
    ARCHIVE_OBJECT_BYTES_MAX,
    ARCHIVE_PIECE_ENTRIES_MAX,
    ARCHIVE_SEAL_DEPTH_MAX,
    JSON_DEPTH_MAX,
    LINE_BYTES_MAX,
    LINE_DEPTH_MAX,
)
from .line import MEMBERS, NULLABLE, check_head, is_references
from .note import parse_checkpoint
from .strict_json import canonical, parse, parse_text

TILE = 256
NONCE_BYTES = 12
_TAG_BYTES = 16
_GZIP = b'\x1f\x8b\x08\x00'
"""RFC 1952: magic, deflate, and no flags, so that no optional field follows."""
_SEAL = {'archive', 'ledger', 'keys', 'from', 'size', 'previous', 'checkpoint', 'erasures', 'pieces', 'objects'}
_LEDGER = {'id', 'name', 'issuer', 'origin', 'noteVerifierKey'}
_KEY = {'kid', 'use', 'alg', 'spki', 'activatedAt', 'retiredAt', 'compromisedAt'}
_LINE = MEMBERS - {'envelope'} | {'chain'}


class Sealed(NamedTuple):
    """Size and digest of an object, as its seal names them."""

    bytes: int
    sha256: str


class Piece(NamedTuple):
    start: int
    end: int
    lines: str
    documents: str | None


class Seal(NamedTuple):
    ledger: dict[str, Any]
    keys: list[dict[str, Any]]
    start: int
    size: int
    previous: str | None
    checkpoint: str
    erasures: list[tuple[str, int, int]]
    """Subject, the entry that digests it, the entry that erases it."""
    pieces: list[Piece]
    objects: dict[str, Sealed]


def refused(finding: str) -> Refused:
    return Refused('archive_object', finding)


def parse_seal(data: bytes, size: int) -> Seal:
    """Returns the seal of `size` entries. Raises Refused with `archive_object` or the code of the
    seal's checkpoint.
    """
    name = f'seals/{size}'
    try:
        value = parse(data, ARCHIVE_SEAL_DEPTH_MAX).value
    except Refused:
        value = None
    if not _is_seal(value):
        raise refused(f'{name} is no seal')
    seal = _seal_of(value)
    if seal.size != size or seal.start >= size:
        raise refused(f'{name} is the seal of other entries')
    if (seal.previous is None) != (seal.start == 0):
        raise refused(f'{name} does not say what is before it')
    at = seal.start
    for piece in seal.pieces:
        if piece.start != at or not at < piece.end <= min(size, at + ARCHIVE_PIECE_ENTRIES_MAX):
            raise refused(f'{name} has a piece out of its place')
        at = piece.end
    if at != size:
        raise refused(f'{name} lacks a piece')
    if len(seal.objects) != len(value['objects']) or not _names_its_objects(seal):
        raise refused(f'{name} does not name the objects of its entries, each once and by its digest')
    if parse_checkpoint(seal.checkpoint).size != size:
        raise refused(f'{name} holds the checkpoint of another size')
    return seal


def _is_seal(value: Any) -> bool:
    return (
        _is_object(value, _SEAL)
        and f.is_integer(value['archive'], 1, 1)
        and _is_object(value['ledger'], _LEDGER)
        and all(isinstance(text, str) for text in value['ledger'].values())
        and _is_list(value['keys'], _is_key)
        and f.is_integer(value['from'], 0)
        and f.is_integer(value['size'], 1)
        and (value['previous'] is None or f.is_hex64(value['previous']))
        and isinstance(value['checkpoint'], str)
        and _is_list(value['erasures'], _is_erasure)
        and _is_list(value['pieces'], _is_piece)
        and _is_list(value['objects'], _is_sealed)
    )


def _is_object(value: Any, members: set[str]) -> bool:
    return isinstance(value, dict) and value.keys() == members


def _is_list(value: Any, check: Any) -> bool:
    return isinstance(value, list) and all(map(check, value))


def _is_key(value: Any) -> bool:
    return (
        _is_object(value, _KEY)
        and f.is_hex64(value['kid'])
        and value['use'] == 'envelope'
        and isinstance(value['alg'], str)
        and isinstance(value['spki'], str)
        and f.is_time(value['activatedAt'])
        and all(value[name] is None or f.is_time(value[name]) for name in ('retiredAt', 'compromisedAt'))
    )


def _is_erasure(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and all(f.is_integer(one, 0) for one in value[1:])


def _is_piece(value: Any) -> bool:
    return (
        _is_object(value, {'from', 'end', 'lines', 'documents'})
        and f.is_integer(value['from'], 0)
        and f.is_integer(value['end'], 0)
        and isinstance(value['lines'], str)
        and (value['documents'] is None or isinstance(value['documents'], str))
    )


def _is_sealed(value: Any) -> bool:
    return (
        _is_object(value, {'name', 'bytes', 'sha256'})
        and isinstance(value['name'], str)
        and f.is_integer(value['bytes'], 0, ARCHIVE_OBJECT_BYTES_MAX)
        and f.is_hex64(value['sha256'])
    )


def _seal_of(value: dict[str, Any]) -> Seal:
    return Seal(
        value['ledger'],
        value['keys'],
        int(value['from']),
        int(value['size']),
        value['previous'],
        value['checkpoint'],
        [(subject, int(of), int(seq)) for subject, of, seq in value['erasures']],
        [Piece(int(one['from']), int(one['end']), one['lines'], one['documents']) for one in value['pieces']],
        {one['name']: Sealed(int(one['bytes']), one['sha256']) for one in value['objects']},
    )


def _names_its_objects(seal: Seal) -> bool:
    """Whether the seal lists exactly the objects of its entries.

    Computes the names one by one and stops at the first difference. So a hostile seal with a huge
    size costs little.
    """
    left = set(seal.objects)
    for name, wanted in _wanted(seal):
        if name != wanted or name not in left:
            return False
        left.remove(name)
    return not left


def _wanted(seal: Seal) -> Iterator[tuple[str, str]]:
    for piece in seal.pieces:
        for kind, name in (('lines', piece.lines), ('documents', piece.documents)):
            if name is not None:
                found = seal.objects.get(name)
                yield name, f'{kind}/{piece.start}-{found.sha256}' if found is not None else ''
    for kind in ('entries', 'hashes'):
        for name in tiles_between(seal.start, seal.size, kind):
            yield name, name


def tile_name(level: int | str, tile: int, width: int) -> str:
    elements = [f'{tile % 1000:03d}']
    while tile >= 1000:
        tile //= 1000
        elements.insert(0, f'x{tile % 1000:03d}')
    return f'tile/{level}/{"/".join(elements)}' + ('' if width == TILE else f'.p/{width}')


def tiles_between(before: int, size: int, kind: str) -> Iterator[str]:
    """Yields the names of the bundles, or hash tiles, that a log of `size` entries has and a log of `before` entries does not."""
    level, unit = 0, 1
    while unit <= size:
        had, hashes = before // unit, size // unit
        if hashes > had:
            for tile in range(had // TILE, (hashes + TILE - 1) // TILE):
                yield tile_name('entries' if kind == 'entries' else level, tile, min(TILE, hashes - tile * TILE))
        if kind == 'entries':
            return
        level, unit = level + 1, unit * TILE


def split_bundle(bundle: bytes, width: int) -> list[bytes]:
    entries: list[bytes] = []
    at = 0
    while at + 2 <= len(bundle) and len(entries) < width:
        end = at + 2 + int.from_bytes(bundle[at : at + 2], 'big')
        entries.append(bundle[at + 2 : end])
        at = end
    if at != len(bundle) or len(entries) != width:
        raise refused(f'does not hold {width} entries, and nothing else')
    return entries


def split_documents(data: bytes, count: int) -> list[bytes]:
    """Splits sealed documents. Each document is empty, or has at least the length of the shortest
    ciphertext.
    """
    sealed: list[bytes] = []
    at = 0
    while at + 4 <= len(data) and len(sealed) < count:
        length = int.from_bytes(data[at : at + 4], 'big')
        if 0 < length < NONCE_BYTES + _TAG_BYTES:
            break
        sealed.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    if at != len(data) or len(sealed) != count:
        raise refused(f'does not hold {count} documents, and nothing else')
    return sealed


def plain_text(data: bytes) -> str:
    """Returns a decrypted document as text for a line of an export.

    Raises Refused unless the text is one object and nothing else: otherwise another document could follow it in the line.
    """
    value = parse(data, LINE_DEPTH_MAX - 2).value
    if not isinstance(value, dict) or not {'salt', 'document'} <= value.keys() <= {'salt', 'document', 'references'}:
        raise refused('holds a document of other members')
    if not isinstance(value['salt'], str) or ('references' in value and not is_references(value['references'])):
        raise refused('holds a document of another form')
    text = data.decode()
    if not text.startswith('{') or not text.endswith('}'):
        raise refused('holds a document with space around it')
    return text


def read_lines(data: bytes, piece: Piece) -> list[dict[str, Any]]:
    """Returns the lines of a piece, one for each entry. Raises Refused for any other lines."""
    *found, rest = _gunzip(data).split(b'\n')
    if rest:
        raise refused('ends within a line')
    lines: list[dict[str, Any]] = []
    for seq, line in enumerate(found, piece.start):
        lines.append(_line(line))
        if lines[-1]['seq'] != seq or seq >= piece.end:
            raise refused('holds lines of other entries')
    if len(lines) != piece.end - piece.start:
        raise refused('lacks lines')
    return lines


def _gunzip(data: bytes) -> bytes:
    """Decompresses one gzip member without optional fields. Raises Refused if anything follows it."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        text = inflater.decompress(data, ARCHIVE_LINES_BYTES_MAX + 1)
    except zlib.error:
        raise refused('is not one whole member of gzip') from None
    if not data.startswith(_GZIP) or not inflater.eof or inflater.unused_data or len(text) > ARCHIVE_LINES_BYTES_MAX:
        raise refused('is not one whole member of gzip')
    return text


def _line(data: bytes) -> dict[str, Any]:
    if len(data) > LINE_BYTES_MAX:
        raise refused(f'has a line of more than {LINE_BYTES_MAX} bytes')
    value = f.filled(parse(data, LINE_DEPTH_MAX).value, _LINE, NULLABLE | {'definition'})
    if value is None:
        raise refused('has a line of other members')
    check_head({**value, 'envelope': ''})
    if not f.is_hex64(value['chain']):
        raise refused('has a line of another form')
    _check_definition(value)
    _check_documents(value['documents'], value['items'])
    return value


def _check_definition(value: dict[str, Any]) -> None:
    """Checks that a definition is an object in canonical form, because its digest is signed and a restore reads it."""
    if (value['definition'] is not None) != (value['kind'] == 'type-registered'):
        raise refused('lacks a definition, or has one where none belongs')
    if value['definition'] is None:
        return
    if not isinstance(value['definition'], str):
        raise refused('has a definition that is no text')
    definition = parse_text(value['definition'], JSON_DEPTH_MAX).value
    if not isinstance(definition, dict) or canonical(definition) != value['definition'].encode():
        raise refused('has a definition that is not an object in canonical form')


def _check_documents(documents: list[Any], items: list[Any] | None) -> None:
    if len(documents) > ARCHIVE_ENTRY_DOCUMENTS_MAX:
        raise refused(f'has an entry with more than {ARCHIVE_ENTRY_DOCUMENTS_MAX} documents')
    if items is None:
        fits = all(map(_is_document, documents))
    else:
        fits = len(documents) == len(items) and all(map(_is_erased_by, documents)) and all(map(_is_item, items))
    if not fits:
        raise refused('has documents of another form')


def _is_document(value: Any) -> bool:
    return (
        _is_object(value, {'subject', 'digest', 'erasedBy'})
        and isinstance(value['subject'], str)
        and f.is_hex64(value['digest'])
        and _is_erased_by(value['erasedBy'])
    )


def _is_item(value: Any) -> bool:
    """Checks only `record` and `digest`. The rest of an item is checked with its batch."""
    return isinstance(value, dict) and isinstance(value.get('record'), str) and f.is_hex64(value.get('digest'))


def _is_erased_by(value: Any) -> bool:
    return value is None or f.is_integer(value, 0)


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()
