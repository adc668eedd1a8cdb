"""Verifies a line of an export without the other lines (docs/formats/export.md, "Each line by
itself").
"""

from hashlib import sha256
from typing import Any, NamedTuple

from . import formats as f
from .envelope import Envelope, check_signature, parse_envelope
from .errors import Refused
from .keys import Key, parse_key
from .limits import LINE_DEPTH_MAX, REFERENCES_MAX, SALT_BYTES
from .merkle import leaf_hash, root_of
from .registered import Foreign, parse_registered
from .statement import Statement, check_claims, parse_statement
from .strict_json import canonical, parse

MEMBERS = frozenset(('seq', 'kind', 'recordedAt', 'leaf', 'envelope', 'documents'))
NULLABLE = frozenset(('items', 'received', 'signer'))
_DOCUMENT = frozenset(('subject', 'digest'))
_DOCUMENT_NULLABLE = frozenset(('salt', 'document', 'erasedBy', 'references'))
_ITEM = frozenset(('record', 'type', 'digest'))
_ITEM_OPTIONAL = {
    'onBehalfOf': lambda value: f.is_id_of(value, 'agt'),
    'occurredAt': f.is_time,
    'parent': lambda value: f.is_id_of(value, 'rec'),
    'references': f.is_hex64,
    'traceparent': f.is_traceparent,
}
STATEMENT = 'statement'
BATCH_ITEM_BITS = 12
ITEM_MASK = (1 << BATCH_ITEM_BITS) - 1


class Missing(NamedTuple):
    subject: str
    digest: str
    erased_by: int | None


class Batch(NamedTuple):
    first: int
    size: int
    agents: frozenset[str]
    types: frozenset[str]


class Received(NamedTuple):
    envelope: Envelope
    statement: Statement
    leaf: bytes


class Entry(NamedTuple):
    """Facts of an entry whose line was verified. The checks that compare several entries need them."""

    seq: int
    kind: str
    leaf: bytes
    chain: bytes
    ms: int
    recorded_at: str
    kid: bytes
    issuer: str
    statement: Statement | None
    foreign: Foreign | None
    signer: Key | None
    documents: int
    missing: tuple[Missing, ...]
    batch: Batch | None
    received: Received | None


Pending = dict[int, tuple[int, str, str]]
"""Seq, name and digest of a missing document, by the seq of the entry that erases it."""


def await_erasures(pending: Pending, entry: Entry) -> None:
    for missing in entry.missing:
        if missing.erased_by is None:
            continue
        if missing.erased_by <= entry.seq:
            raise Refused('erasure_unexplained', f'{missing.subject} was erased by seq {missing.erased_by}, before it existed')
        if missing.erased_by in pending:
            found = f'seq {missing.erased_by} is named as the erasure of {missing.subject} and of another document'
            raise Refused('erasure_unexplained', found)
        pending[missing.erased_by] = (entry.seq, missing.subject, missing.digest)


def take_erasure(pending: Pending, erased: set[tuple[int, str]], seq: int, statement: Statement) -> bool:
    """Records the erasure by entry `seq`. Returns whether a document is missing because of this
    erasure. Raises Refused.
    """
    of, subject = int(statement.predicate['seq']), statement.subjects[0]
    if (of, subject.name) in erased:
        raise Refused('duplicate_subject', f'{subject.name} of seq {of} is erased twice')
    erased.add((of, subject.name))
    missing = pending.pop(seq, None)
    if missing not in (None, (of, subject.name, subject.digest)):
        assert missing is not None
        raise Refused('erasure_unexplained', f'seq {seq} erases {subject.name} of seq {of}, not {missing[1]} of seq {missing[0]}')
    return missing is not None


def unpaired(entry: Entry, before: Entry | None) -> Refused:
    """Returns the error for an entry that breaks a pair. `before`: the statement directly before the entry, if there is one."""
    if before is not None:
        return Refused('statement_pair', f'seq {entry.seq} is {entry.kind}, but only statement-registered can follow a statement')
    return Refused('statement_pair', f'seq {entry.seq} is statement-registered, but the entry before it is not a statement')


class Context(NamedTuple):
    """Facts of the first line that are needed to verify the other lines."""

    keys: dict[bytes, Key]
    withheld: bool


