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
    of the first bad entry; null: of the ledger as a whole
    """
    code: str
    reason: str


class AuditReport(Model):
    entries: int
    """
    how many were verified
    """
    records: int
    keys: Literal['self-asserted', 'pinned', 'given'] | str
    """
    whose word it is that the keys are the ledger’s
    """
    first_kid: Annotated[str | None, Field(alias='firstKid')]
    checkpoint: Literal['given', 'own', 'none'] | str
    """
    given: one that the worker keeps outside the database; own: the ledger’s
    """
    covered: int
    """
    size of the largest such checkpoint that the ledger was found to extend
    """
    failure: AuditReportFailure | None
    notices: list[str]
    """
    what could not be looked at
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
    how many records of each type
    """
    records: str
    """
    where they are read (scope audit:read)
    """


class BatchEventDataDocuments(Model):
    subject: str
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class CheckpointEventDataCheckpoint(Model):
    size: int
    """
    so many entries are under it
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
    null once erased
    """
    by: str | Literal['system']
    """
    for whom: onBehalfOf, or the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    of its entry
    """
    salt: str | None
    digest: str | None
    """
    of the salted document; null without one
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that erased the document
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
    null: there was no answer
    """
    error: str | None
    """
    why, as a word for programs
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
    of `tls_failed`: why, as a code of Node or OpenSSL
    """
    excerpt: str | None
    """
    of the answer; null also where an answer of that address is not kept
    """


class Delivery(Model):
    id: str
    """
    the `webhook-id`
    """
    event: str
    record: str | None
    seq: int | None
    """
    of the entry; of a checkpoint, that of its last entry; null: it is about an endpoint
    """
    state: Literal['pending', 'held', 'delivered', 'dead'] | str
    """
    held: an earlier event of the record is pending; dead: it was given up
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
    the newest ones, oldest first
    """


class DeliverySummary(Model):
    id: str
    """
    the `webhook-id`
    """
    event: str
    record: str | None
    seq: int | None
    """
    of the entry; of a checkpoint, that of its last entry; null: it is about an endpoint
    """
    state: Literal['pending', 'held', 'delivered', 'dead'] | str
    """
    held: an earlier event of the record is pending; dead: it was given up
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
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class EntryLineSigner(Model):
    """
    the key of the agent that signed the entry itself; absent: the server did
    """

    alg: Literal['EdDSA', 'ES256'] | str
    spki: str


class EntryPlace(Model):
    seq: int
    """
    place in the chain, from 0
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
    of the entry that digests it
    """
    completion: str | None
    """
    whose evidence or compared values
    """
    address: str
    """
    where it is erased
    """


