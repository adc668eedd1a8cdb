"""Checkpoints: C2SP signed notes with cosignatures of witnesses (docs/formats/chain-and-checkpoints.md, witnesses.md)."""

import re
from hashlib import sha256
from typing import NamedTuple

from .errors import Refused
from .formats import from_base64, is_key_name, to_base64, utf8_length
from .keys import EDDSA, Key, ed25519_raw, ed25519_spki, is_signed, parse_key
from .limits import COSIGNATURE_SECONDS_MAX, INTEGER_MAX, NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX

LOG = 0x01
WITNESS = 0x04
_TYPES = {1: 'Ed25519', 2: 'ECDSA', 4: 'Ed25519 cosignature', 5: 'RFC 6962 tree head', 6: 'ML-DSA-44 cosignature'}
"""All types that C2SP signed-note assigns. Only LOG and WITNESS are verified here."""
_CONTROL = re.compile('[\x00-\x09\x0b-\x1f]')
_SURROGATE = re.compile('[\ud800-\udfff]')
_SIZE = re.compile(r'(?:0|[1-9][0-9]{0,15})\Z')
_ID = re.compile(r'[0-9a-f]{8}\Z')


class NoteKey(NamedTuple):
    name: str
    id: bytes
    key: Key
    text: str


class Line(NamedTuple):
    name: str
    id: bytes
    signature: bytes


class Checkpoint(NamedTuple):
    origin: str
    size: int
    root: bytes
    chain: bytes
    text: str
    lines: tuple[Line, ...]
    note: str


def key_id(name: str, kind: int, raw: bytes) -> bytes:
    return sha256(name.encode() + b'\n' + bytes([kind]) + raw).digest()[:4]


def note_key(name: str, spki: bytes, kind: int = LOG) -> NoteKey:
    raw = ed25519_raw(spki)
    found = key_id(name, kind, raw)
    return NoteKey(name, found, parse_key(EDDSA, spki), f'{name}+{found.hex()}+{to_base64(bytes([kind]) + raw)}')


def parse_verifier_key(text: object, kind: int = LOG) -> NoteKey:
    if not isinstance(text, str) or text.count('+') < 2:
        raise Refused('verifier_key', 'a verifier key must be <name>+<id>+<key>')
    name, shown, encoded = text.split('+', 2)
    try:
        if not is_key_name(name):
            raise Refused('verifier_key', 'a verifier key must be <name>+<id>+<key>')
        data = from_base64(encoded, 'the key')
        if data[:1] != bytes([kind]):
            raise Refused('verifier_key', f'{name} has a key of type {_type_name(data[:1])}, not of type {_type_name(bytes([kind]))}')
        if not _ID.match(shown) or len(data) != 33:
            raise Refused('verifier_key', 'a verifier key must be <name>+<id>+<key>')
        key = note_key(name, ed25519_spki(data[1:]), kind)
    except Refused as refused:
        raise Refused('verifier_key', refused.reason) from None
    if key.id.hex() != shown:
        raise Refused('verifier_key', 'the key id does not match the key')
    return key


def _type_name(kind: bytes) -> str:
    """Returns the type of a key for messages, such as `06 (ML-DSA-44 cosignature)`. The name shows
    that the key is valid, but its type is not supported.
    """
    return f'{kind.hex()} ({_TYPES.get(kind[0], "unknown")})' if kind else 'none'


def parse_checkpoint(note: str) -> Checkpoint:
    text, lines = _parse_note(note)
    parts = text.split('\n')
    if len(parts) != 5 or parts[4] or not is_key_name(parts[0]) or not _SIZE.match(parts[1]) or not parts[3].startswith('chain '):
        raise Refused('checkpoint_syntax', 'a checkpoint must have exactly the lines origin, size, root and chain')
    size = int(parts[1])
    root, chain = _hash(parts[2]), _hash(parts[3][6:])
    if size > INTEGER_MAX:
        raise Refused('checkpoint_syntax', 'the size is larger than 2^53 - 1')
    return Checkpoint(parts[0], size, root, chain, text, lines, note)


def _hash(text: str) -> bytes:
    try:
        found = from_base64(text, 'a hash')
    except Refused as refused:
        raise Refused('checkpoint_syntax', refused.reason) from None
    if len(found) != 32:
        raise Refused('checkpoint_syntax', f'a hash has {len(found)} bytes, not 32')
    return found