def verify_line(data: bytes, context: Context) -> Entry:
    text = parse(data, LINE_DEPTH_MAX)
    value = f.filled(text.value, MEMBERS | {'chain'}, NULLABLE)
    if value is None:
        raise Refused('line_syntax', 'a line has missing or unknown members')
    if not f.is_hex64(value['chain']):
        raise Refused('line_syntax', 'chain does not have the required form')
    check_head(value)
    return verify_members(value, text.plain, context)


def verify_members(value: dict[str, Any], plain: bool, context: Context) -> Entry:
    """Verifies the parsed members of a line of an export or a bundle."""
    data = f.from_base64(value['envelope'], 'the envelope')
    read_documents(value)
    beside = None if value['received'] is None else f.from_base64(value['received'], 'the received envelope')
    if value['kind'] == STATEMENT:
        return _verify_foreign(value, data)
    envelope, statement, leaf, signer = verify_signed(value, data, context)
    check_definition(statement)
    batch = _verify_items(value, statement, plain)
    missing = verify_documents(value, statement, plain, context.withheld, value['items'])
    received = verify_received(beside, statement)
    return Entry(
        int(value['seq']),
        statement.kind,
        leaf,
        bytes.fromhex(value['chain']) if 'chain' in value else b'',
        statement.ms,
        value['recordedAt'],
        envelope.kid,
        envelope.issuer,
        statement,
        None,
        signer,
        len(value['documents']) - len(missing),
        missing,
        batch,
        received,
    )


def check_head(value: dict[str, Any]) -> None:
    if not f.is_integer(value['seq'], 0) or not isinstance(value['kind'], str):
        raise Refused('line_syntax', 'seq or kind does not have the required form')
    if not f.is_time(value['recordedAt']) or not f.is_hex64(value['leaf']) or not isinstance(value['envelope'], str):
        raise Refused('line_syntax', 'recordedAt, leaf or envelope does not have the required form')
    if value['items'] is not None and not isinstance(value['items'], list):
        raise Refused('line_syntax', 'items is neither null nor a list')
    if not isinstance(value['documents'], list):
        raise Refused('line_syntax', 'documents is not a list')
    if not (value['received'] is None or isinstance(value['received'], str)) or not (value['signer'] is None or is_signer(value['signer'])):
        raise Refused('line_syntax', 'received or signer does not have the required form')


def read_documents(value: dict[str, Any]) -> None:
    """Checks the documents of a line, and fills in their absent members."""
    value['documents'] = [_read_document(document) for document in value['documents']]


def _read_document(value: Any) -> dict[str, Any]:
    document = f.filled(value, _DOCUMENT, _DOCUMENT_NULLABLE)
    if document is None or not _is_document(document):
        raise Refused('line_syntax', 'a document does not have the required form')
    if document['salt'] is not None:
        parse_salt(document['salt'])
    return document


def _is_document(value: dict[str, Any]) -> bool:
    erased_by, salt = value['erasedBy'], value['salt']
    return (
        isinstance(value['subject'], str)
        and f.is_hex64(value['digest'])
        and (salt is None or isinstance(salt, str))
        and (erased_by is None or f.is_integer(erased_by, 0))
        and (value['references'] is None or is_references(value['references']))
    )


def is_references(value: Any) -> bool:
    return isinstance(value, list) and 1 <= len(value) <= REFERENCES_MAX and all(map(f.is_text, value))


def verify_signed(value: dict[str, Any], data: bytes, context: Context) -> tuple[Envelope, Statement, bytes, Key | None]:
    """Verifies envelope, signature and statement, and that the line agrees with them. Raises Refused."""
    envelope = parse_envelope(data)
    signer = None if value['signer'] is None else _signer(value['signer'], envelope)
    key = signer or context.keys.get(envelope.kid)
    if key is None:
        raise Refused('key_unknown', f'the key {envelope.kid.hex()} is unknown')
    check_signature(envelope, key)
    statement = parse_statement(envelope.payload)
    check_claims(envelope, statement)
    leaf = leaf_hash(data)
    check_agrees(value, statement, leaf)
    return envelope, statement, leaf, signer


def check_agrees(claims: dict[str, Any], statement: Statement, leaf: bytes) -> None:
    """Checks that a line or a proof names the leaf, kind and time that its envelope has."""
    for name, signed in (('leaf', leaf.hex()), ('kind', statement.kind), ('recordedAt', statement.predicate['recordedAt'])):
        if claims[name] != signed:
            raise Refused('line_contradicts_envelope', f'{name} is {signed} in the envelope, but {claims[name][:64]!r} in the line')


