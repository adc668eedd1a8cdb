import type {
  DocumentName,
  EntryRow,
  GatedRow,
  IdempotencyRow,
  RecordRow,
} from '../../db/chain/append-entries.ts'
import type { Author } from '../../ledgers/administration.ts'
import { requireRecent } from '../../ledgers/caller.ts'
import { fromHex } from '../../proof/bytes.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { TakenOffer } from '../../proof/statement/federation-statements.ts'
import type { RecordState, StepKind, Subject } from '../../proof/statement/kinds.ts'
import { buildStatement } from '../../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { signEntry } from '../../signing/sign-entry.ts'
import type { SignedLedger } from '../../signing/signers.ts'
import type { SaltedDocument } from '../documents.ts'
import type { OnBehalfOf } from '../on-behalf-of.ts'
import { toHex } from '../text-of-bytes.ts'

/** The document that a step digests, and what its subject is called. */
export type NamedDocument = SaltedDocument & {
  readonly name: DocumentName
  readonly subject: string
  /** The completion; of a reason, the record. */
  readonly subjectId: Uint8Array
}

/** Event of a gated record, as it is signed. */
export type GatedEvent = {
  readonly kind: StepKind | 'record-created'
  readonly record: string
  readonly recordId: Uint8Array
  /** Digest of the payload, lower-case hex. */
  readonly digest: string
  readonly version: number
  readonly from: RecordState | null
  readonly to: RecordState
  /** The leaf of the record's last entry, lower-case hex; null: there is none yet. */
  readonly previous: string | null
  readonly recordedAtMs: number
  readonly onBehalfOf: OnBehalfOf | null
  /** Subjects between the record and the document: a completion that an earlier entry digests. */
  readonly subjects: readonly Subject[]
  readonly document: NamedDocument | null
  /** Beyond what every event of a record says. */
  readonly predicate: object
  readonly idempotency: IdempotencyRow | null
  readonly created?: { readonly gated: GatedRow; readonly record: RecordRow }
  /** About peers: what `append_federation` stores, by kind (migrations/functions/append-federation.sql). Absent: nothing. */
  readonly detail?: object | undefined
}

/** An agent of another ledger, `led_…/agt_…`, by what it offered: no key of this ledger acted. */
type RemoteAuthor = SignedLedger & {
  readonly ledger: string
  readonly issuer: string
  readonly agent: string
  readonly agentId: Uint8Array
  readonly offer: TakenOffer
}

type SignedEvent = { readonly entry: EntryRow; readonly predicate: object }

/** The signed entry of one event, as append_entries takes it. */
export function signEvent(signer: Signer, author: Author | RemoteAuthor, event: GatedEvent): SignedEvent {
  const { kind, record, document, previous, recordedAtMs, onBehalfOf } = event
  if ('keyId' in author) requireRecent(author, recordedAtMs)
  const subjects = [
    { name: record, sha256: event.digest },
    ...event.subjects,
    ...(document ? [{ name: document.subject, sha256: toHex(document.digest) }] : []),
  ]
  const predicate = {
    ledger: author.ledger,
    actor: author.agent,
    ...('key' in author && { key: author.key }),
    ...(onBehalfOf && { onBehalfOf: onBehalfOf.agent }),
    ...('offer' in author && { offer: author.offer }),
    recordedAt: new Date(recordedAtMs).toISOString(),
    record,
    version: event.version,
    ...(previous !== null && { previous, from: event.from }),
    to: event.to,
    ...event.predicate,
  }
  const statement = buildStatement(kind, subjects, predicate)
  const entry: EntryRow = {
    ledgerId: author.ledgerId,
    kind,
    subjectId: event.recordId,
    version: event.version,
    toState: event.to,
    previousLeaf: previous === null ? null : fromHex(previous),
    actorId: 'agentId' in author ? author.agentId : null,
    partyId: onBehalfOf?.agentId ?? ('agentId' in author ? author.agentId : undefined),
    keyId: 'keyId' in author ? author.keyId : null,
    kid: signer.kid,
    recordedAtMs,
    ...signEntry(signer, { issuer: author.issuer, subject: record, recordedAtMs }, statement),
    idempotency: event.idempotency,
    detail: event.detail === undefined ? null : JSON.stringify(event.detail),
    records: event.created ? [event.created.record] : [],
    gated: event.created?.gated,
    document: document
      ? {
          name: document.name,
          subjectId: document.subjectId,
          digest: document.digest,
          salt: document.salt,
          content: document.canonical,
        }
      : undefined,
  }
  return { entry, predicate }
}

/** Remembers an appended entry: this process signed it, so it need not verify it when the record is judged. */
export function rememberSigned({ known }: EnvelopeKeys, { leaf, envelope }: EntryRow): void {
  known.addSigned(toHex(leaf), envelope, null)
}
