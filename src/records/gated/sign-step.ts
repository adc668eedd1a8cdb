import { type Author, type EntrySigner, sealEntry } from '../../append/entry.ts'
import type {
  DocumentName,
  DocumentRow,
  EntryRow,
  GatedRow,
  IdempotencyRow,
  RecordRow,
} from '../../db/chain/append-entries.ts'
import type { StepDetail } from '../../db/chain/entry-details.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { RecordState, StepKind, Subject } from '../../proof/statement/kinds.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import type { SaltedDocument } from '../documents.ts'
import type { OnBehalfOf } from '../write/on-behalf-of.ts'

/** A document that a step digests, with the name of its subject. */
export type NamedDocument = SaltedDocument & {
  readonly name: DocumentName
  readonly subject: string
  /** Id of the completion. If the document is a reason, id of the record. */
  readonly subjectId: Uuid
}

export type GatedEvent = {
  readonly kind: StepKind | 'record-created'
  readonly record: string
  readonly recordId: Uuid
  /** Digest of the payload in lower-case hex. */
  readonly digest: string
  readonly version: number
  readonly from: RecordState | null
  readonly to: RecordState
  /** Leaf of the record's last entry in lower-case hex. null if this is the record's first entry. */
  readonly previous: string | null
  readonly recordedAtMs: number
  readonly onBehalfOf: OnBehalfOf | null
  /**
   * Subjects that come after the record and before the document, such as a completion that an earlier entry digests.
   */
  readonly subjects: readonly Subject[]
  readonly document: NamedDocument | null
  /** Members of the predicate, except those that every event of a record has. */
  readonly predicate: object
  readonly idempotency: IdempotencyRow | null
  readonly created?: { readonly gated: GatedRow; readonly record: RecordRow }
  readonly detail?: StepDetail | undefined
}

/** Signs one event. Returns the entry in the form that append_entries accepts, and the entry's predicate. */
export function signEvent(
  signer: EntrySigner,
  author: Author,
  event: GatedEvent,
): ReturnType<typeof sealEntry> {
  const { record, version, from, to, previous, document, onBehalfOf, created } = event
  return sealEntry(
    signer,
    author,
    {
      kind: event.kind,
      subject: { id: event.recordId, name: record, digest: event.digest },
      extraSubjects: [
        ...event.subjects,
        ...(document ? [{ name: document.subject, sha256: toHex(document.digest) }] : []),
      ],
      onBehalfOf,
      predicate: { record, version, ...(previous !== null && { previous, from }), to, ...event.predicate },
      idempotency: event.idempotency,
      event: {
        version,
        to,
        previous,
        partyId: onBehalfOf?.agentId ?? ('agentId' in author ? author.agentId : undefined),
      },
      detail: event.detail,
      records: created ? [created.record] : [],
      gated: created?.gated,
      document: document ? documentRow(document) : undefined,
    },
    event.recordedAtMs,
  )
}

export function documentRow({ name, subjectId, digest, salt, canonical }: NamedDocument): DocumentRow {
  return { name, subjectId, digest, salt, content: canonical }
}

/**
 * Marks an appended entry as verified in the cache. This process signed the entry itself, so it need not verify the
 * entry when the record is judged.
 */
export function rememberSigned({ known }: EnvelopeKeys, { leaf, envelope }: EntryRow): void {
  known.addSigned(toHex(leaf), envelope, null)
}