def _signer(value: dict[str, Any], envelope: Envelope) -> Key:
    """Returns the key in a line. Raises Refused unless it is the key of the envelope. No other
    function checks this.
    """
    key = parse_key(value['alg'], f.from_base64(value['spki'], 'a key'))
    if key.kid != envelope.kid:
        raise Refused(
            'line_contradicts_envelope', f'the line names the signer {key.kid.hex()}, but {envelope.kid.hex()} signed the envelope'
        )
    return key


def is_signer(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {'alg', 'spki'}
        and value['alg'] in ('EdDSA', 'ES256')
        and isinstance(value['spki'], str)
    )


def check_definition(statement: Statement) -> None:
    """Checks that a definition in a statement has the digest that the subject names, and that keys have their kids."""
    predicate, name = statement.predicate, statement.subjects[0].name
    definition: object = None
    keys: list[dict[str, Any]] = []
    if statement.kind == 'ledger-created':
        definition = predicate['definition']
        keys = [predicate['definition']['envelopeKey']]
    elif statement.kind in ('agent-registered', 'agent-disabled'):
        definition = {'agent': predicate['agent'], 'name': predicate['name']}
    elif statement.kind in ('key-created', 'key-revoked'):
        definition = {'key': name, **{member: predicate[member] for member in ('agent', 'scopes', 'expiresAt')}}
    elif statement.kind == 'peer-added':
        definition = handshake(name, predicate)
        keys = [predicate[side]['envelopeKey'] for side in ('inviter', 'invited')]
    elif 'newKey' in predicate:
        keys = [predicate['newKey']]
    digest = statement.digest if definition is None else sha256(canonical(definition)).hexdigest()
    if digest != statement.digest:
        raise Refused('definition_mismatch', f'{name} has the digest {digest}, but {statement.digest} was signed')
    for key in keys:
        thumbprint = parse_key(key['alg'], f.from_base64(key['spki'], 'a key')).kid.hex()
        if thumbprint != key['kid']:
            raise Refused('kid_mismatch', f'the key’s thumbprint is {thumbprint}, not {key["kid"]}')


def handshake(peer: str, predicate: dict[str, Any]) -> dict[str, Any]:
    return {'peer': peer, **{member: predicate[member] for member in ('tokenHash', 'inviter', 'invited')}}


def _verify_items(value: dict[str, Any], statement: Statement, plain: bool) -> Batch | None:
    items = value['items']
    if statement.kind != 'batch-notarized':
        if items is not None:
            raise Refused('batch_contradicts_statement', f'{statement.kind} cannot have items')
        return None
    if items is None or len(items) != statement.predicate['count']:
        found = f'the batch has {len(items or ())} items, but {int(statement.predicate["count"])} were signed'
        raise Refused('batch_contradicts_statement', found)
    for item in items:
        check_item(item)
    root = root_of([leaf_hash(canonical(item, plain)) for item in items]).hex()
    if root != statement.digest:
        raise Refused('batch_contradicts_statement', f'the root of the items is {root}, but {statement.digest} was signed')
    first = f.id_number(items[0]['record'])
    for index, item in enumerate(items):
        if index != f.id_number(item['record']) & ITEM_MASK or f.id_number(item['record']) != first + index:
            raise Refused('batch_item', f'item {index} is {item["record"]}, which is not the next id of the batch')
    return Batch(
        first,
        len(items),
        frozenset(item['onBehalfOf'] for item in items if 'onBehalfOf' in item),
        frozenset(item['type'] for item in items),
    )


def check_count(statement: Statement, count: int) -> None:
    """Checks that the entry is a batch of `count` items."""
    if statement.kind != 'batch-notarized':
        raise Refused('batch_contradicts_statement', f'{statement.kind} cannot have items')
    if count != statement.predicate['count']:
        signed = int(statement.predicate['count'])
        raise Refused('batch_contradicts_statement', f'the item is of a batch of {count} items, but {signed} were signed')