class Erasure(Model):
    document: Literal['payload', 'evidence', 'values', 'reason'] | str
    document_seq: Annotated[int, Field(alias='documentSeq')]
    """
    of the entry that digests what was erased
    """
    completion: str | None
    """
    whose evidence or compared values
    """
    code: str
    """
    why, as a word for programs
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
    what else of the record lies beside the chain, oldest first
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
    an erasure is no step of it
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
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class ErasureEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[ErasureEventDataSubjects]
    """
    as signed
    """
    predicate: Annotated[dict[str, Any], Field(title='ErasureEventDataPredicate')]
    """
    as signed: `GET /predicates/{kind}/v1` says what it holds
    """
    record: Annotated[ErasureEventDataRecord, Field(title='ErasureEventDataRecord')]
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[ErasureEventDataDocuments] | None = None
    """
    what lies beside the entry; none of a batch
    """


class ExportMadeEntry(Model):
    """
    says who took what: `export-made`
    """

    seq: int
    """
    place in the chain, from 0
    """


class ExportMade(Model):
    entry: Annotated[ExportMadeEntry, Field(title='ExportMadeEntry')]
    """
    says who took what: `export-made`
    """
    from_: Annotated[int, Field(alias='from')]
    """
    place in the chain, from 0
    """
    to: int
    """
    place in the chain, from 0
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
    of the salted references
    """
    traceparent: str | None = None


class Hold(Model):
    seq: int
    """
    of the entry that set it
    """
    case: str
    """
    the case, as your files name it; it is signed, so it must name no person
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
    of the entry that lifted it; null: it stands
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
    the key of its checkpoints, as signed notes name keys
    """


class ErasureEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: Literal['payload.erased']
    timestamp: str
    """
    when it was recorded
    """
    data: ErasureEventData


class CheckpointEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: Literal['checkpoint.published']
    timestamp: str
    """
    when it was recorded
    """
    data: CheckpointEventData


class UnknownEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: str
    timestamp: str
    """
    when it was recorded
    """
    data: Any


class LedgerRestoreKnown(Model):
    """
    the newest checkpoint kept outside the database
    """

    size: int
    """
    how many entries
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class LedgerRestoreFound(Model):
    """
    what the database holds, or held when it was reopened
    """

    size: int
    """
    how many entries
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class LedgerRestoreEntry(Model):
    """
    the entry that reopened it; null while it is closed
    """

    seq: int
    """
    place in the chain, from 0
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
    the newest checkpoint kept outside the database
    """
    found: Annotated[LedgerRestoreFound, Field(title='LedgerRestoreFound')]
    """
    what the database holds, or held when it was reopened
    """
    closed_at: Annotated[str, Field(alias='closedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    entry: LedgerRestoreEntry | None
    """
    the entry that reopened it; null while it is closed
    """


class LedgerSummaryFault(Model):
    """
    what verification found wrong with it: it gets no checkpoints until the operator has looked
    """

    seq: int | None
    """
    of the first bad entry; null: of the ledger as a whole
    """
    code: str
    found_at: Annotated[str, Field(alias='foundAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class LedgerTiles(Model):
    tiles: Literal['key', 'public'] | str
    """
    who may read its tiles: keys of the ledger with audit:read, or anybody
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
    null before there is anything to send
    """

    behind: int
    """
    entries of our chain that were not looked at yet: most are none of the peer’s
    """
    failures: int
    """
    in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    last_error: Annotated[str | None, Field(alias='lastError')]
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before
    """
    dead_letters: Annotated[int, Field(alias='deadLetters')]
    forks: int
    """
    that the peer has signed; counted to 100
    """


class NewPeerBudgetEntries(Model):
    used: int
    """
    entries of this day; the last request may go beyond
    """
    per_day: Annotated[int, Field(alias='perDay')]


class NewPeerBudgetBytes(Model):
    used: int
    """
    bytes of this day; the last request may go beyond
    """
    per_day: Annotated[int, Field(alias='perDay')]


class NewPeerBudget(Model):
    """
    of what the peer sends: how much of it is stored here in a day
    """

    entries: Annotated[NewPeerBudgetEntries, Field(title='NewPeerBudgetEntries')]
    bytes: Annotated[NewPeerBudgetBytes, Field(title='NewPeerBudgetBytes')]
    resets_at: Annotated[str | None, Field(alias='resetsAt')]
    """
    when the day is over; null: nothing is used
    """


class NewPeerWitnessFork(Model):
    """
    two checkpoints of one size that the peer’s ledger has signed
    """

    held: str
    note: str


class NewPeerWitness(Model):
    """
    how each side witnesses the other; null before the handshake
    """

    own_key: Annotated[str | None, Field(alias='ownKey')]
    """
    by which this ledger cosigns the peer’s; null: it does not
    """
    key: str | None
    """
    by which the peer cosigns this ledger; null: it has not said
    """
    cosigned_size: Annotated[int, Field(alias='cosignedSize')]
    """
    of this ledger, by the peer
    """
    seen_size: Annotated[int, Field(alias='seenSize')]
    """
    of the peer’s ledger, by this one
    """
    fork: NewPeerWitnessFork | None
    """
    two checkpoints of one size that the peer’s ledger has signed
    """


class Offer(Model):
    state: Literal['pending', 'taken', 'refused'] | str
    step: Literal['record-activated', 'completion-submitted'] | str
    version: int
    """
    that the step would have
    """
    completion: str | None
    """
    null of another step
    """
    by: str
    """
    for whom: onBehalfOf, or the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    of its entry in this ledger
    """
    code: str | None
    """
    why it was refused
    """
    decided_by: Annotated[int | None, Field(alias='decidedBy')]
    """
    the entry of this ledger that received the decision of its home
    """


class OtlpSettings(Model):
    take: Literal['agents', 'all'] | str
    """
    spans and logs that tell what an agent did, or all
    """
    content: Literal['digest', 'keep'] | str
    """
    attributes with content by their digest, or as they are
    """
    rest: Literal['reject', 'drop'] | str
    """
    whether the exporter is told how many were not taken
    """


class PeerDrain(Model):
    """
    null before there is anything to send
    """

    behind: int
    """
    entries of our chain that were not looked at yet: most are none of the peer’s
    """
    failures: int
    """
    in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    last_error: Annotated[str | None, Field(alias='lastError')]
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before
    """
    dead_letters: Annotated[int, Field(alias='deadLetters')]
    forks: int
    """
    that the peer has signed; counted to 100
    """


class PeerBudgetEntries(Model):
    used: int
    """
    entries of this day; the last request may go beyond
    """
    per_day: Annotated[int, Field(alias='perDay')]


class PeerBudgetBytes(Model):
    used: int
    """
    bytes of this day; the last request may go beyond
    """
    per_day: Annotated[int, Field(alias='perDay')]


class PeerBudget(Model):
    """
    of what the peer sends: how much of it is stored here in a day
    """

    entries: Annotated[PeerBudgetEntries, Field(title='PeerBudgetEntries')]
    bytes: Annotated[PeerBudgetBytes, Field(title='PeerBudgetBytes')]
    resets_at: Annotated[str | None, Field(alias='resetsAt')]
    """
    when the day is over; null: nothing is used
    """


class PeerWitnessFork(Model):
    """
    two checkpoints of one size that the peer’s ledger has signed
    """

    held: str
    note: str


class PeerWitness(Model):
    """
    how each side witnesses the other; null before the handshake
    """

    own_key: Annotated[str | None, Field(alias='ownKey')]
    """
    by which this ledger cosigns the peer’s; null: it does not
    """
    key: str | None
    """
    by which the peer cosigns this ledger; null: it has not said
    """
    cosigned_size: Annotated[int, Field(alias='cosignedSize')]
    """
    of this ledger, by the peer
    """
    seen_size: Annotated[int, Field(alias='seenSize')]
    """
    of the peer’s ledger, by this one
    """
    fork: PeerWitnessFork | None
    """
    two checkpoints of one size that the peer’s ledger has signed
    """


class PeerFork(Model):
    leaf: str
    """
    of the entry that was refused
    """
    seq: int
    """
    that the other side said it has in its chain
    """
    record: str | None
    version: int | None
    held: str
    """
    the leaf that is held in its place
    """
    envelope: str
    """
    COSE_Sign1 of the refused entry: signed by the peer
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
    from here to there
    """

    records: int
    """
    of this ledger, shared with the peer
    """
    entries: int
    """
    about them, about offers of ours and answers to theirs, and about the peering; not about keys
    """
    acknowledged: int
    """
    of these, those with a signed receipt that is kept here
    """
    in_flight: Annotated[int, Field(alias='inFlight')]
    """
    without a receipt; of a revoked peering: will not come any more
    """
    dead_letters: Annotated[int, Field(alias='deadLetters')]
    """
    of these, refused by the other side for good
    """


class PeerReconciliationReceived(Model):
    """
    from there to here
    """

    records: int
    """
    of the other ledger
    """
    entries: int
    forks: int
    """
    entries that contradict what is held, and were refused
    """


class PeerReconciliationOffersMade(Model):
    """
    by agents of this ledger
    """

    pending: int
    taken: int
    refused: int


class PeerReconciliationOffersAnswered(Model):
    """
    of agents of the other ledger
    """

    taken: int
    refused: int


class PeerReconciliationOffers(Model):
    made: Annotated[PeerReconciliationOffersMade, Field(title='PeerReconciliationOffersMade')]
    """
    by agents of this ledger
    """
    answered: Annotated[
        PeerReconciliationOffersAnswered,
        Field(title='PeerReconciliationOffersAnswered'),
    ]
    """
    of agents of the other ledger
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
    leaf: the same version is another entry; unknown: of our record it holds what our chain does not; theirs_behind, ours_behind: one side holds less
    """
    home: Literal['ours', 'theirs'] | str | None
    """
    null: nothing of the record is here
    """
    ours: PeerReconciliationSummaryDifferencesOurs | None
    theirs: PeerReconciliationSummaryDifferencesTheirs | None


class PeerReconciliationSummary(Model):
    """
    what the other side said that it holds, against what is here now; null: it was not asked yet
    """

    at: str
    """
    when the other side was asked
    """
    whole: bool
    """
    false: it holds more records than are asked for; the others are not compared
    """
    records: int
    """
    that it named
    """
    faults: int
    """
    records that differ as they never should
    """
    behind: int
    """
    records of which one side holds less
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
    what both hold is the same, by what the other side last said; what is on its way is no fault
    """
    reasons: list[Literal['not_asked', 'summary_incomplete', 'records_differ', 'dead_letters', 'forks'] | str]
    """
    why it is not; none where it is
    """
    sent: Annotated[PeerReconciliationSent, Field(title='PeerReconciliationSent')]
    """
    from here to there
    """
    received: Annotated[PeerReconciliationReceived, Field(title='PeerReconciliationReceived')]
    """
    from there to here
    """
    offers: Annotated[PeerReconciliationOffers, Field(title='PeerReconciliationOffers')]
    summary: PeerReconciliationSummary | None
    """
    what the other side said that it holds, against what is here now; null: it was not asked yet
    """
    asking: bool
    """
    the other side is being asked anew
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
    place in the chain, from 0
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
    requests at once after a pause
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
    which entry of the other ledger
    """

    ledger: str
    seq: int
    """
    place in the chain, from 0
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
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class RecordEntry(Model):
    seq: int
    """
    place in the chain, from 0
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
    null where nobody signed the entry
    """
    by: str | Literal['system']
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    place in the chain, from 0
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
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class RecordHistoryEntryDocument(Model):
    """
    the step's own; null without one. The payload lies in the record
    """

    subject: str
    """
    `cmp_…` (evidence), `cmp_…/values`, or `rec_…/reason`
    """
    digest: str
    """
    SHA-256, lower-case hex
    """
    salt: str | None
    """
    null once erased
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    an object, the list of values, or the text of a reason; null once erased
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """


