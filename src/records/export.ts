import type pg from 'pg'
import { findCheckpoint } from '../db/checkpoints.ts'
import { getLedger } from '../db/ledgers.ts'
import { type EntryRecordRow, type EntryRowRead, readEntries } from '../db/read-entries.ts'
import { listEnvelopeKeys } from '../db/server-keys.ts'
import { fromUuid } from '../db/uuid.ts'
import { type BatchItem, itemBytes } from '../proof/batch.ts'
import { formatVerifierKey } from '../proof/checkpoint.ts'
import { formatId } from '../proof/ids.ts'
import type { DocumentsShown } from '../proof/verify-entry.ts'
import { nativeProviders } from '../signing/native.ts'

type Db = pg.Pool | pg.ClientBase

/**
 * Lines of docs/formats/export.md for the entries from seq `from` up to `end`, exclusive; each ends with a newline.
 * A document that is withheld is null as if erased, but with no entry that would say so.
 */
export async function* entryLines(
  db: Db,
  ledgerId: Uint8Array,
  from: number,
  end: number,
  shown: DocumentsShown,
): AsyncGenerator<string> {
  for await (const { entry, records } of readEntries(db, ledgerId, from, end))
    yield `${entryLine(entry, records, shown)}\n`
}

/** A whole export: the ledger and its keys, its first `end` entries, and the newest checkpoint among them. */
export async function* exportLines(
  db: Db,
  ledgerId: Uint8Array,
  end: number,
  shown: DocumentsShown,
): AsyncGenerator<string> {
  const [ledger, keys, checkpoint] = await Promise.all([
    describeLedger(db, ledgerId),
    listEnvelopeKeys(db),
    findCheckpoint(db, ledgerId, end),
  ])
  // Said, because a document that is withheld looks like one that was deleted.
  const withheld = shown === 'all' ? {} : { documents: shown }
  yield `${JSON.stringify({ export: 1, ledger, keys, ...withheld })}\n`
  yield* entryLines(db, ledgerId, 0, end, shown)
  yield `${JSON.stringify({ checkpoint })}\n`
}

/** What a verifier needs to know of a ledger. */
export async function describeLedger(db: Db, ledgerId: Uint8Array) {
  const ledger = await getLedger(db, ledgerId)
  return {
    id: formatId('led', ledgerId),
    name: ledger.name,
    issuer: ledger.issuer,
    origin: ledger.origin,
    noteVerifierKey: formatVerifierKey(ledger.origin, ledger.noteKey.raw, nativeProviders.sha256),
  }
}

/** One line, without its newline. */
export function entryLine(entry: EntryRowRead, records: EntryRecordRow[], shown: DocumentsShown): string {
  const documents = records.map((r) => renderDocument(r, shown)).join(',')
  const items =
    entry.kind === 'batch-notarized' ? `[${records.map((r) => itemBytes(itemOf(r))).join(',')}]` : 'null'
  return (
    `{"seq":${entry.seq},"kind":"${entry.kind}","recordedAt":"${entry.recorded_at.toISOString()}",` +
    `"leaf":"${entry.leaf.toString('hex')}","chain":"${entry.chain.toString('hex')}",` +
    `"envelope":"${entry.envelope.toString('base64')}","documents":[${documents}],"items":${items}}`
  )
}

function renderDocument(r: EntryRecordRow, shown: DocumentsShown): string {
  // The salt goes with its document: with it, and the digest, a short document could be guessed.
  const salt = r.salt === null || shown === 'withheld' ? 'null' : `"${r.salt.toString('base64url')}"`
  const document = shown === 'all' ? r.payload?.toString('utf8') : undefined
  return (
    `{"subject":"${formatId('rec', fromUuid(r.record_id))}","digest":"${r.digest.toString('hex')}","salt":${salt},` +
    `"document":${document ?? 'null'},"erasedBy":${r.payload_erased_seq ?? 'null'}}`
  )
}

/** The object that was hashed as the record's leaf of its batch. */
function itemOf(r: EntryRecordRow): BatchItem {
  return {
    record: formatId('rec', fromUuid(r.record_id)),
    type: r.type,
    digest: r.digest.toString('hex'),
    ...(r.on_behalf_of !== null && { onBehalfOf: formatId('agt', fromUuid(r.on_behalf_of)) }),
    ...(r.occurred_at !== null && { occurredAt: r.occurred_at.toISOString() }),
    ...(r.traceparent !== null && { traceparent: r.traceparent }),
  }
}