def check_item(item: Any) -> None:
    fits = isinstance(item, dict) and item.keys() >= _ITEM
    if not fits or not (f.is_id_of(item['record'], 'rec') and f.is_type(item['type']) and f.is_hex64(item['digest'])):
        raise Refused('batch_item', 'an item has a missing or malformed member')
    for name in item.keys() - _ITEM:
        check = _ITEM_OPTIONAL.get(name)
        if check is None or not check(item[name]):
            raise Refused('batch_item', f'the member {name[:64]!r} of an item is unknown or malformed')


def documents_of(statement: Statement, items: list[dict[str, Any]] | None) -> list[tuple[str, str, str | None]]:
    """Returns the documents whose digests this entry is the first to contain. For each: subject,
    digest, and digest of its references.
    """
    if statement.kind == 'batch-notarized':
        return [(item['record'], item['digest'], item.get('references')) for item in items or ()]
    found: list[tuple[str, str, str | None]] = []
    subjects = statement.subjects
    if statement.kind in ('record-notarized', 'record-created'):
        found.append((subjects[0].name, subjects[0].digest, statement.predicate.get('references')))
    elif statement.kind in ('completion-submitted', 'step-offered') and len(subjects) > 1:
        found.append((subjects[1].name, subjects[1].digest, None))
    elif (statement.kind == 'completion-verified' or subjects[-1].name.endswith('/reason')) and statement.kind != 'payload-erased':
        found.append((subjects[-1].name, subjects[-1].digest, None))
    return found


def verify_documents(
    value: dict[str, Any],
    statement: Statement,
    plain: bool,
    withheld: bool,
    items: list[dict[str, Any]] | None,
) -> tuple[Missing, ...]:
    wanted, documents = documents_of(statement, items), value['documents']
    if len(documents) != len(wanted):
        raise Refused('document_presence', f'the entry has {len(documents)} documents, but {len(wanted)} were signed')
    missing: list[Missing] = []
    for document, (subject, digest, _) in zip(documents, wanted, strict=True):
        if document['subject'] != subject:
            raise Refused('document_presence', f'the entry has the document of {document["subject"][:64]!r} instead of {subject}')
        if document['digest'] != digest:
            raise Refused('document_digest', f'the line has the digest {document["digest"]} of {subject}, but {digest} was signed')
        if document['salt'] is None:
            missing.append(_missing(document, withheld))
        else:
            _check_document(document, plain, withheld)
    for document, (_, _, references) in zip(documents, wanted, strict=True):
        _check_beside(document, references, plain)
    return tuple(missing)


def _missing(document: dict[str, Any], withheld: bool) -> Missing:
    erased_by = document['erasedBy']
    if document['document'] is not None:
        raise Refused('document_presence', f'the document of {document["subject"]} has no salt, so it is only half erased')
    if erased_by is None and not withheld:
        raise Refused('document_presence', f'the document of {document["subject"]} is missing, and no erasure is named')
    return Missing(document['subject'], document['digest'], None if erased_by is None else int(erased_by))


def _check_document(document: dict[str, Any], plain: bool, withheld: bool) -> None:
    subject = document['subject']
    if withheld or document['erasedBy'] is not None or document['document'] is None:
        raise Refused('document_presence', f'the salt of {subject} is present, but its document is missing, erased or withheld')
    salt = parse_salt(document['salt'])
    check_digest(document['document'], salt, document['digest'], plain, subject)


def _check_beside(document: dict[str, Any], references: str | None, plain: bool) -> None:
    """Checks the references of a document. References are erased together with their document."""
    subject = document['subject']
    if document['salt'] is not None:
        check_references(document['references'], parse_salt(document['salt']), references, plain, subject)
    elif document['references'] is not None:
        raise Refused('document_presence', f'references of {subject} are present without their salt')


def parse_salt(value: object) -> bytes:
    if not isinstance(value, str):
        raise Refused('line_syntax', 'a salt is not a text')
    salt = f.from_base64url(value)
    if salt is None:
        raise Refused('bad_base64url', 'a salt is not canonical base64url')
    if len(salt) != SALT_BYTES:
        raise Refused('line_syntax', f'a salt has {len(salt)} bytes, not {SALT_BYTES}')
    return salt


def check_digest(document: Any, salt: bytes, digest: str, plain: bool, subject: str) -> None:
    found = sha256(b'\x03' + salt + canonical(document, plain)).hexdigest()
    if found != digest:
        raise Refused('document_digest', f'{subject} has the digest {found}, but {digest} was signed')