class RecordHistoryEntry(Model):
    seq: int
    """
    place in the chain, from 0
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
    absent of a record of another ledger
    """
    document: RecordHistoryEntryDocument | None
    """
    the step's own; null without one. The payload lies in the record
    """
    received: str | None = None
    """
    of a record of another ledger: its envelope, which the entry received; `document` is of that
    """


class RecordType(Model):
    type: str
    """
    name/version of a type
    """
    gated: bool
    digest: str
    """
    of the definition in canonical form
    """
    registered_at: Annotated[str | None, Field(alias='registeredAt')]
    """
    null: it is in every ledger
    """
    definition: Annotated[dict[str, Any], Field(title='RecordTypeDefinition')]
    entry: EntryPlace | None
    """
    null: the ledger’s first entry has its digest
    """


class Redelivery(Model):
    redelivered: int
    """
    at most 1000 in one request, oldest first
    """
    more: bool
    """
    whether there are more: ask again
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
    claim 1 of its statements
    """
    keys: list[RegistrationPolicyIssuersKeys]


class RegistrationPolicy(Model):
    issuers: list[RegistrationPolicyIssuers]
    content_types: Annotated[list[str] | None, Field(alias='contentTypes')] = None
    """
    media types of payloads, or CoAP content formats in digits; absent: all
    """
    seq: int
    """
    of the entry that set it
    """
    leaf: str
    """
    of the entry that set it; statements that it takes name it
    """
    set_at: Annotated[str, Field(alias='setAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    actor: str


class RetentionPreview(Model):
    records: int
    """
    whose payload would be erased now, if the rule were set
    """
    held: int
    """
    that would be, and are held
    """
    oldest: str | None
    by_type: Annotated[dict[str, int], Field(alias='byType')]
    next_seq: Annotated[int | None, Field(alias='nextSeq')]
    """
    where the next page goes on: add the pages up; null: this was the last
    """


class RetentionRule(Model):
    seq: int
    """
    of the entry that set it
    """
    type: str | None
    agent: str | None
    days: int | None
    replaced_by: Annotated[int | None, Field(alias='replacedBy')]
    """
    of the next rule about the same records; it may only lengthen what was there before
    """
    set_at: Annotated[str, Field(alias='setAt')]
    """
    RFC 3339, UTC, milliseconds
    """


class Revision(Model):
    reason: str | None
    """
    null without one, and once erased
    """
    by: str | Literal['system']
    """
    for whom: onBehalfOf, or the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    of its entry
    """
    salt: str | None
    digest: str | None
    """
    of the salted document; null without one
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that erased the document
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
    why it fails
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
    home: a record of this ledger; guest: one of the peer’s
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
    of a record of the peer’s, as far as its entries came
    """
    offer: Offer | None
    """
    of a record of the peer’s: the newest step that was offered here
    """


class SharedRecordWithType(Model):
    id: str
    role: Literal['home', 'guest'] | str
    """
    home: a record of this ledger; guest: one of the peer’s
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
    of a record of the peer’s, as far as its entries came
    """
    offer: Offer | None
    """
    of a record of the peer’s: the newest step that was offered here
    """
    type_definition: Annotated[dict[str, Any] | None, Field(alias='typeDefinition')]
    """
    that came with a record of the peer’s, held to the digest that was signed; null of a type that is built in
    """


class SharedWith(Model):
    peer: str
    documents: Literal['whole', 'digests'] | str
    """
    with payload, evidence, values and reasons; or the signed entries alone
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
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class SignedEntry(Model):
    seq: int
    """
    place in the chain, from 0
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
    from this entry on nothing is taken in the agent’s name but what it has signed; for good
    """
    registered_at: Annotated[str, Field(alias='registeredAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    seq: int
    """
    of the entry that registers it
    """
    revoked_seq: Annotated[int | None, Field(alias='revokedSeq')]
    """
    of the entry that revokes it
    """


class Statement(Model):
    id: str
    seq: int
    """
    of the entry that the statement is; the next one registers it
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
    who had it registered
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
    null when the document is erased or withheld
    """
    document: dict[str, Any] | list[dict[str, Any]] | str | None
    """
    payload and evidence: an object; compared values: an array; a reason: text
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that says so
    """
    references: list[str] | None = None
    """
    where the record has some
    """


class StatementEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[StatementEventDataSubjects]
    """
    as signed
    """
    predicate: Annotated[dict[str, Any], Field(title='StatementEventDataPredicate')]
    """
    as signed: `GET /predicates/{kind}/v1` says what it holds
    """
    record: None
    statement: Annotated[StatementEventDataStatement, Field(title='StatementEventDataStatement')]
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[StatementEventDataDocuments] | None = None
    """
    what lies beside the entry; none of a batch
    """


class SubjectReceiptEntry(Model):
    """
    says what was erased: `subject-erased`
    """

    seq: int
    """
    place in the chain, from 0
    """


class SubjectReceiptHeld(Model):
    document: Literal['payload', 'evidence', 'values', 'reason'] | str
    seq: int
    """
    of the entry that digests it
    """
    completion: str | None
    """
    whose evidence or compared values
    """
    address: str
    """
    where it is erased
    """
    record: str
    case: str
    """
    for which it is held; or why a peer needs it
    """


class SubjectReceipt(Model):
    entry: Annotated[SubjectReceiptEntry, Field(title='SubjectReceiptEntry')]
    """
    says what was erased: `subject-erased`
    """
    erased: list[int]
    """
    entries that have erased a document each
    """
    held: list[SubjectReceiptHeld]
    """
    documents that stay
    """
    next_cursor: Annotated[str | None, Field(alias='nextCursor')]
    """
    there are more: send the request again with it; null: this was the last
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
    of the definition in canonical form
    """
    registered_at: Annotated[str | None, Field(alias='registeredAt')]
    """
    null: it is in every ledger
    """


class Verdict(Model):
    verdict: Literal['accept', 'reject'] | str
    signal: SettlementSignal
    reason: str | None
    """
    null without one, and once erased
    """
    by: str | Literal['system']
    """
    for whom: onBehalfOf, or the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    of its entry
    """
    salt: str | None
    digest: str | None
    """
    of the salted document; null without one
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that erased the document
    """


class Verification(Model):
    outcome: Literal['pass', 'fail'] | str
    rules: list[RuleOutcome]
    values: list[dict[str, Any]] | None
    """
    what the rules compared; null once erased
    """
    by: str | Literal['system']
    """
    for whom: onBehalfOf, or the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    of its entry
    """
    salt: str | None
    digest: str | None
    """
    of the salted document; null without one
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that erased the document
    """


class WebhookSecrets(Model):
    public_key: Annotated[str, Field(alias='publicKey')]
    """
    Ed25519: what the `v1a` signatures of deliveries verify with
    """
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class WebhookStandingRecovery(Model):
    """
    how far the recovery is that was asked for; null: none is under way
    """

    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    place in the chain, from 0
    """
    end_seq: Annotated[int, Field(alias='endSeq')]
    """
    place in the chain, from 0
    """
    delivered: bool


class WebhookStanding(Model):
    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    the first entry that it has not come to
    """
    behind: int
    """
    entries that it has not come to
    """
    failures: int
    """
    in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before: the endpoint asked for it, or fails
    """
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    last_failure_at: Annotated[str | None, Field(alias='lastFailureAt')]
    recovery: WebhookStandingRecovery | None
    """
    how far the recovery is that was asked for; null: none is under way
    """
    pending: int
    """
    counted to 1000
    """
    held: int
    """
    wait for an earlier event of their record; counted to 1000
    """
    dead: int
    """
    were given up; counted to 1000
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
    gone: the endpoint answered 410; null: it is active
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
    newest first: one, or more while it is rotated. Deliveries are signed with each
    """
    standing: Annotated[WebhookStanding, Field(title='WebhookStanding')]


class DeliveredErasureEvent(Model):
    type: Literal['payload.erased']
    timestamp: str
    """
    when it was recorded
    """
    data: ErasureEventData


class DeliveredStatementEvent(Model):
    type: Literal['statement.registered']
    timestamp: str
    """
    when it was recorded
    """
    data: StatementEventData


class DeliveredCheckpointEvent(Model):
    type: Literal['checkpoint.published']
    timestamp: str
    """
    when it was recorded
    """
    data: CheckpointEventData


class DeliveredUnknownEvent(Model):
    type: str
    timestamp: str
    """
    when it was recorded
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
    Ed25519: what the `v1a` signatures of deliveries verify with
    """
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]


class WebhookWithSecretStandingRecovery(Model):
    """
    how far the recovery is that was asked for; null: none is under way
    """

    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    place in the chain, from 0
    """
    end_seq: Annotated[int, Field(alias='endSeq')]
    """
    place in the chain, from 0
    """
    delivered: bool


class WebhookWithSecretStanding(Model):
    next_seq: Annotated[int, Field(alias='nextSeq')]
    """
    the first entry that it has not come to
    """
    behind: int
    """
    entries that it has not come to
    """
    failures: int
    """
    in a row
    """
    failing_since: Annotated[str | None, Field(alias='failingSince')]
    resume_at: Annotated[str | None, Field(alias='resumeAt')]
    """
    nothing is sent before: the endpoint asked for it, or fails
    """
    last_success_at: Annotated[str | None, Field(alias='lastSuccessAt')]
    last_failure_at: Annotated[str | None, Field(alias='lastFailureAt')]
    recovery: WebhookWithSecretStandingRecovery | None
    """
    how far the recovery is that was asked for; null: none is under way
    """
    pending: int
    """
    counted to 1000
    """
    held: int
    """
    wait for an earlier event of their record; counted to 1000
    """
    dead: int
    """
    were given up; counted to 1000
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
    gone: the endpoint answered 410; null: it is active
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
    newest first: one, or more while it is rotated. Deliveries are signed with each
    """
    standing: Annotated[WebhookWithSecretStanding, Field(title='WebhookWithSecretStanding')]
    secret: str
    """
    what the `v1` signatures of deliveries verify with: shown once, and never again
    """
    public_key: Annotated[str, Field(alias='publicKey')]
    """
    Ed25519: what the `v1a` signatures of deliveries verify with
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
    the key that made it; null: the operator did
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    otlp: OtlpSettings | None
    """
    null: as by default (docs/integrations/otlp.md)
    """
    secrets: list[ApiKeySecrets]
    """
    one, or more while the key is rotated; none once it is revoked
    """


class Audit(Model):
    id: str
    requested_by: Annotated[str | None, Field(alias='requestedBy')]
    """
    null: the daily schedule
    """
    requested_at: Annotated[str, Field(alias='requestedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    state: Literal['queued', 'running', 'done', 'failed'] | str
    """
    done: see `ok`; failed: see `error`, which says nothing about the ledger
    """
    progress: Annotated[AuditProgress, Field(title='AuditProgress')]
    started_at: Annotated[str | None, Field(alias='startedAt')]
    finished_at: Annotated[str | None, Field(alias='finishedAt')]
    ok: bool | None
    """
    whether the whole ledger verifies; null: not known yet
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
    as signed
    """
    predicate: Annotated[dict[str, Any], Field(title='BatchEventDataPredicate')]
    """
    as signed: `GET /predicates/{kind}/v1` says what it holds
    """
    record: None
    batch: Annotated[BatchEventDataBatch, Field(title='BatchEventDataBatch')]
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[BatchEventDataDocuments] | None = None
    """
    what lies beside the entry; none of a batch
    """


class EntryLine(Model):
    seq: int
    """
    place in the chain, from 0
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
    of a batch: the objects that were hashed
    """
    received: str | None = None
    """
    the envelope of another ledger’s entry that this one receives
    """
    signer: Annotated[EntryLineSigner | None, Field(title='EntryLineSigner')] = None
    """
    the key of the agent that signed the entry itself; absent: the server did
    """


class EntryProofItem(Model):
    """
    the record's place in its batch
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
    the key that signed the envelope, or the registration
    """
    registration: str | None = None
    """
    where the agent signed the entry itself: the envelope by which the server registered its key
    """
    entry: SignedEntry
    index: int
    """
    place in the chain, from 0
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
    the record's place in its batch
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
    after this event
    """
    version: int
    """
    after this event
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
    the key that made it; null: the operator did
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    otlp: OtlpSettings | None
    """
    null: as by default (docs/integrations/otlp.md)
    """
    secrets: list[KeyRevocationSecrets]
    """
    one, or more while the key is rotated; none once it is revoked
    """
    also_revoked: Annotated[list[str], Field(alias='alsoRevoked')]
    """
    keys that this request revoked besides, with `alsoMade`
    """
    has_more: Annotated[bool, Field(alias='hasMore')]
    """
    some that it has made are still valid: send the request again
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
    the key that made it; null: the operator did
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')]
    revoked_at: Annotated[str | None, Field(alias='revokedAt')]
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    otlp: OtlpSettings | None
    """
    null: as by default (docs/integrations/otlp.md)
    """
    secrets: list[KeyWithSecretSecrets]
    """
    one, or more while the key is rotated; none once it is revoked
    """
    key: str


class BatchEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: Literal['batch.recorded']
    timestamp: str
    """
    when it was recorded
    """
    data: BatchEventData


class StatementEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: Literal['statement.registered']
    timestamp: str
    """
    when it was recorded
    """
    data: StatementEventData


class LedgerSummary(Model):
    id: str
    name: str
    issuer: str
    origin: str
    size: int
    """
    how many entries it has
    """
    closed: Literal['frozen', 'restored', 'moving', 'moved'] | str | None
    """
    why it takes no entries: frozen by the operator, an older backup of itself, being moved to another deployment, or moved there; null: it does
    """
    rate_limit: Annotated[RateLimit | None, Field(alias='rateLimit')]
    tiles: Literal['key', 'public'] | str
    """
    who may read its tiles: keys of the ledger with audit:read, or anybody
    """
    fault: LedgerSummaryFault | None
    """
    what verification found wrong with it: it gets no checkpoints until the operator has looked
    """


class NewKey(Model):
    id: str
    key: str
    """
    the secret: shown here, and never again
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
    the same on both sides
    """
    name: str
    role: Literal['inviter', 'invited'] | str
    """
    who this ledger was in the handshake
    """
    state: Literal['invited', 'pending', 'active', 'suspended', 'revoked'] | str
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_by: Annotated[str, Field(alias='createdBy')]
    expires_at: Annotated[str, Field(alias='expiresAt')]
    """
    of the invitation
    """
    remote: PeerIdentity | None
    """
    who the other side is; null before the handshake
    """
    added_seq: Annotated[int | None, Field(alias='addedSeq')]
    """
    of our peer-added
    """
    drain: NewPeerDrain | None
    """
    null before there is anything to send
    """
    budget: Annotated[NewPeerBudget, Field(title='NewPeerBudget')]
    """
    of what the peer sends: how much of it is stored here in a day
    """
    witness: NewPeerWitness | None
    """
    how each side witnesses the other; null before the handshake
    """
    invitation: str | None
    """
    for the other side’s administrator, once, and secret: anybody who has it can become the peer. null: one was accepted
    """


class Overturn(Model):
    signal: SettlementSignal
    reason: str | None
    """
    null without one, and once erased
    """
    by: str | Literal['system']
    """
    for whom: onBehalfOf, or the actor
    """
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    seq: int
    """
    of its entry
    """
    salt: str | None
    digest: str | None
    """
    of the salted document; null without one
    """
    erased_by: Annotated[int | None, Field(alias='erasedBy')]
    """
    the entry that erased the document
    """


class OwnLedgerKey(Model):
    """
    the one that asks
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
    when the secret that was sent ends; of one that was rotated, that is before its key
    """


class OwnLedger(Model):
    id: str
    name: str
    issuer: str
    origin: str
    note_verifier_key: Annotated[str, Field(alias='noteVerifierKey')]
    """
    the key of its checkpoints, as signed notes name keys
    """
    size: int
    """
    how many entries it has
    """
    closed: Literal['frozen', 'restored', 'moving', 'moved'] | str | None
    """
    why it takes no entries: frozen by the operator, an older backup of itself, being moved to another deployment, or moved there; null: it does
    """
    key: Annotated[OwnLedgerKey, Field(title='OwnLedgerKey')]
    """
    the one that asks
    """


class Peer(Model):
    id: str
    """
    the same on both sides
    """
    name: str
    role: Literal['inviter', 'invited'] | str
    """
    who this ledger was in the handshake
    """
    state: Literal['invited', 'pending', 'active', 'suspended', 'revoked'] | str
    created_at: Annotated[str, Field(alias='createdAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    created_by: Annotated[str, Field(alias='createdBy')]
    expires_at: Annotated[str, Field(alias='expiresAt')]
    """
    of the invitation
    """
    remote: PeerIdentity | None
    """
    who the other side is; null before the handshake
    """
    added_seq: Annotated[int | None, Field(alias='addedSeq')]
    """
    of our peer-added
    """
    drain: PeerDrain | None
    """
    null before there is anything to send
    """
    budget: Annotated[PeerBudget, Field(title='PeerBudget')]
    """
    of what the peer sends: how much of it is stored here in a day
    """
    witness: PeerWitness | None
    """
    how each side witnesses the other; null before the handshake
    """


class PeerDeadLetter(Model):
    seq: int
    """
    place in the chain, from 0
    """
    record: str | None
    code: str
    """
    for which the other side refused it
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
    the first of each document
    """
    outcome: Literal['pass', 'fail'] | str | None
    """
    of all rules; null without two valid documents, and where the type is not gated
    """
    rules: list[RuleOutcome] | None
    """
    what each rule says, in their order; null as outcome
    """


class Problem(Model):
    type: str
    """
    names the code; documentation, nothing to fetch
    """
    title: str
    status: int
    detail: str
    """
    for people; may change
    """
    code: str
    """
    for programs; stable
    """
    request_id: Annotated[str, Field(alias='requestId')]
    retryable: bool
    """
    whether the same request may succeed later
    """
    reason: str | None = None
    """
    why an envelope is not accepted: a code of its format
    """
    path: str | None = None
    """
    JSON Pointer to the fault
    """
    index: int | None = None
    """
    which item of a batch
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
    the scope that the key lacks
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
    the scopes that the key does not hold
    """
    expires_at: Annotated[str | None, Field(alias='expiresAt')] = None
    """
    the end of the secret that was sent
    """
    record_type: Annotated[str | None, Field(alias='recordType')] = None
    """
    name/version of a type
    """
    seq: int | None = None
    """
    the entry that has ended it, or the offer that is to be decided first
    """
    remaining: list[ErasableDocument] | None = None
    """
    what else of the record lies beside the chain, oldest first
    """
    holds: list[ProblemHolds] | None = None
    """
    holds that are in the way, oldest first
    """
    state: (
        Literal['RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED']
        | str
        | None
    ) = None
    """
    the record’s, which is in the way
    """
    version: int | None = None
    """
    the record’s
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
    the endpoint that is just like it
    """
    role: Literal['principal', 'performer', 'worker', 'other than the performer'] | str | None = None
    """
    whose step it is
    """
    ledger: str | None = None
    """
    the home of the record
    """
    resets_at: Annotated[str | None, Field(alias='resetsAt')] = None
    """
    when the day of the peering’s budget is over
    """


class ReceivedEventDataRecord(Model):
    """
    that the received entry is about, at its home; null: the peering
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
    after what was received; null: that is no step of it
    """
    version: int | None


class ReceivedEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[ReceivedEventDataSubjects]
    """
    as signed
    """
    predicate: Annotated[dict[str, Any], Field(title='ReceivedEventDataPredicate')]
    """
    as signed: `GET /predicates/{kind}/v1` says what it holds
    """
    record: ReceivedEventDataRecord | None
    """
    that the received entry is about, at its home; null: the peering
    """
    peer: str
    """
    who sent it
    """
    received: Annotated[ReceivedEventDataReceived, Field(title='ReceivedEventDataReceived')]
    """
    which entry of the other ledger
    """
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[ReceivedEventDataDocuments] | None = None
    """
    what lies beside the entry; none of a batch
    """
    received_envelope: Annotated[str | None, Field(alias='receivedEnvelope')] = None
    """
    COSE_Sign1 of the received entry, beside `envelope`
    """


class RecordEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[RecordEventDataSubjects]
    """
    as signed
    """
    predicate: Annotated[dict[str, Any], Field(title='RecordEventDataPredicate')]
    """
    as signed: `GET /predicates/{kind}/v1` says what it holds
    """
    record: EventRecord
    envelope: str | None = None
    """
    COSE_Sign1 of the entry
    """
    documents: list[RecordEventDataDocuments] | None = None
    """
    what lies beside the entry; none of a batch
    """


class SignalEventData(Model):
    ledger: str
    entry: EntryPlace
    subjects: list[SignalEventDataSubjects]
    """
    as signed
    """
    predicate: Annotated[dict[str, Any], Field(title='SignalEventDataPredicate')]
    """
    as signed: `GET /predicates/{kind}/v1` says what it holds
    """
    record: EventRecord
    signal: SettlementSignal
    envelope: str
    """
    the signed verdict
    """
    documents: list[SignalEventDataDocuments] | None = None
    """
    what lies beside the entry; none of a batch
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
    when it was recorded
    """
    data: RecordEventData


class DeliveredSignalEvent(Model):
    type: Literal['signal.emitted']
    timestamp: str
    """
    when it was recorded
    """
    data: SignalEventData


class DeliveredBatchEvent(Model):
    type: Literal['batch.recorded']
    timestamp: str
    """
    when it was recorded
    """
    data: BatchEventData


class DeliveredReceivedEvent(Model):
    type: Literal['entry.received']
    timestamp: str
    """
    when it was recorded
    """
    data: ReceivedEventData


class DeliveredWebhookPausedEvent(Model):
    type: Literal['webhook.paused']
    timestamp: str
    """
    when it happened
    """
    data: WebhookPausedEventData


class DeliveredWebhookTestEvent(Model):
    type: Literal['webhook.test']
    timestamp: str
    """
    when it happened
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
    `agt_…`, or of another ledger `led_…/agt_…`
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
    the newest
    """
    cancellation: Revision | None
    share: list[SharedWith] | None
    """
    by peer; null: with nobody
    """
    offer: Offer | None
    """
    of a record of another ledger: the newest step that was offered here
    """


class RecordEvent(Model):
    id: str
    """
    the same however often it is asked for
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
    when it was recorded
    """
    data: RecordEventData


class SignalEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: Literal['signal.emitted']
    timestamp: str
    """
    when it was recorded
    """
    data: SignalEventData


class ReceivedEvent(Model):
    id: str
    """
    the same however often it is asked for
    """
    type: Literal['entry.received']
    timestamp: str
    """
    when it was recorded
    """
    data: ReceivedEventData


class LedgerRecord(Model):
    id: str
    ledger: str
    """
    its home
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
    kinds of entries that may come next
    """
    payload: dict[str, Any] | None
    """
    null once erased, and where its home shares digests alone
    """
    salt: str | None
    digest: str
    """
    of the salted payload (docs/formats/documents.md)
    """
    actor: str
    """
    `agt_…`, or of another ledger `led_…/agt_…`
    """
    key: str
    on_behalf_of: Annotated[str | None, Field(alias='onBehalfOf')]
    parent: str | None
    references: list[str] | None
    """
    null without, and once erased
    """
    occurred_at: Annotated[str | None, Field(alias='occurredAt')]
    recorded_at: Annotated[str, Field(alias='recordedAt')]
    """
    RFC 3339, UTC, milliseconds
    """
    entry: RecordEntry
    """
    its newest entry; of a record of another ledger, the one that received that
    """
    batch: str | None
    metadata: dict[str, Any] | None
    """
    not signed
    """
    erasure: RecordErasure | None
    """
    what was erased is null from this entry on
    """
    gated: GatedRecord | None
    """
    null of what was notarized
    """


class EventPage(Model):
    data: list[RecordEvent | SignalEvent | BatchEvent | ErasureEvent | ReceivedEvent | StatementEvent | CheckpointEvent | UnknownEvent]
    next_cursor: Annotated[str, Field(alias='nextCursor')]
    """
    behind all that was looked at: where to go on, now or later
    """
    more: bool
    """
    whether there is more to look at now, also where `data` is empty
    """


class GetRecordsAnswer(Model):
    data: list[LedgerRecord]
    next_cursor: Annotated[str | None, Field(alias='nextCursor')]


class RecordTree(Model):
    record: LedgerRecord
    ancestors: list[LedgerRecord]
    """
    from the first one, without a parent, to its parent
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
