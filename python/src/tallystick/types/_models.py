# Made by `npm run python -- generate`; not to be edited.

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from tallystick._core.model import Model


class Agent(Model):
    id: str
    name: str
    registered_at: Annotated[str, Field(alias='registeredAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    disabled_at: Annotated[str | None, Field(alias='disabledAt')]


class ApiKeySecrets(Model):
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class AuditProgress(Model):
    entries_done: Annotated[int, Field(alias='entriesDone')]
    entries_total: Annotated[int | None, Field(alias='entriesTotal')]


class AuditError(Model):
    """
    why the newest of up to six attempts failed. null: no attempt has failed, or the audit is done
    """

    code: Literal['unavailable', 'denied', 'not_a_ledger', 'io', 'archive_unavailable', 'worker_lost', 'internal'] | str
    reason: str


class AuditReportFailure(Model):
    seq: int | None
    """
    seq of the first bad entry; null: the fault is in no single entry
    """
    code: str
    reason: str


class AuditReport(Model):
    entries: int
    """
    number of verified entries
    """
    records: int
    keys: Literal['self-asserted', 'pinned', 'given'] | str
    """
    why the keys are trusted. self-asserted: the ledger names them; pinned: its first key was pinned; given: the verifier named them
    """
    first_kid: Annotated[str | None, Field(alias='firstKid')]
    checkpoint: Literal['given', 'own', 'none'] | str
    """
    the trusted checkpoint. given: stored by the worker outside the database; own: from the ledger itself
    """
    covered: int
    """
    size of the largest trusted checkpoint that the ledger continues
    """
    failure: AuditReportFailure | None
    notices: list[str]
    """
    what could not be checked
    """


class BatchRecords(Model):
    id: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None


class BatchEventDataSubjects(Model):
    name: str
    sha256: str
    """
    SHA-256, lower-case hex
    """


class BatchEventDataBatch(Model):
    id: str
    count: int
    types: dict[str, int]
    """
    number of records by type
    """
    records: str
    """
    address from which to read the records; needs the scope audit:read
    """


class BatchEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class CheckpointEventDataCheckpoint(Model):
    size: int
    """
    number of entries that the checkpoint covers
    """
    note: str
    """
    a signed note: origin, size, Merkle root, chain hash, signatures
    """


class CheckpointEventData(Model):
    ledger: str
    record: None
    entry: None
    checkpoint: Annotated[CheckpointEventDataCheckpoint, Field(title='CheckpointEventDataCheckpoint')]


class CheckpointPlace(Model):
    size: int
    published_at: Annotated[str, Field(alias='publishedAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class Completion(Model):
    id: str
    evidence: dict[str, Any] | None
    """
    null: erased
    """
    by: str | Literal['system']
    """
    the party: onBehalfOf, or else the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    seq of the step’s entry
    """
    salt: str | None
    digest: str | None
    """
    digest of the salted document; null: the step has none
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """


class ConsistencyProof(Model):
    from_: Annotated[int, Field(alias='from')]
    to: int
    path: list[str]
    """
    RFC 9162 consistency proof
    """


class DeliveryAttemptLog(Model):
    at: str
    """
    RFC 3339, UTC, milliseconds
    """
    duration_ms: Annotated[int, Field(alias='durationMs')]
    status: int | None
    """
    HTTP status of the answer; null: no answer
    """
    error: str | None
    """
    why the attempt failed, as a word for programs
    """
    reason: (
        Literal[
            'CERT_HAS_EXPIRED',
            'CERT_NOT_YET_VALID',
            'ERR_TLS_CERT_ALTNAME_INVALID',
            'DEPTH_ZERO_SELF_SIGNED_CERT',
            'SELF_SIGNED_CERT_IN_CHAIN',
            'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
            'UNABLE_TO_GET_ISSUER_CERT',
            'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
            'CERT_REVOKED',
            'CERT_SIGNATURE_FAILURE',
            'CERT_CHAIN_TOO_LONG',
            'CERT_UNTRUSTED',
            'CERT_REJECTED',
            'INVALID_CA',
            'INVALID_PURPOSE',
            'PATH_LENGTH_EXCEEDED',
            'ERR_SSL_WRONG_VERSION_NUMBER',
            'ERR_SSL_PACKET_LENGTH_TOO_LONG',
            'ERR_SSL_UNSUPPORTED_PROTOCOL',
            'ERR_SSL_ALERT_PROTOCOL_VERSION',
            'ERR_SSL_ALERT_HANDSHAKE_FAILURE',
            'ERR_SSL_ALERT_NO_APPLICATION_PROTOCOL',
            'ERR_SSL_ALERT_UNRECOGNIZED_NAME',
            'ERR_SSL_ALERT_INTERNAL_ERROR',
            'ERR_SSL_ALERT_BAD_CERTIFICATE',
            'ECONNRESET',
            'OTHER',
        ]
        | str
        | None
    )
    """
    code of Node or OpenSSL, for the error `tls_failed`
    """
    excerpt: str | None
    """
    start of the answer’s body; null: no answer, or answers of this address are not stored
    """


class Delivery(Model):
    id: str
    """
    id of the event: the header `webhook-id`
    """
    event: str
    record: str | None
    seq: int | None
    """
    seq of the entry, or of the last entry of the checkpoint; null: the event is about an endpoint
    """
    state: Literal['pending', 'held', 'delivered', 'dead'] | str
    """
    held: an earlier event of the record is pending; dead: given up
    """
    attempts: int
    due_at: Annotated[str | None, Field(alias='dueAt')]
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    finished_at: Annotated[str | None, Field(alias='finishedAt')]
    attempt_log: Annotated[list[DeliveryAttemptLog], Field(alias='attemptLog')]
    """
    the newest attempts, oldest first
    """


class DeliverySummary(Model):
    id: str
    """
    id of the event: the header `webhook-id`
    """
    event: str
    record: str | None
    seq: int | None
    """
    seq of the entry, or of the last entry of the checkpoint; null: the event is about an endpoint
    """
    state: Literal['pending', 'held', 'delivered', 'dead'] | str
    """
    held: an earlier event of the record is pending; dead: given up
    """
    attempts: int
    due_at: Annotated[str | None, Field(alias='dueAt')]
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    finished_at: Annotated[str | None, Field(alias='finishedAt')]


class EntryLineDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class EntryLineSigner(Model):
    """
    the key of the agent that signed the entry; absent: the server signed it
    """

    alg: Literal['EdDSA', 'ES256'] | str
    spki: str


class EntryPlace(Model):
    seq: int
    """
    position in the chain, from 0
    """
    kind: (
        Literal[
            'ledger-created',
            'server-key-rotated',
            'agent-registered',
            'agent-disabled',
            'agent-key-registered',
            'agent-key-revoked',
            'key-created',
            'key-revoked',
            'type-registered',
            'record-notarized',
            'batch-notarized',
            'record-created',
            'record-activated',
            'completion-submitted',
            'completion-verified',
            'verdict-rendered',
            'verdict-overturned',
            'revision-requested',
            'record-cancelled',
            'record-expired',
            'payload-erased',
            'ledger-restored',
            'peer-added',
            'peer-suspended',
            'peer-resumed',
            'peer-revoked',
            'peer-key-rotated',
            'record-shared',
            'entry-received',
            'step-offered',
            'offer-refused',
            'registration-policy-set',
            'statement-registered',
            'retention-set',
            'hold-set',
            'hold-lifted',
            'subject-erased',
            'export-made',
        ]
        | str
    )
    leaf: str
    """
    SHA-256, lower-case hex
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class ErasableDocument(Model):
    document: Literal['payload', 'evidence', 'values', 'reason'] | str
    seq: int
    """
    seq of the entry that has the document’s digest
    """
    completion: str | None
    """
    the completion that has the evidence or the compared values
    """
    address: str
    """
    the address of the request that erases the document
    """


class Erasure(Model):
    document: Literal['payload', 'evidence', 'values', 'reason'] | str
    document_seq: Annotated[int, Field(alias='documentSeq')]
    """
    seq of the entry that has the digest of the erased document
    """
    completion: str | None
    """
    the completion that has the evidence or the compared values
    """
    code: str
    """
    the reason, as a word for programs
    """
    reason: str | None
    """
    not signed
    """
    by: str
    key: str
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    entry: EntryPlace


class ErasureAnswer(Model):
    id: str
    erasure: Erasure
    remaining: list[ErasableDocument]
    """
    the record’s other documents, oldest first
    """


class ErasureEventDataSubjects(Model):
    name: str
    sha256: str
    """
    SHA-256, lower-case hex
    """


class ErasureEventDataRecord(Model):
    id: str
    type: str
    """
    name/version of a type
    """
    state: None
    """
    null, because an erasure is not a step
    """
    version: None


class ErasureEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class ErasureEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[ErasureEventDataSubjects]
    """
    the signed subjects
    """
    predicate: Annotated[dict[str, Any], Field(title='ErasureEventDataPredicate')]
    """
    the signed predicate: `GET /predicates/{kind}/v1` describes it
    """
    record: Annotated[ErasureEventDataRecord, Field(title='ErasureEventDataRecord')]
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[ErasureEventDataDocuments] | None = None
    """
    documents of the entry; a batch has none
    """


class ExportMadeEntry(Model):
    """
    the entry `export-made`, which names who exported what
    """

    seq: int
    """
    position in the chain, from 0
    """


class ExportMade(Model):
    entry: Annotated[ExportMadeEntry, Field(title='ExportMadeEntry')]
    """
    the entry `export-made`, which names who exported what
    """
    from_: Annotated[int, Field(alias='from')]
    """
    position in the chain, from 0
    """
    to: int
    """
    position in the chain, from 0
    """


class HashedItem(Model):
    record: str
    type: str
    """
    name/version of a type
    """
    digest: str
    """
    SHA-256, lower-case hex
    """
    on_behalf_of: Annotated[str | None, Field(alias='onBehalfOf')] = None
    occurred_at: Annotated[str | None, Field(alias='occurredAt')] = None
    """
    RFC 3339, UTC, milliseconds
    """
    parent: str | None = None
    references: str | None = None
    """
    digest of the salted references
    """
    traceparent: str | None = None


class Hold(Model):
    seq: int
    """
    seq of the entry that set the hold
    """
    case: str
    """
    name of the case in your files; signed and stored for ever, so it must not name a person
    """
    type: str | None
    agent: str | None
    records: list[str] | None
    set_at: Annotated[str, Field(alias='setAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    lifted_by: Annotated[int | None, Field(alias='liftedBy')]
    """
    seq of the entry that lifted the hold; null: the hold is in force
    """


class KeyRevocationSecrets(Model):
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class KeyWithSecretSecrets(Model):
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class Ledger(Model):
    id: str
    name: str
    issuer: str
    origin: str
    note_verifier_key: Annotated[str, Field(alias='noteVerifierKey')]
    """
    the key that signs the ledger’s checkpoints, as a C2SP verifier key
    """


class ErasureEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal['payload.erased']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: ErasureEventData


class CheckpointEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal['checkpoint.published']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: CheckpointEventData


class UnknownEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: str
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: Any


class LedgerRestoreKnown(Model):
    """
    the newest checkpoint stored outside the database
    """

    size: int
    """
    number of entries
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class LedgerRestoreFound(Model):
    """
    head that the database has, or had when the ledger was reopened
    """

    size: int
    """
    number of entries
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class LedgerRestoreEntry(Model):
    """
    the entry that reopened the ledger; null: the ledger is closed
    """

    seq: int
    """
    position in the chain, from 0
    """
    kind: Literal['ledger-restored'] | str
    leaf: str
    """
    SHA-256, lower-case hex
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class LedgerRestore(Model):
    ledger: str
    known: Annotated[LedgerRestoreKnown, Field(title='LedgerRestoreKnown')]
    """
    the newest checkpoint stored outside the database
    """
    found: Annotated[LedgerRestoreFound, Field(title='LedgerRestoreFound')]
    """
    head that the database has, or had when the ledger was reopened
    """
    closed_at: Annotated[str, Field(alias='closedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    entry: LedgerRestoreEntry | None
    """
    the entry that reopened the ledger; null: the ledger is closed
    """


class LedgerSummaryFault(Model):
    """
    why the ledger does not verify. It gets no checkpoints until the operator clears the fault
    """

    seq: int | None
    """
    seq of the first bad entry; null: the fault is in no single entry
    """
    code: str
    found_at: Annotated[str, Field(alias='foundAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class LedgerTiles(Model):
    tiles: Literal['key', 'public'] | str
    """
    who may read the ledger’s tiles. key: only keys with audit:read; public: anybody
    """


class Liveness(Model):
    status: Literal['ok'] | str
    version: str


class NewLedgerLedger(Model):
    id: str
    name: str
    issuer: str
    origin: str


class NewLedgerAgent(Model):
    id: str
    name: str


class NewPeerDrain(Model):
    """
    how entries are sent to the peer; null: nothing to send yet
    """

    behind: int
    """
    entries of this ledger that were not examined for this peer yet; most do not concern it
    """
    failures: int
    """
    failed requests in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    last_error: Annotated[str | None, Field(alias='lastError')]
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before this time
    """
    dead_letters: Annotated[int, Field(alias='deadLetters')]
    forks: int
    """
    contradicting entries that the peer signed; counted up to 100
    """


class NewPeerBudgetEntries(Model):
    used: int
    """
    entries used today; the last request may exceed the budget
    """
    per_day: Annotated[int, Field(alias='perDay')]


class NewPeerBudgetBytes(Model):
    used: int
    """
    bytes used today; the last request may exceed the budget
    """
    per_day: Annotated[int, Field(alias='perDay')]


class NewPeerBudget(Model):
    """
    how much the peer may store here in a day, and has stored
    """

    entries: Annotated[NewPeerBudgetEntries, Field(title='NewPeerBudgetEntries')]
    bytes: Annotated[NewPeerBudgetBytes, Field(title='NewPeerBudgetBytes')]
    resets_at: Annotated[str | None, Field(alias='resetsAt')]
    """
    when the day of the budget ends; null: nothing is used
    """


class NewPeerWitnessFork(Model):
    """
    two different checkpoints of one size, both signed by the peer’s ledger
    """

    held: str
    note: str


class NewPeerWitness(Model):
    """
    cosignatures in both directions; null before the handshake
    """

    own_key: Annotated[str | None, Field(alias='ownKey')]
    """
    key with which this ledger cosigns the peer’s checkpoints; null: it does not cosign
    """
    key: str | None
    """
    key with which the peer cosigns this ledger’s checkpoints; null: unknown
    """
    cosigned_size: Annotated[int, Field(alias='cosignedSize')]
    """
    size of this ledger that the peer has cosigned
    """
    seen_size: Annotated[int, Field(alias='seenSize')]
    """
    size of the peer’s ledger that this ledger has cosigned
    """
    fork: NewPeerWitnessFork | None
    """
    two different checkpoints of one size, both signed by the peer’s ledger
    """


class Offer(Model):
    state: Literal['pending', 'taken', 'refused'] | str
    step: Literal['record-activated', 'completion-submitted'] | str
    version: int
    """
    version of the record after the step
    """
    completion: str | None
    """
    the offered completion; null: the step is not a completion
    """
    by: str
    """
    the party: onBehalfOf, or else the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    seq of the offer’s entry in this ledger
    """
    code: str | None
    """
    reason of the refusal, as a code; null: not refused
    """
    decided_by: Annotated[int | None, Field(alias='decidedBy')]
    """
    seq of the entry that received the home’s decision
    """


class OtlpSettings(Model):
    take: Literal['agents', 'all'] | str
    """
    agents: accept only spans and logs about actions of agents; all: accept all
    """
    content: Literal['digest', 'keep'] | str
    """
    attributes with content. digest: store their digests; keep: store the values
    """
    rest: Literal['reject', 'drop'] | str
    """
    spans and logs that are not accepted. reject: the answer reports their number; drop: it does not
    """


class PeerDrain(Model):
    """
    how entries are sent to the peer; null: nothing to send yet
    """

    behind: int
    """
    entries of this ledger that were not examined for this peer yet; most do not concern it
    """
    failures: int
    """
    failed requests in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    last_error: Annotated[str | None, Field(alias='lastError')]
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before this time
    """
    dead_letters: Annotated[int, Field(alias='deadLetters')]
    forks: int
    """
    contradicting entries that the peer signed; counted up to 100
    """


class PeerBudgetEntries(Model):
    used: int
    """
    entries used today; the last request may exceed the budget
    """
    per_day: Annotated[int, Field(alias='perDay')]


class PeerBudgetBytes(Model):
    used: int
    """
    bytes used today; the last request may exceed the budget
    """
    per_day: Annotated[int, Field(alias='perDay')]


class PeerBudget(Model):
    """
    how much the peer may store here in a day, and has stored
    """

    entries: Annotated[PeerBudgetEntries, Field(title='PeerBudgetEntries')]
    bytes: Annotated[PeerBudgetBytes, Field(title='PeerBudgetBytes')]
    resets_at: Annotated[str | None, Field(alias='resetsAt')]
    """
    when the day of the budget ends; null: nothing is used
    """


class PeerWitnessFork(Model):
    """
    two different checkpoints of one size, both signed by the peer’s ledger
    """

    held: str
    note: str


class PeerWitness(Model):
    """
    cosignatures in both directions; null before the handshake
    """

    own_key: Annotated[str | None, Field(alias='ownKey')]
    """
    key with which this ledger cosigns the peer’s checkpoints; null: it does not cosign
    """
    key: str | None
    """
    key with which the peer cosigns this ledger’s checkpoints; null: unknown
    """
    cosigned_size: Annotated[int, Field(alias='cosignedSize')]
    """
    size of this ledger that the peer has cosigned
    """
    seen_size: Annotated[int, Field(alias='seenSize')]
    """
    size of the peer’s ledger that this ledger has cosigned
    """
    fork: PeerWitnessFork | None
    """
    two different checkpoints of one size, both signed by the peer’s ledger
    """


class PeerFork(Model):
    leaf: str
    """
    leaf of the refused entry
    """
    seq: int
    """
    position in the peer’s chain, as the peer stated it
    """
    record: str | None
    version: int | None
    held: str
    """
    leaf of the stored entry that the refused entry contradicts
    """
    envelope: str
    """
    COSE_Sign1 of the refused entry, signed by the peer
    """
    seen_at: Annotated[str, Field(alias='seenAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class PeerIdentityEnvelopeKey(Model):
    kid: str
    alg: Literal['EdDSA', 'ES256'] | str
    spki: str


class PeerIdentity(Model):
    ledger: str
    url: str
    origin: str
    genesis: str
    envelope_key: Annotated[
        PeerIdentityEnvelopeKey,
        Field(alias='envelopeKey', title='PeerIdentityEnvelopeKey'),
    ]


class PeerReconciliationSent(Model):
    """
    from this server to the peer
    """

    records: int
    """
    records of this ledger that are shared with the peer
    """
    entries: int
    """
    entries about these records, about offers of both sides, and about the peering; none about keys
    """
    acknowledged: int
    """
    sent entries with a signed receipt stored here
    """
    in_flight: Annotated[int, Field(alias='inFlight')]
    """
    sent entries without a receipt; after the peering is revoked they get none
    """
    dead_letters: Annotated[int, Field(alias='deadLetters')]
    """
    sent entries that the other side refused for good
    """


class PeerReconciliationReceived(Model):
    """
    from the peer to this server
    """

    records: int
    """
    records of the other ledger
    """
    entries: int
    forks: int
    """
    refused entries that contradict stored ones
    """


class PeerReconciliationOffersMade(Model):
    """
    offers by agents of this ledger
    """

    pending: int
    taken: int
    refused: int


class PeerReconciliationOffersAnswered(Model):
    """
    offers by agents of the other ledger
    """

    taken: int
    refused: int


class PeerReconciliationOffers(Model):
    made: Annotated[PeerReconciliationOffersMade, Field(title='PeerReconciliationOffersMade')]
    """
    offers by agents of this ledger
    """
    answered: Annotated[
        PeerReconciliationOffersAnswered,
        Field(title='PeerReconciliationOffersAnswered'),
    ]
    """
    offers by agents of the other ledger
    """


class PeerReconciliationSummaryDifferencesOurs(Model):
    version: int
    leaf: str
    """
    SHA-256, lower-case hex
    """


class PeerReconciliationSummaryDifferencesTheirs(Model):
    version: int
    leaf: str
    """
    SHA-256, lower-case hex
    """


class PeerReconciliationSummaryDifferences(Model):
    record: str
    difference: Literal['leaf', 'unknown', 'theirs_behind', 'ours_behind'] | str
    """
    leaf: the same version is a different entry; unknown: the peer has a version of our record that our chain lacks; theirs_behind, ours_behind: that side has fewer versions
    """
    home: Literal['ours', 'theirs'] | str | None
    """
    null: this ledger has nothing of the record
    """
    ours: PeerReconciliationSummaryDifferencesOurs | None
    theirs: PeerReconciliationSummaryDifferencesTheirs | None


class PeerReconciliationSummary(Model):
    """
    the other side’s summary, compared with what is stored here now; null: not requested yet
    """

    at: str
    """
    when the summary was requested
    """
    whole: bool
    """
    false: the peer has more records than a summary covers; the others are not compared
    """
    records: int
    """
    records in the summary
    """
    faults: int
    """
    records with a difference that should never occur
    """
    behind: int
    """
    records of which one side has fewer versions
    """
    differences: list[PeerReconciliationSummaryDifferences]
    """
    faults first
    """


class PeerReconciliation(Model):
    peer: str
    state: Literal['invited', 'pending', 'active', 'suspended', 'revoked'] | str
    reconciled: bool
    """
    whether both sides have the same entries, according to the other side’s last summary; entries under way do not count
    """
    reasons: list[Literal['not_asked', 'summary_incomplete', 'records_differ', 'dead_letters', 'forks'] | str]
    """
    why the ledgers are not reconciled; empty if they are
    """
    sent: Annotated[PeerReconciliationSent, Field(title='PeerReconciliationSent')]
    """
    from this server to the peer
    """
    received: Annotated[PeerReconciliationReceived, Field(title='PeerReconciliationReceived')]
    """
    from the peer to this server
    """
    offers: Annotated[PeerReconciliationOffers, Field(title='PeerReconciliationOffers')]
    summary: PeerReconciliationSummary | None
    """
    the other side’s summary, compared with what is stored here now; null: not requested yet
    """
    asking: bool
    """
    whether a new summary is being requested
    """


class PeerReplay(Model):
    replayed: int


class PreviewErrors(Model):
    path: str
    """
    a JSON Pointer into the request
    """
    keyword: str
    message: str


class ProblemHolds(Model):
    seq: int
    """
    position in the chain, from 0
    """
    case: str


class PublishedKey(Model):
    kid: str
    """
    SHA-256, lower-case hex
    """
    use: Literal['envelope'] | str
    alg: Literal['EdDSA', 'ES256'] | str
    spki: str
    """
    DER SubjectPublicKeyInfo
    """
    activated_at: Annotated[str, Field(alias='activatedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    retired_at: Annotated[str | None, Field(alias='retiredAt')]
    compromised_at: Annotated[str | None, Field(alias='compromisedAt')]


class RateLimit(Model):
    requests_per_second: Annotated[float, Field(alias='requestsPerSecond')]
    burst: int
    """
    number of requests that are accepted at once after a pause
    """


class RateLimitAnswer(Model):
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]


class Readiness(Model):
    status: Literal['ready'] | str
    version: str


class ReceivedEventDataSubjects(Model):
    name: str
    sha256: str
    """
    SHA-256, lower-case hex
    """


class ReceivedEventDataReceived(Model):
    """
    the received entry of the other ledger
    """

    ledger: str
    seq: int
    """
    position in the chain, from 0
    """
    leaf: str
    """
    SHA-256, lower-case hex
    """
    kind: (
        Literal[
            'ledger-created',
            'server-key-rotated',
            'agent-registered',
            'agent-disabled',
            'agent-key-registered',
            'agent-key-revoked',
            'key-created',
            'key-revoked',
            'type-registered',
            'record-notarized',
            'batch-notarized',
            'record-created',
            'record-activated',
            'completion-submitted',
            'completion-verified',
            'verdict-rendered',
            'verdict-overturned',
            'revision-requested',
            'record-cancelled',
            'record-expired',
            'payload-erased',
            'ledger-restored',
            'peer-added',
            'peer-suspended',
            'peer-resumed',
            'peer-revoked',
            'peer-key-rotated',
            'record-shared',
            'entry-received',
            'step-offered',
            'offer-refused',
            'registration-policy-set',
            'statement-registered',
            'retention-set',
            'hold-set',
            'hold-lifted',
            'subject-erased',
            'export-made',
        ]
        | str
    )
    record: str | None
    version: int | None


class ReceivedEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class RecordEntry(Model):
    seq: int
    """
    position in the chain, from 0
    """
    kind: (
        Literal[
            'ledger-created',
            'server-key-rotated',
            'agent-registered',
            'agent-disabled',
            'agent-key-registered',
            'agent-key-revoked',
            'key-created',
            'key-revoked',
            'type-registered',
            'record-notarized',
            'batch-notarized',
            'record-created',
            'record-activated',
            'completion-submitted',
            'completion-verified',
            'verdict-rendered',
            'verdict-overturned',
            'revision-requested',
            'record-cancelled',
            'record-expired',
            'payload-erased',
            'ledger-restored',
            'peer-added',
            'peer-suspended',
            'peer-resumed',
            'peer-revoked',
            'peer-key-rotated',
            'record-shared',
            'entry-received',
            'step-offered',
            'offer-refused',
            'registration-policy-set',
            'statement-registered',
            'retention-set',
            'hold-set',
            'hold-lifted',
            'subject-erased',
            'export-made',
        ]
        | str
    )
    leaf: str
    """
    SHA-256, lower-case hex
    """
    chain: str
    """
    SHA-256, lower-case hex
    """
    signed_by: Annotated[Literal['agent', 'server'] | str, Field(alias='signedBy')]
    """
    who signed the entry: the agent itself with a registered key, or the server
    """


class RecordErasure(Model):
    code: str | None
    """
    reason of the erasure; null: the entry that signs the reason cannot be read
    """
    by: str | Literal['system']
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    position in the chain, from 0
    """


class RecordEventDataSubjects(Model):
    name: str
    sha256: str
    """
    SHA-256, lower-case hex
    """


class RecordEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class RecordHistoryEntryDocument(Model):
    """
    the document of the step; null: the step has none. The payload is in the record
    """

    subject: str
    """
    what the document is: `cmp_…` (evidence), `cmp_…/values`, or `rec_…/reason`
    """
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null: erased
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    an object, a list of values, or the text of a reason; null: erased
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """


class RecordHistoryEntry(Model):
    seq: int
    """
    position in the chain, from 0
    """
    kind: (
        Literal['statement']
        | str
        | Literal[
            'ledger-created',
            'server-key-rotated',
            'agent-registered',
            'agent-disabled',
            'agent-key-registered',
            'agent-key-revoked',
            'key-created',
            'key-revoked',
            'type-registered',
            'record-notarized',
            'batch-notarized',
            'record-created',
            'record-activated',
            'completion-submitted',
            'completion-verified',
            'verdict-rendered',
            'verdict-overturned',
            'revision-requested',
            'record-cancelled',
            'record-expired',
            'payload-erased',
            'ledger-restored',
            'peer-added',
            'peer-suspended',
            'peer-resumed',
            'peer-revoked',
            'peer-key-rotated',
            'record-shared',
            'entry-received',
            'step-offered',
            'offer-refused',
            'registration-policy-set',
            'statement-registered',
            'retention-set',
            'hold-set',
            'hold-lifted',
            'subject-erased',
            'export-made',
        ]
    )
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    leaf: str
    """
    SHA-256, lower-case hex
    """
    chain: str
    """
    SHA-256, lower-case hex
    """
    envelope: str
    """
    COSE_Sign1
    """
    signed_by: Annotated[Literal['agent', 'server'] | str | None, Field(alias='signedBy')] = None
    """
    absent for a record of another ledger
    """
    document: RecordHistoryEntryDocument | None
    """
    the document of the step; null: the step has none. The payload is in the record
    """
    received: str | None = None
    """
    for a record of another ledger: the received envelope, to which `document` belongs
    """


class RecordType(Model):
    type: str
    """
    name/version of a type
    """
    gated: bool
    digest: str
    """
    digest of the definition in canonical form
    """
    registered_at: Annotated[str | None, Field(alias='registeredAt')]
    """
    null: a built-in type
    """
    definition: Annotated[dict[str, Any], Field(title='RecordTypeDefinition')]
    entry: EntryPlace | None
    """
    the entry that registers the type; null: a built-in type, whose digest is in the ledger’s first entry
    """


class Redelivery(Model):
    redelivered: int
    """
    number of deliveries, at most 1000 in one request, oldest first
    """
    more: bool
    """
    true: more deliveries were given up; send the request again
    """


class RegistrationPolicyIssuersKeys(Model):
    kid: str
    """
    the issuer’s name for its key: label 4 of its statements, 1 to 64 bytes in hex
    """
    alg: Literal['EdDSA', 'ES256'] | str
    spki: str
    """
    DER SubjectPublicKeyInfo
    """


class RegistrationPolicyIssuers(Model):
    issuer: str
    """
    the issuer: claim 1 of its statements
    """
    keys: list[RegistrationPolicyIssuersKeys]


class RegistrationPolicy(Model):
    issuers: list[RegistrationPolicyIssuers]
    content_types: Annotated[list[str] | None, Field(alias='contentTypes')] = None
    """
    accepted media types of payloads, or CoAP content formats in digits; absent: all
    """
    seq: int
    """
    seq of the entry that set the policy
    """
    leaf: str
    """
    leaf of the entry that set the policy; statements registered under the policy name this leaf
    """
    set_at: Annotated[str, Field(alias='setAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    actor: str


class RetentionPreview(Model):
    records: int
    """
    records whose payload the rule would erase now
    """
    held: int
    """
    records whose payload the rule would erase if no hold prevented it
    """
    oldest: str | None
    by_type: Annotated[dict[str, int], Field(alias='byType')]
    next_seq: Annotated[int | None, Field(alias='nextSeq')]
    """
    `from` of the next page, whose numbers add to these; null: this was the last page
    """


class RetentionRule(Model):
    seq: int
    """
    seq of the entry that set the rule
    """
    type: str | None
    agent: str | None
    days: int | None
    replaced_by: Annotated[int | None, Field(alias='replacedBy')]
    """
    seq of the rule that replaced this one; for existing records a new rule can only lengthen retention
    """
    set_at: Annotated[str, Field(alias='setAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class Revision(Model):
    reason: str | None
    """
    null: the step has no reason, or the reason is erased
    """
    by: str | Literal['system']
    """
    the party: onBehalfOf, or else the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    seq of the step’s entry
    """
    salt: str | None
    digest: str | None
    """
    digest of the salted document; null: the step has none
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """


class Rule(Model):
    id: str
    op: Literal['equals', 'atMost', 'atLeast', 'within', 'oneOf', 'before', 'after'] | str
    actual: str
    """
    a JSON Pointer into the evidence
    """


class RuleOutcome(Model):
    id: str
    outcome: Literal['pass', 'fail'] | str
    code: (
        Literal[
            'expected_erased',
            'actual_erased',
            'expected_missing',
            'actual_missing',
            'expected_type',
            'actual_type',
            'currency_differs',
            'not_equal',
            'above_maximum',
            'below_minimum',
            'outside_tolerance',
            'not_one_of',
            'not_before',
            'not_after',
        ]
        | str
        | None
    ) = None
    """
    why the rule failed
    """


class SettlementSignal(Model):
    decision: Literal['SETTLE', 'HOLD', 'RELEASE'] | str
    code: Literal['accepted', 'accepted_anyway', 'rejected', 'rules_passed', 'rules_failed', 'overturned'] | str
    failing_rules: Annotated[list[str], Field(alias='failingRules')]
    valid_until: Annotated[str | None, Field(alias='validUntil')]


class SharedRecord(Model):
    id: str
    role: Literal['home', 'guest'] | str
    """
    home: a record of this ledger; guest: a record of the peer
    """
    documents: Literal['whole', 'digests'] | str
    type: str
    """
    name/version of a type
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
    )
    version: int
    """
    for a record of the peer: the newest version received
    """
    offer: Offer | None
    """
    for a record of the peer: the newest step that an agent of this ledger offered
    """


class SharedRecordWithType(Model):
    id: str
    role: Literal['home', 'guest'] | str
    """
    home: a record of this ledger; guest: a record of the peer
    """
    documents: Literal['whole', 'digests'] | str
    type: str
    """
    name/version of a type
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
    )
    version: int
    """
    for a record of the peer: the newest version received
    """
    offer: Offer | None
    """
    for a record of the peer: the newest step that an agent of this ledger offered
    """
    type_definition: Annotated[dict[str, Any] | None, Field(alias='typeDefinition')]
    """
    the definition that the peer sent, checked against the signed digest; null for a built-in type
    """


class SharedWith(Model):
    peer: str
    documents: Literal['whole', 'digests'] | str
    """
    whole: with payload, evidence, values and reasons; digests: only the signed entries
    """


class SignalEventDataSubjects(Model):
    name: str
    sha256: str
    """
    SHA-256, lower-case hex
    """


class SignalEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class SignedEntry(Model):
    seq: int
    """
    position in the chain, from 0
    """
    kind: (
        Literal['statement']
        | str
        | Literal[
            'ledger-created',
            'server-key-rotated',
            'agent-registered',
            'agent-disabled',
            'agent-key-registered',
            'agent-key-revoked',
            'key-created',
            'key-revoked',
            'type-registered',
            'record-notarized',
            'batch-notarized',
            'record-created',
            'record-activated',
            'completion-submitted',
            'completion-verified',
            'verdict-rendered',
            'verdict-overturned',
            'revision-requested',
            'record-cancelled',
            'record-expired',
            'payload-erased',
            'ledger-restored',
            'peer-added',
            'peer-suspended',
            'peer-resumed',
            'peer-revoked',
            'peer-key-rotated',
            'record-shared',
            'entry-received',
            'step-offered',
            'offer-refused',
            'registration-policy-set',
            'statement-registered',
            'retention-set',
            'hold-set',
            'hold-lifted',
            'subject-erased',
            'export-made',
        ]
    )
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    leaf: str
    """
    SHA-256, lower-case hex
    """
    chain: str
    """
    SHA-256, lower-case hex
    """
    envelope: str
    """
    COSE_Sign1
    """


class SigningKey(Model):
    kid: str
    """
    RFC 9679 thumbprint
    """
    alg: Literal['EdDSA', 'ES256'] | str
    spki: str
    """
    DER SubjectPublicKeyInfo
    """
    required: bool
    """
    true: from this entry on the ledger accepts only entries that the agent has signed. Cannot be undone
    """
    registered_at: Annotated[str, Field(alias='registeredAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    seq: int
    """
    seq of the entry that registers the key
    """
    revoked_seq: Annotated[int | None, Field(alias='revokedSeq')]
    """
    seq of the entry that revokes the key; null: the key is valid
    """


class Statement(Model):
    id: str
    seq: int
    """
    seq of the statement’s own entry; the next entry registers the statement
    """
    leaf: str
    """
    SHA-256, lower-case hex
    """
    issuer: str
    subject: str
    content_type: Annotated[str, Field(alias='contentType')]
    kid: str
    """
    the issuer’s name for its key: label 4 of its statements, 1 to 64 bytes in hex
    """
    actor: str
    """
    the agent that registered the statement
    """
    registered_at: Annotated[str, Field(alias='registeredAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class StatementEventDataSubjects(Model):
    name: str
    sha256: str
    """
    SHA-256, lower-case hex
    """


class StatementEventDataStatement(Model):
    id: str
    issuer: str
    subject: str
    content_type: Annotated[str, Field(alias='contentType')]


class StatementEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null if the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """
    references: list[str] | None = None
    """
    only if the record has references
    """


class StatementEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[StatementEventDataSubjects]
    """
    the signed subjects
    """
    predicate: Annotated[dict[str, Any], Field(title='StatementEventDataPredicate')]
    """
    the signed predicate: `GET /predicates/{kind}/v1` describes it
    """
    record: None
    statement: Annotated[StatementEventDataStatement, Field(title='StatementEventDataStatement')]
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[StatementEventDataDocuments] | None = None
    """
    documents of the entry; a batch has none
    """


class SubjectReceiptEntry(Model):
    """
    the entry `subject-erased`, which lists what was erased
    """

    seq: int
    """
    position in the chain, from 0
    """


class SubjectReceiptHeld(Model):
    document: Literal['payload', 'evidence', 'values', 'reason'] | str
    seq: int
    """
    seq of the entry that has the document’s digest
    """
    completion: str | None
    """
    the completion that has the evidence or the compared values
    """
    address: str
    """
    the address of the request that erases the document
    """
    record: str
    case: str
    """
    the case of the hold, or why a peer needs the document
    """


class SubjectReceipt(Model):
    entry: Annotated[SubjectReceiptEntry, Field(title='SubjectReceiptEntry')]
    """
    the entry `subject-erased`, which lists what was erased
    """
    erased: list[int]
    """
    seqs of the entries that each erased a document
    """
    held: list[SubjectReceiptHeld]
    """
    documents that were not erased
    """
    next_cursor: Annotated[str | None, Field(alias='nextCursor')]
    """
    send it with the next request; null: there are no more documents
    """


class SubjectRecord(Model):
    record: str
    documents: list[ErasableDocument]


class TypeSummary(Model):
    type: str
    """
    name/version of a type
    """
    gated: bool
    digest: str
    """
    digest of the definition in canonical form
    """
    registered_at: Annotated[str | None, Field(alias='registeredAt')]
    """
    null: a built-in type
    """


class Verdict(Model):
    verdict: Literal['accept', 'reject'] | str
    signal: SettlementSignal
    reason: str | None
    """
    null: the step has no reason, or the reason is erased
    """
    by: str | Literal['system']
    """
    the party: onBehalfOf, or else the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    seq of the step’s entry
    """
    salt: str | None
    digest: str | None
    """
    digest of the salted document; null: the step has none
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """


class Verification(Model):
    outcome: Literal['pass', 'fail'] | str
    rules: list[RuleOutcome]
    values: list[dict[str, Any]] | None
    """
    the compared values; null: erased
    """
    by: str | Literal['system']
    """
    the party: onBehalfOf, or else the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    seq of the step’s entry
    """
    salt: str | None
    digest: str | None
    """
    digest of the salted document; null: the step has none
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """


class WebhookSecrets(Model):
    public_key: Annotated[str, Field(alias='publicKey')]
    """
    Ed25519 key that verifies the `v1a` signatures of deliveries
    """
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class WebhookStandingRecovery(Model):
    """
    progress of the recovery; null: none is running
    """

    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    position in the chain, from 0
    """
    end_seq: Annotated[int, Field(alias='endSeq')]
    """
    position in the chain, from 0
    """
    delivered: bool


class WebhookStanding(Model):
    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    seq of the next entry to examine
    """
    behind: int
    """
    entries that are still to be examined
    """
    failures: int
    """
    failed attempts in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before this time, because the endpoint failed or asked for a pause
    """
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    last_failure_at: Annotated[str | None, Field(alias='lastFailureAt')]
    recovery: WebhookStandingRecovery | None
    """
    progress of the recovery; null: none is running
    """
    pending: int
    """
    deliveries that will be tried; counted up to 1000
    """
    held: int
    """
    deliveries that wait for an earlier event of their record; counted up to 1000
    """
    dead: int
    """
    deliveries that were given up; counted up to 1000
    """


class Webhook(Model):
    id: str
    url: str
    description: str | None
    events: list[str]
    types: list[str]
    include: list[Literal['documents', 'envelope'] | str]
    state: Literal['active', 'paused', 'disabled'] | str
    reason: Literal['requested', 'failing', 'gone'] | str | None
    """
    why the webhook is not active. gone: the endpoint answered 410; null: it is active
    """
    state_at: Annotated[str, Field(alias='stateAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_by: Annotated[str, Field(alias='createdBy')]
    secrets: list[WebhookSecrets]
    """
    valid secrets, newest first: one, or more during a rotation. Deliveries are signed with each of them
    """
    standing: Annotated[WebhookStanding, Field(title='WebhookStanding')]


class DeliveredErasureEvent(Model):
    type: Literal['payload.erased']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: ErasureEventData


class DeliveredStatementEvent(Model):
    type: Literal['statement.registered']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: StatementEventData


class DeliveredCheckpointEvent(Model):
    type: Literal['checkpoint.published']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: CheckpointEventData


class DeliveredUnknownEvent(Model):
    type: str
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: Any


class WebhookPausedEventDataWebhook(Model):
    id: str
    state: Literal['paused', 'disabled'] | str
    reason: Literal['failing', 'gone'] | str


class WebhookPausedEventData(Model):
    ledger: str
    record: None
    entry: None
    webhook: Annotated[WebhookPausedEventDataWebhook, Field(title='WebhookPausedEventDataWebhook')]


class WebhookTestEventDataWebhook(Model):
    id: str


class WebhookTestEventData(Model):
    ledger: str
    record: None
    entry: None
    webhook: Annotated[WebhookTestEventDataWebhook, Field(title='WebhookTestEventDataWebhook')]


class WebhookWithSecretSecrets(Model):
    public_key: Annotated[str, Field(alias='publicKey')]
    """
    Ed25519 key that verifies the `v1a` signatures of deliveries
    """
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class WebhookWithSecretStandingRecovery(Model):
    """
    progress of the recovery; null: none is running
    """

    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    position in the chain, from 0
    """
    end_seq: Annotated[int, Field(alias='endSeq')]
    """
    position in the chain, from 0
    """
    delivered: bool


class WebhookWithSecretStanding(Model):
    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    seq of the next entry to examine
    """
    behind: int
    """
    entries that are still to be examined
    """
    failures: int
    """
    failed attempts in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before this time, because the endpoint failed or asked for a pause
    """
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    last_failure_at: Annotated[str | None, Field(alias='lastFailureAt')]
    recovery: WebhookWithSecretStandingRecovery | None
    """
    progress of the recovery; null: none is running
    """
    pending: int
    """
    deliveries that will be tried; counted up to 1000
    """
    held: int
    """
    deliveries that wait for an earlier event of their record; counted up to 1000
    """
    dead: int
    """
    deliveries that were given up; counted up to 1000
    """


class WebhookWithSecret(Model):
    id: str
    url: str
    description: str | None
    events: list[str]
    types: list[str]
    include: list[Literal['documents', 'envelope'] | str]
    state: Literal['active', 'paused', 'disabled'] | str
    reason: Literal['requested', 'failing', 'gone'] | str | None
    """
    why the webhook is not active. gone: the endpoint answered 410; null: it is active
    """
    state_at: Annotated[str, Field(alias='stateAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_by: Annotated[str, Field(alias='createdBy')]
    secrets: list[WebhookWithSecretSecrets]
    """
    valid secrets, newest first: one, or more during a rotation. Deliveries are signed with each of them
    """
    standing: Annotated[WebhookWithSecretStanding, Field(title='WebhookWithSecretStanding')]
    secret: str
    """
    secret that verifies the `v1` signatures of deliveries; shown only once
    """
    public_key: Annotated[str, Field(alias='publicKey')]
    """
    Ed25519 key that verifies the `v1a` signatures of deliveries
    """


class ApiKey(Model):
    id: str
    name: str
    agent: str
    scopes: list[
        Literal[
            'agents:act',
            'agents:manage',
            'audit:read',
            'keys:manage',
            'payloads:erase',
            'peers:manage',
            'policies:write',
            'records:read',
            'records:read:own',
            'records:write',
            'retention:manage',
            'statements:write',
            'types:write',
            'verdicts:overturn',
            'webhooks:manage',
        ]
        | str
    ]
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    made_by: Annotated[str | None, Field(alias='madeBy')]
    """
    the key with which this key was made; null: the operator made this key
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    otlp: OtlpSettings | None
    """
    settings for OTLP; null: the defaults of docs/integrations/otlp.md
    """
    secrets: list[ApiKeySecrets]
    """
    valid secrets: one, or more during a rotation; none after the key was revoked
    """


class Audit(Model):
    id: str
    requested_by: Annotated[str | None, Field(alias='requestedBy')]
    """
    the agent that requested the audit; null: the daily schedule
    """
    requested_at: Annotated[str, Field(alias='requestedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    state: Literal['queued', 'running', 'done', 'failed'] | str
    """
    done: `ok` has the result; failed: the audit could not be completed (`error`), and the ledger may be intact
    """
    progress: Annotated[AuditProgress, Field(title='AuditProgress')]
    started_at: Annotated[str | None, Field(alias='startedAt')]
    finished_at: Annotated[str | None, Field(alias='finishedAt')]
    ok: bool | None
    """
    whether the whole ledger verifies; null: unknown yet
    """
    report: AuditReport | None
    error: AuditError | None
    """
    why the newest of up to six attempts failed. null: no attempt has failed, or the audit is done
    """


class Batch(Model):
    batch: str
    entry: RecordEntry
    records: list[BatchRecords]


class BatchEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[BatchEventDataSubjects]
    """
    the signed subjects
    """
    predicate: Annotated[dict[str, Any], Field(title='BatchEventDataPredicate')]
    """
    the signed predicate: `GET /predicates/{kind}/v1` describes it
    """
    record: None
    batch: Annotated[BatchEventDataBatch, Field(title='BatchEventDataBatch')]
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[BatchEventDataDocuments] | None = None
    """
    documents of the entry; a batch has none
    """


class EntryLine(Model):
    seq: int
    """
    position in the chain, from 0
    """
    kind: (
        Literal['statement']
        | str
        | Literal[
            'ledger-created',
            'server-key-rotated',
            'agent-registered',
            'agent-disabled',
            'agent-key-registered',
            'agent-key-revoked',
            'key-created',
            'key-revoked',
            'type-registered',
            'record-notarized',
            'batch-notarized',
            'record-created',
            'record-activated',
            'completion-submitted',
            'completion-verified',
            'verdict-rendered',
            'verdict-overturned',
            'revision-requested',
            'record-cancelled',
            'record-expired',
            'payload-erased',
            'ledger-restored',
            'peer-added',
            'peer-suspended',
            'peer-resumed',
            'peer-revoked',
            'peer-key-rotated',
            'record-shared',
            'entry-received',
            'step-offered',
            'offer-refused',
            'registration-policy-set',
            'statement-registered',
            'retention-set',
            'hold-set',
            'hold-lifted',
            'subject-erased',
            'export-made',
        ]
    )
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    leaf: str
    """
    SHA-256, lower-case hex
    """
    chain: str
    """
    SHA-256, lower-case hex
    """
    envelope: str
    """
    COSE_Sign1
    """
    documents: list[EntryLineDocuments]
    items: list[HashedItem] | None
    """
    for a batch: exactly the objects that were hashed; null: no batch
    """
    received: str | None = None
    """
    the envelope of another ledger’s entry, if this entry receives one
    """
    signer: Annotated[EntryLineSigner | None, Field(title='EntryLineSigner')] = None
    """
    the key of the agent that signed the entry; absent: the server signed it
    """


class EntryProofItem(Model):
    """
    proof of the record’s position in its batch
    """

    item: HashedItem
    """
    exactly the object that was hashed
    """
    index: int
    count: int
    path: list[str]
    """
    RFC 9162 audit path, from the leaf up
    """


class EntryProof(Model):
    ledger: Ledger
    keys: list[PublishedKey]
    """
    the server key that signed `registration` if it is present, otherwise the envelope
    """
    registration: str | None = None
    """
    the envelope that registered the agent’s key, if the entry is signed by that key
    """
    entry: SignedEntry
    index: int
    """
    position in the chain, from 0
    """
    tree_size: Annotated[int, Field(alias='treeSize')]
    path: list[str]
    """
    RFC 9162 audit path, from the leaf up
    """
    checkpoint: str
    """
    a signed note: origin, size, Merkle root, chain hash, signatures
    """
    item: Annotated[EntryProofItem | None, Field(title='EntryProofItem')] = None
    """
    proof of the record’s position in its batch
    """


class EventRecord(Model):
    id: str
    type: str
    """
    name/version of a type
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
    )
    """
    state of the record after this event
    """
    version: int
    """
    version of the record after this event
    """


class KeyDocument(Model):
    keys: list[PublishedKey]


class KeyOtlp(Model):
    otlp: OtlpSettings | None


class KeyRevocation(Model):
    id: str
    name: str
    agent: str
    scopes: list[
        Literal[
            'agents:act',
            'agents:manage',
            'audit:read',
            'keys:manage',
            'payloads:erase',
            'peers:manage',
            'policies:write',
            'records:read',
            'records:read:own',
            'records:write',
            'retention:manage',
            'statements:write',
            'types:write',
            'verdicts:overturn',
            'webhooks:manage',
        ]
        | str
    ]
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    made_by: Annotated[str | None, Field(alias='madeBy')]
    """
    the key with which this key was made; null: the operator made this key
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    otlp: OtlpSettings | None
    """
    settings for OTLP; null: the defaults of docs/integrations/otlp.md
    """
    secrets: list[KeyRevocationSecrets]
    """
    valid secrets: one, or more during a rotation; none after the key was revoked
    """
    also_revoked: Annotated[list[str], Field(alias='alsoRevoked')]
    """
    other keys that this request revoked, because of `alsoMade`
    """
    has_more: Annotated[bool, Field(alias='hasMore')]
    """
    true: some keys that were made with this key are still valid; send the request again
    """


class KeyWithSecret(Model):
    id: str
    name: str
    agent: str
    scopes: list[
        Literal[
            'agents:act',
            'agents:manage',
            'audit:read',
            'keys:manage',
            'payloads:erase',
            'peers:manage',
            'policies:write',
            'records:read',
            'records:read:own',
            'records:write',
            'retention:manage',
            'statements:write',
            'types:write',
            'verdicts:overturn',
            'webhooks:manage',
        ]
        | str
    ]
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    made_by: Annotated[str | None, Field(alias='madeBy')]
    """
    the key with which this key was made; null: the operator made this key
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    otlp: OtlpSettings | None
    """
    settings for OTLP; null: the defaults of docs/integrations/otlp.md
    """
    secrets: list[KeyWithSecretSecrets]
    """
    valid secrets: one, or more during a rotation; none after the key was revoked
    """
    key: str


class BatchEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal['batch.recorded']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: BatchEventData


class StatementEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal['statement.registered']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: StatementEventData


class LedgerSummary(Model):
    id: str
    name: str
    issuer: str
    origin: str
    size: int
    """
    number of entries
    """
    closed: Literal['frozen', 'restored', 'moving', 'moved'] | str | None
    """
    why the ledger accepts no entries. frozen: by the operator; restored: from an older backup; moving, moved: to another deployment; null: it is open
    """
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    tiles: Literal['key', 'public'] | str
    """
    who may read the ledger’s tiles. key: only keys with audit:read; public: anybody
    """
    fault: LedgerSummaryFault | None
    """
    why the ledger does not verify. It gets no checkpoints until the operator clears the fault
    """


class NewKey(Model):
    id: str
    key: str
    """
    the secret, shown only here
    """
    agent: str
    name: str
    scopes: list[
        Literal[
            'agents:act',
            'agents:manage',
            'audit:read',
            'keys:manage',
            'payloads:erase',
            'peers:manage',
            'policies:write',
            'records:read',
            'records:read:own',
            'records:write',
            'retention:manage',
            'statements:write',
            'types:write',
            'verdicts:overturn',
            'webhooks:manage',
        ]
        | str
    ]
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class NewLedger(Model):
    ledger: Annotated[NewLedgerLedger, Field(title='NewLedgerLedger')]
    agent: Annotated[NewLedgerAgent, Field(title='NewLedgerAgent')]
    key: NewKey


class NewPeer(Model):
    id: str
    """
    id of the peering, the same on both sides
    """
    name: str
    role: Literal['inviter', 'invited'] | str
    """
    role of this ledger in the handshake
    """
    state: Literal['invited', 'pending', 'active', 'suspended', 'revoked'] | str
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_by: Annotated[str, Field(alias='createdBy')]
    expires_at: Annotated[str, Field(alias='expiresAt')]
    """
    when the invitation expires
    """
    remote: PeerIdentity | None
    """
    the other side; null before the handshake
    """
    added_seq: Annotated[int | None, Field(alias='addedSeq')]
    """
    seq of this ledger’s `peer-added` entry
    """
    drain: NewPeerDrain | None
    """
    how entries are sent to the peer; null: nothing to send yet
    """
    budget: Annotated[NewPeerBudget, Field(title='NewPeerBudget')]
    """
    how much the peer may store here in a day, and has stored
    """
    witness: NewPeerWitness | None
    """
    cosignatures in both directions; null before the handshake
    """
    invitation: str | None
    """
    the invitation, which the other side’s administrator uses once. Keep it secret: whoever has it can become the peer. null: an invitation was accepted
    """


class Overturn(Model):
    signal: SettlementSignal
    reason: str | None
    """
    null: the step has no reason, or the reason is erased
    """
    by: str | Literal['system']
    """
    the party: onBehalfOf, or else the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    seq of the step’s entry
    """
    salt: str | None
    digest: str | None
    """
    digest of the salted document; null: the step has none
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    seq of the entry that erased the document
    """


class OwnLedgerKey(Model):
    """
    the key of this request
    """

    id: str
    name: str
    agent: str
    scopes: list[
        Literal[
            'agents:act',
            'agents:manage',
            'audit:read',
            'keys:manage',
            'payloads:erase',
            'peers:manage',
            'policies:write',
            'records:read',
            'records:read:own',
            'records:write',
            'retention:manage',
            'statements:write',
            'types:write',
            'verdicts:overturn',
            'webhooks:manage',
        ]
        | str
    ]
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    """
    when the secret that was sent expires; an old secret of a rotated key expires before the key
    """


class OwnLedger(Model):
    id: str
    name: str
    issuer: str
    origin: str
    note_verifier_key: Annotated[str, Field(alias='noteVerifierKey')]
    """
    the key that signs the ledger’s checkpoints, as a C2SP verifier key
    """
    size: int
    """
    number of entries
    """
    closed: Literal['frozen', 'restored', 'moving', 'moved'] | str | None
    """
    why the ledger accepts no entries. frozen: by the operator; restored: from an older backup; moving, moved: to another deployment; null: it is open
    """
    key: Annotated[OwnLedgerKey, Field(title='OwnLedgerKey')]
    """
    the key of this request
    """


class Peer(Model):
    id: str
    """
    id of the peering, the same on both sides
    """
    name: str
    role: Literal['inviter', 'invited'] | str
    """
    role of this ledger in the handshake
    """
    state: Literal['invited', 'pending', 'active', 'suspended', 'revoked'] | str
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_by: Annotated[str, Field(alias='createdBy')]
    expires_at: Annotated[str, Field(alias='expiresAt')]
    """
    when the invitation expires
    """
    remote: PeerIdentity | None
    """
    the other side; null before the handshake
    """
    added_seq: Annotated[int | None, Field(alias='addedSeq')]
    """
    seq of this ledger’s `peer-added` entry
    """
    drain: PeerDrain | None
    """
    how entries are sent to the peer; null: nothing to send yet
    """
    budget: Annotated[PeerBudget, Field(title='PeerBudget')]
    """
    how much the peer may store here in a day, and has stored
    """
    witness: PeerWitness | None
    """
    cosignatures in both directions; null before the handshake
    """


class PeerDeadLetter(Model):
    seq: int
    """
    position in the chain, from 0
    """
    record: str | None
    code: str
    """
    code of the other side’s refusal
    """
    detail: str | None
    died_at: Annotated[str, Field(alias='diedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    entry: SignedEntry


class Preview(Model):
    valid: bool
    errors: list[PreviewErrors]
    """
    the first error of each document
    """
    outcome: Literal['pass', 'fail'] | str | None
    """
    outcome of all rules; null: a document is absent or invalid, or the type is not gated
    """
    rules: list[RuleOutcome] | None
    """
    outcome of each rule, in order; null if `outcome` is null
    """


class Problem(Model):
    type: str
    """
    a URI that names the code; not an address to fetch
    """
    title: str
    status: int
    detail: str
    """
    what is wrong, for people; the text may change
    """
    code: str
    """
    the error, for programs; stable
    """
    request_id: Annotated[str, Field(alias='requestId')]
    retryable: bool
    """
    whether the same request may succeed later
    """
    reason: str | None = None
    """
    why an envelope is not accepted: a code of docs/formats/envelopes.md or docs/formats/statements.md
    """
    path: str | None = None
    """
    JSON Pointer to the invalid member, or to the object in which a member is missing or unknown
    """
    index: int | None = None
    """
    index of the item in the batch
    """
    scope: (
        Literal[
            'agents:act',
            'agents:manage',
            'audit:read',
            'keys:manage',
            'payloads:erase',
            'peers:manage',
            'policies:write',
            'records:read',
            'records:read:own',
            'records:write',
            'retention:manage',
            'statements:write',
            'types:write',
            'verdicts:overturn',
            'webhooks:manage',
        ]
        | str
        | None
    ) = None
    """
    the first of the scopes that would do: `detail` names all of them
    """
    scopes: (
        list[
            Literal[
                'agents:act',
                'agents:manage',
                'audit:read',
                'keys:manage',
                'payloads:erase',
                'peers:manage',
                'policies:write',
                'records:read',
                'records:read:own',
                'records:write',
                'retention:manage',
                'statements:write',
                'types:write',
                'verdicts:overturn',
                'webhooks:manage',
            ]
            | str
        ]
        | None
    ) = None
    """
    the scopes that the key lacks
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')] = None
    """
    when the secret that was sent expires
    """
    record_type: Annotated[str | None, Field(alias='recordType')] = None
    """
    name/version of a type
    """
    seq: int | None = None
    """
    seq of the entry that ended the target, or of the offer that must be decided first
    """
    remaining: list[ErasableDocument] | None = None
    """
    the record’s other documents, oldest first
    """
    holds: list[ProblemHolds] | None = None
    """
    holds that prevent the erasure, oldest first
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
        | None
    ) = None
    """
    state of the record, which does not allow the request
    """
    version: int | None = None
    """
    version of the record
    """
    next_events: Annotated[
        list[
            Literal[
                'ledger-created',
                'server-key-rotated',
                'agent-registered',
                'agent-disabled',
                'agent-key-registered',
                'agent-key-revoked',
                'key-created',
                'key-revoked',
                'type-registered',
                'record-notarized',
                'batch-notarized',
                'record-created',
                'record-activated',
                'completion-submitted',
                'completion-verified',
                'verdict-rendered',
                'verdict-overturned',
                'revision-requested',
                'record-cancelled',
                'record-expired',
                'payload-erased',
                'ledger-restored',
                'peer-added',
                'peer-suspended',
                'peer-resumed',
                'peer-revoked',
                'peer-key-rotated',
                'record-shared',
                'entry-received',
                'step-offered',
                'offer-refused',
                'registration-policy-set',
                'statement-registered',
                'retention-set',
                'hold-set',
                'hold-lifted',
                'subject-erased',
                'export-made',
            ]
            | str
        ]
        | None,
        Field(alias='nextEvents'),
    ] = None
    """
    kinds of entries that the record’s state allows next
    """
    webhook: str | None = None
    """
    the existing webhook that is identical
    """
    role: Literal['principal', 'performer', 'worker', 'other than the performer'] | str | None = None
    """
    the party that may take the step
    """
    ledger: str | None = None
    """
    the home of the record
    """
    resets_at: Annotated[str | None, Field(alias='resetsAt')] = None
    """
    when the day of the peering’s budget ends
    """


class ReceivedEventDataRecord(Model):
    """
    the record of the received entry, as its home knows it; null: the entry is about the peering
    """

    id: str
    type: str
    """
    name/version of a type
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
        | None
    )
    """
    state of the record after the received entry; null: that entry is not a step
    """
    version: int | None


class ReceivedEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[ReceivedEventDataSubjects]
    """
    the signed subjects
    """
    predicate: Annotated[dict[str, Any], Field(title='ReceivedEventDataPredicate')]
    """
    the signed predicate: `GET /predicates/{kind}/v1` describes it
    """
    record: ReceivedEventDataRecord | None
    """
    the record of the received entry, as its home knows it; null: the entry is about the peering
    """
    peer: str
    """
    the peer that sent the entry
    """
    received: Annotated[ReceivedEventDataReceived, Field(title='ReceivedEventDataReceived')]
    """
    the received entry of the other ledger
    """
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[ReceivedEventDataDocuments] | None = None
    """
    documents of the entry; a batch has none
    """
    received_envelope: Annotated[str | None, Field(alias='receivedEnvelope')] = None
    """
    COSE_Sign1 of the received entry; present whenever `envelope` is
    """


class RecordEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[RecordEventDataSubjects]
    """
    the signed subjects
    """
    predicate: Annotated[dict[str, Any], Field(title='RecordEventDataPredicate')]
    """
    the signed predicate: `GET /predicates/{kind}/v1` describes it
    """
    record: EventRecord
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[RecordEventDataDocuments] | None = None
    """
    documents of the entry; a batch has none
    """


class SignalEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[SignalEventDataSubjects]
    """
    the signed subjects
    """
    predicate: Annotated[dict[str, Any], Field(title='SignalEventDataPredicate')]
    """
    the signed predicate: `GET /predicates/{kind}/v1` describes it
    """
    record: EventRecord
    signal: SettlementSignal
    envelope: str
    """
    COSE_Sign1 of the verdict’s entry
    """
    documents: list[SignalEventDataDocuments] | None = None
    """
    documents of the entry; a batch has none
    """


class DeliveredRecordEvent(Model):
    type: Literal[
        'record.recorded',
        'record.created',
        'record.activated',
        'completion.submitted',
        'completion.verified',
        'verdict.rendered',
        'verdict.overturned',
        'revision.requested',
        'record.cancelled',
        'record.expired',
    ]
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: RecordEventData


class DeliveredSignalEvent(Model):
    type: Literal['signal.emitted']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: SignalEventData


class DeliveredBatchEvent(Model):
    type: Literal['batch.recorded']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: BatchEventData


class DeliveredReceivedEvent(Model):
    type: Literal['entry.received']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: ReceivedEventData


class DeliveredWebhookPausedEvent(Model):
    type: Literal['webhook.paused']
    timestamp: str
    """
    when the event happened
    """
    data: WebhookPausedEventData


class DeliveredWebhookTestEvent(Model):
    type: Literal['webhook.test']
    timestamp: str
    """
    when the event happened
    """
    data: WebhookTestEventData


class WebhookEvent(
    RootModel[
        DeliveredRecordEvent
        | DeliveredSignalEvent
        | DeliveredBatchEvent
        | DeliveredErasureEvent
        | DeliveredReceivedEvent
        | DeliveredStatementEvent
        | DeliveredCheckpointEvent
        | DeliveredWebhookPausedEvent
        | DeliveredWebhookTestEvent
        | DeliveredUnknownEvent
    ]
):
    root: (
        DeliveredRecordEvent
        | DeliveredSignalEvent
        | DeliveredBatchEvent
        | DeliveredErasureEvent
        | DeliveredReceivedEvent
        | DeliveredStatementEvent
        | DeliveredCheckpointEvent
        | DeliveredWebhookPausedEvent
        | DeliveredWebhookTestEvent
        | DeliveredUnknownEvent
    )


class GatedRecord(Model):
    principal: str
    """
    `agt_…`; in another ledger `led_…/agt_…`
    """
    performer: str | None
    gate: Literal['principal', 'auto'] | str
    deadline: str | None
    max_revisions: Annotated[int, Field(alias='maxRevisions')]
    revisions: int
    tolerances: dict[str, Any] | None
    completion: Completion | None
    verification: Verification | None
    verdict: Verdict | None
    overturn: Overturn | None
    revision: Revision | None
    """
    the newest revision request
    """
    cancellation: Revision | None
    share: list[SharedWith] | None
    """
    peers with which the record is shared; null: none
    """
    offer: Offer | None
    """
    for a record of another ledger: the newest step that an agent of this ledger offered
    """


class RecordEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal[
        'record.recorded',
        'record.created',
        'record.activated',
        'completion.submitted',
        'completion.verified',
        'verdict.rendered',
        'verdict.overturned',
        'revision.requested',
        'record.cancelled',
        'record.expired',
    ]
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: RecordEventData


class SignalEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal['signal.emitted']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: SignalEventData


class ReceivedEvent(Model):
    id: str
    """
    id of the event, the same in every answer
    """
    type: Literal['entry.received']
    timestamp: str
    """
    when the entry or checkpoint was recorded
    """
    data: ReceivedEventData


class LedgerRecord(Model):
    id: str
    ledger: str
    """
    its home ledger
    """
    type: str
    """
    name/version of a type
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
    )
    version: int
    next_events: Annotated[
        list[
            Literal[
                'ledger-created',
                'server-key-rotated',
                'agent-registered',
                'agent-disabled',
                'agent-key-registered',
                'agent-key-revoked',
                'key-created',
                'key-revoked',
                'type-registered',
                'record-notarized',
                'batch-notarized',
                'record-created',
                'record-activated',
                'completion-submitted',
                'completion-verified',
                'verdict-rendered',
                'verdict-overturned',
                'revision-requested',
                'record-cancelled',
                'record-expired',
                'payload-erased',
                'ledger-restored',
                'peer-added',
                'peer-suspended',
                'peer-resumed',
                'peer-revoked',
                'peer-key-rotated',
                'record-shared',
                'entry-received',
                'step-offered',
                'offer-refused',
                'registration-policy-set',
                'statement-registered',
                'retention-set',
                'hold-set',
                'hold-lifted',
                'subject-erased',
                'export-made',
            ]
            | str
        ],
        Field(alias='nextEvents'),
    ]
    """
    kinds of entries that can come next
    """
    payload: dict[str, Any] | None
    """
    null: the payload is erased, or the home ledger shares only digests
    """
    salt: str | None
    digest: str
    """
    digest of the salted payload (docs/formats/documents.md)
    """
    actor: str
    """
    `agt_…`; in another ledger `led_…/agt_…`
    """
    key: str
    on_behalf_of: Annotated[str | None, Field(alias='onBehalfOf')]
    parent: str | None
    references: list[str] | None
    """
    null: none, or erased
    """
    occurred_at: Annotated[str | None, Field(alias='occurredAt')]
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    entry: RecordEntry
    """
    the newest entry of the record; for a record of another ledger, the entry that received it
    """
    batch: str | None
    metadata: dict[str, Any] | None
    """
    not signed
    """
    erasure: RecordErasure | None
    """
    the erasure of the payload; null: not erased
    """
    gated: GatedRecord | None
    """
    null for a notarized record
    """


class EventPage(Model):
    data: list[RecordEvent | SignalEvent | BatchEvent | ErasureEvent | ReceivedEvent | StatementEvent | CheckpointEvent | UnknownEvent]
    next_cursor: Annotated[str, Field(alias='nextCursor')]
    """
    cursor with which the next request continues, now or later
    """
    more: bool
    """
    whether there may be more events now, even if `data` is empty
    """


class GetRecordsAnswer(Model):
    data: list[LedgerRecord]
    next_cursor: Annotated[str | None, Field(alias='nextCursor')]


class RecordTree(Model):
    record: LedgerRecord
    ancestors: list[LedgerRecord]
    """
    from the root to the record’s parent
    """
    children: GetRecordsAnswer


__all__ = [
    'Agent',
    'ApiKey',
    'ApiKeySecrets',
    'Audit',
    'AuditError',
    'AuditProgress',
    'AuditReport',
    'AuditReportFailure',
    'Batch',
    'BatchEvent',
    'BatchEventData',
    'BatchEventDataBatch',
    'BatchEventDataDocuments',
    'BatchEventDataSubjects',
    'BatchRecords',
    'CheckpointEvent',
    'CheckpointEventData',
    'CheckpointEventDataCheckpoint',
    'CheckpointPlace',
    'Completion',
    'ConsistencyProof',
    'DeliveredBatchEvent',
    'DeliveredCheckpointEvent',
    'DeliveredErasureEvent',
    'DeliveredReceivedEvent',
    'DeliveredRecordEvent',
    'DeliveredSignalEvent',
    'DeliveredStatementEvent',
    'DeliveredUnknownEvent',
    'DeliveredWebhookPausedEvent',
    'DeliveredWebhookTestEvent',
    'Delivery',
    'DeliveryAttemptLog',
    'DeliverySummary',
    'EntryLine',
    'EntryLineDocuments',
    'EntryLineSigner',
    'EntryPlace',
    'EntryProof',
    'EntryProofItem',
    'ErasableDocument',
    'Erasure',
    'ErasureAnswer',
    'ErasureEvent',
    'ErasureEventData',
    'ErasureEventDataDocuments',
    'ErasureEventDataRecord',
    'ErasureEventDataSubjects',
    'EventPage',
    'EventRecord',
    'ExportMade',
    'ExportMadeEntry',
    'GatedRecord',
    'GetRecordsAnswer',
    'HashedItem',
    'Hold',
    'KeyDocument',
    'KeyOtlp',
    'KeyRevocation',
    'KeyRevocationSecrets',
    'KeyWithSecret',
    'KeyWithSecretSecrets',
    'Ledger',
    'LedgerRecord',
    'LedgerRestore',
    'LedgerRestoreEntry',
    'LedgerRestoreFound',
    'LedgerRestoreKnown',
    'LedgerSummary',
    'LedgerSummaryFault',
    'LedgerTiles',
    'Liveness',
    'NewKey',
    'NewLedger',
    'NewLedgerAgent',
    'NewLedgerLedger',
    'NewPeer',
    'NewPeerBudget',
    'NewPeerBudgetBytes',
    'NewPeerBudgetEntries',
    'NewPeerDrain',
    'NewPeerWitness',
    'NewPeerWitnessFork',
    'Offer',
    'OtlpSettings',
    'Overturn',
    'OwnLedger',
    'OwnLedgerKey',
    'Peer',
    'PeerBudget',
    'PeerBudgetBytes',
    'PeerBudgetEntries',
    'PeerDeadLetter',
    'PeerDrain',
    'PeerFork',
    'PeerIdentity',
    'PeerIdentityEnvelopeKey',
    'PeerReconciliation',
    'PeerReconciliationOffers',
    'PeerReconciliationOffersAnswered',
    'PeerReconciliationOffersMade',
    'PeerReconciliationReceived',
    'PeerReconciliationSent',
    'PeerReconciliationSummary',
    'PeerReconciliationSummaryDifferences',
    'PeerReconciliationSummaryDifferencesOurs',
    'PeerReconciliationSummaryDifferencesTheirs',
    'PeerReplay',
    'PeerWitness',
    'PeerWitnessFork',
    'Preview',
    'PreviewErrors',
    'Problem',
    'ProblemHolds',
    'PublishedKey',
    'RateLimit',
    'RateLimitAnswer',
    'Readiness',
    'ReceivedEvent',
    'ReceivedEventData',
    'ReceivedEventDataDocuments',
    'ReceivedEventDataReceived',
    'ReceivedEventDataRecord',
    'ReceivedEventDataSubjects',
    'RecordEntry',
    'RecordErasure',
    'RecordEvent',
    'RecordEventData',
    'RecordEventDataDocuments',
    'RecordEventDataSubjects',
    'RecordHistoryEntry',
    'RecordHistoryEntryDocument',
    'RecordTree',
    'RecordType',
    'Redelivery',
    'RegistrationPolicy',
    'RegistrationPolicyIssuers',
    'RegistrationPolicyIssuersKeys',
    'RetentionPreview',
    'RetentionRule',
    'Revision',
    'Rule',
    'RuleOutcome',
    'SettlementSignal',
    'SharedRecord',
    'SharedRecordWithType',
    'SharedWith',
    'SignalEvent',
    'SignalEventData',
    'SignalEventDataDocuments',
    'SignalEventDataSubjects',
    'SignedEntry',
    'SigningKey',
    'Statement',
    'StatementEvent',
    'StatementEventData',
    'StatementEventDataDocuments',
    'StatementEventDataStatement',
    'StatementEventDataSubjects',
    'SubjectReceipt',
    'SubjectReceiptEntry',
    'SubjectReceiptHeld',
    'SubjectRecord',
    'TypeSummary',
    'UnknownEvent',
    'Verdict',
    'Verification',
    'Webhook',
    'WebhookEvent',
    'WebhookPausedEventData',
    'WebhookPausedEventDataWebhook',
    'WebhookSecrets',
    'WebhookStanding',
    'WebhookStandingRecovery',
    'WebhookTestEventData',
    'WebhookTestEventDataWebhook',
    'WebhookWithSecret',
    'WebhookWithSecretSecrets',
    'WebhookWithSecretStanding',
    'WebhookWithSecretStandingRecovery',
]