def check_references(value: Any, salt: bytes, digest: str | None, plain: bool, subject: str) -> None:
    if (value is not None) != (digest is not None):
        raise Refused(
            'document_presence', f'the references of {subject} are {"signed, but missing" if value is None else "present, but not signed"}'
        )
    if value is None or digest is None:
        return
    check_digest(value, salt, digest, plain, f'the list of references of {subject}')


def verify_received(data: bytes | None, statement: Statement) -> Received | None:
    claim = statement.predicate.get('received') or statement.predicate.get('offer')
    if (claim is None) != (data is None):
        raise Refused('received_mismatch', f'{statement.kind} {"must" if data is None else "cannot"} have a received entry')
    if claim is None or data is None:
        return None
    envelope = parse_envelope(data)
    received = parse_statement(envelope.payload)
    check_claims(envelope, received)
    check_definition(received)
    leaf = leaf_hash(data)
    _check_claim(claim, received, leaf)
    if 'offer' in statement.predicate:
        _check_offer(statement, received)
    elif statement.kind == 'peer-key-rotated':
        if canonical(received.predicate['newKey']) != canonical(statement.predicate['newKey']):
            raise Refused('received_mismatch', 'newKey differs from the new key that the received entry names')
    else:
        _check_addressed(received, statement.predicate['peer'])
    return Received(envelope, received, leaf)


def _check_claim(claim: dict[str, Any], received: Statement, leaf: bytes) -> None:
    if claim['leaf'] != leaf.hex() or claim['ledger'] != received.ledger:
        raise Refused('received_mismatch', 'the received entry has another leaf or ledger than the entry names')
    if 'kind' not in claim:
        if received.kind != 'step-offered':
            raise Refused('received_mismatch', f'the received entry is {received.kind}, not step-offered')
        return
    event = ('version' in received.predicate and 'from' in received.predicate) or received.kind == 'record-created'
    said = (claim['kind'], claim['record'], claim['version'])
    version = received.predicate.get('version') if event else None
    if said != (received.kind, received.predicate.get('record'), version):
        raise Refused('received_mismatch', 'the received entry has another kind, record or version than the entry names')


def _check_addressed(received: Statement, peer: str) -> None:
    """If a received entry names a peering, checks that this is the peering through which the entry
    came.
    """
    named, code = peer, 'received_mismatch'
    if received.kind == 'record-shared':
        named = peer if any(share['peer'] == peer for share in received.predicate['share']) else ''
        code = 'not_shared'
    elif received.kind == 'step-offered':
        named, code = received.predicate['peer'], 'offer_mismatch'
    elif received.kind == 'offer-refused':
        named = received.predicate['peer']
    elif received.kind in ('peer-added', 'peer-revoked'):
        named = received.subjects[0].name
    if named != peer:
        raise Refused(code, f'{received.kind} belongs to another peering than {peer}')


def _check_offer(statement: Statement, offer: Statement) -> None:
    step, offered = statement.predicate, offer.predicate
    agent = str(step['actor']).partition('/')[2]
    names = ('record', 'version', 'previous', 'completion')
    said = (step['offer']['peer'], statement.kind, agent, *map(step.get, names))
    wanted = (offered['peer'], offered['step'], offer.party, *map(offered.get, names))
    if said != wanted or [s.digest for s in statement.subjects] != [s.digest for s in offer.subjects]:
        raise Refused('offer_mismatch', 'the step differs from the one that was offered')


def _verify_foreign(value: dict[str, Any], data: bytes) -> Entry:
    foreign = parse_registered(data)
    if value['leaf'] != foreign.leaf.hex():
        raise Refused('line_contradicts_envelope', f'leaf is {foreign.leaf.hex()} in the envelope, but {value["leaf"]!r} in the line')
    if value['documents'] or value['items'] is not None or value['received'] is not None or value['signer'] is not None:
        raise Refused('document_presence', 'a registered statement cannot have documents, items, a received entry or a signer')
    return Entry(
        int(value['seq']),
        STATEMENT,
        foreign.leaf,
        bytes.fromhex(value['chain']) if 'chain' in value else b'',
        f.time_of(value['recordedAt']),
        value['recordedAt'],
        foreign.kid,
        foreign.issuer,
        None,
        foreign,
        None,
        0,
        (),
        None,
        None,
    )