def _parse_note(note: str) -> tuple[str, tuple[Line, ...]]:
    if utf8_length(note) > NOTE_BYTES_MAX:
        raise Refused('note_syntax', f'the note has more than {NOTE_BYTES_MAX} bytes')
    if _CONTROL.search(note) or _SURROGATE.search(note):
        raise Refused('note_syntax', 'the note has a control character or a lone surrogate')
    text, blank, signatures = note.rpartition('\n\n')
    if not blank or not signatures.endswith('\n'):
        raise Refused('note_syntax', 'a note must have a text, a blank line, signatures, and a newline at its end')
    lines = signatures[:-1].split('\n')
    if not 1 <= len(lines) <= NOTE_SIGNATURES_MAX:
        raise Refused('note_syntax', f'the note has {len(lines)} signatures, not 1 to {NOTE_SIGNATURES_MAX}')
    return text + '\n', tuple(_line(line) for line in lines)


def _line(line: str) -> Line:
    parts = line.split(' ')
    if len(parts) != 3 or parts[0] != '\u2014' or not is_key_name(parts[1]):
        raise Refused('note_syntax', f'this line of the note is not a signature: {line[:80]!r}')
    try:
        data = from_base64(parts[2], 'a signature')
    except Refused as refused:
        raise Refused('note_syntax', refused.reason) from None
    if len(data) < 5:
        raise Refused('note_syntax', 'a signature is empty')
    return Line(parts[1], data[:4], data[4:])


def check_note(checkpoint: Checkpoint, key: NoteKey) -> None:
    if checkpoint.origin != key.name:
        raise Refused('checkpoint_foreign', f'the checkpoint belongs to {checkpoint.origin!r}, not to {key.name!r}')
    signatures = [line for line in checkpoint.lines if line.name == key.name and line.id == key.id]
    if not signatures:
        raise Refused('note_unsigned', f'the checkpoint has no signature of {key.name}')
    for line in signatures:
        if not is_signed(key.key, line.signature, checkpoint.text.encode()):
            raise Refused('signature_invalid', f'the checkpoint’s signature by {key.name} does not verify')


class Cosignatures(NamedTuple):
    """Result of counting cosignatures.

    `unknown`: number of lines by keys that are neither the log's nor a given witness's. Such a line
    may be no cosignature, because a line does not name its key's type.
    """

    cosigned: int
    unknown: int


def count_cosignatures(checkpoint: Checkpoint, witnesses: list[NoteKey]) -> Cosignatures:
    """Counts each witness once. Raises Refused if a line of a witness does not verify."""
    found = 0
    for witness in witnesses:
        lines = [line for line in checkpoint.lines if line.name == witness.name and line.id == witness.id]
        for line in lines:
            seconds = int.from_bytes(line.signature[:8], 'big')
            message = f'cosignature/v1\ntime {seconds}\n{checkpoint.text}'.encode()
            is_timed = len(line.signature) == 72 and 0 < seconds <= COSIGNATURE_SECONDS_MAX
            if not is_timed or not is_signed(witness.key, line.signature[8:], message):
                raise Refused('signature_invalid', f'the cosignature by {witness.name} does not verify')
        found += bool(lines)
    known = {(witness.name, witness.id) for witness in witnesses}
    unknown = sum(line.name != checkpoint.origin and (line.name, line.id) not in known for line in checkpoint.lines)
    return Cosignatures(found, unknown)


def witnessed_sizes(notes: list[str], key: NoteKey, witnesses: list[NoteKey], least: int) -> list[int]:
    """Verifies the checkpoints of a ledger one by one. Returns the sizes that at least `least` of the
    witnesses cosigned.

    Raises Refused at the first bad checkpoint. Later checkpoints are then not read.
    """
    found: list[int] = []
    for note in notes:
        checkpoint = parse_checkpoint(note)
        check_note(checkpoint, key)
        if checkpoint.size == 0:
            raise Refused('checkpoint_mismatch', 'the checkpoint covers no entry, and such a checkpoint is never signed')
        if witnesses and count_cosignatures(checkpoint, witnesses).cosigned >= least:
            found.append(checkpoint.size)
    return found


def parse_witnesses(texts: list[str], least: int | None) -> tuple[list[NoteKey], int]:
    witnesses = [parse_verifier_key(text, WITNESS) for text in texts]
    if len({witness.name for witness in witnesses}) + len({witness.key.kid for witness in witnesses}) < 2 * len(witnesses):
        raise Refused('verifier_key', 'two witnesses have the same name or key, and would count twice')
    asked = len(witnesses) if least is None else least
    if asked < 1 and (texts or least is not None):
        raise Refused('witnesses_too_few', 'the number of needed witnesses must be 1 or more')
    if asked > len(witnesses):
        raise Refused(
            'witnesses_too_few', f'the number of needed witnesses must be 1 to {len(witnesses)}, the number of given witnesses, not {asked}'
        )
    return witnesses, asked
