import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import {
  type AppendAnswer,
  appendEntries,
  type ChunkRow,
  type EntryRow,
  type RecordRow,
} from '../../src/db/chain/append-entries.ts'
import type { EntryDetail } from '../../src/db/chain/entry-details.ts'
import { CHUNK_RECORDS, type ChunkRecord, encodeChunk } from '../../src/db/chunks/chunk-content.ts'
import { keysOfChunk } from '../../src/db/chunks/chunk-keys.ts'
import { bytesOfUuid, type Uuid, uuidOfBytes } from '../../src/proof/ids.ts'
import { firstRecordId, ownRecordId, recordIdAt } from '../../src/proof/statement/batch-ids.ts'

/*
 * Entries for tests of the database. Envelopes are random bytes, because Postgres cannot verify signatures and its
 * rules do not need them.
 */

export type TestLedger = {
  readonly id: Uuid
  readonly agentId: Uuid
  readonly keyId: Uuid
  readonly kid: Buffer
}

/** Returns a random id that a single record, or any other subject, may have. */
export const randomId = (): Uuid => ownRecordId(uuidOfBytes(randomBytes(16)))

export const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Returns the RFC 9162 leaf of an envelope: H(0x00 ‖ envelope). */
export const leafOf = (envelope: Uint8Array): Buffer => sha256(Buffer.of(0), envelope)

export const genesisOf = (ledgerId: Uuid): Buffer =>
  sha256(Buffer.from('tallystick-chain-v1'), bytesOfUuid(ledgerId))

export const linkOf = (previous: Uint8Array, leaf: Uint8Array): Buffer => sha256(Buffer.of(2), previous, leaf)

/** Creates a ledger with its first three entries, as the server does. */
export async function createTestLedger(
  client: pg.ClientBase,
  given: Partial<TestLedger> = {},
): Promise<TestLedger> {
  const ledger = { id: randomId(), agentId: randomId(), keyId: randomId(), kid: randomBytes(32), ...given }
  const answers = await appendEntries(client, await firstEntries(client, ledger))
  const refused = answers.find((answer) => answer.outcome !== 'appended')
  if (refused) throw new Error(`no test ledger: ${refused.outcome}`)
  return ledger
}

export async function firstEntries(client: pg.ClientBase, ledger: TestLedger): Promise<TestEntry[]> {
  const { rows } = await client.query("select kid from tallystick.server_keys where use = 'note'")
  const name = ledger.id
  return [
    adminEntry(ledger, 'ledger-created', ledger.id, {
      name,
      issuer: 'https://tallystick.test',
      origin: `tallystick.test/${name}`,
      noteKid: rows[0].kid.toString('hex'),
    }),
    adminEntry(ledger, 'agent-registered', ledger.agentId, { name: 'first agent' }),
    adminEntry(ledger, 'key-created', ledger.keyId, {
      agentId: ledger.agentId,
      name: 'first key',
      scopes: ['records:write'],
      secretHash: randomBytes(32).toString('hex'),
      mac: randomBytes(32).toString('hex'),
      expiresAt: null,
    }),
  ]
}

export function adminEntry(ledger: TestLedger, kind: string, subjectId: Uuid, detail: object): TestEntry {
  return makeEntry(ledger, {
    kind,
    subjectId,
    version: null,
    toState: null,
    // The system may erase only by a retention rule. So an agent erases here.
    actorId: kind === 'payload-erased' ? ledger.agentId : null,
    keyId: null,
    detail: detail as EntryDetail,
    records: [],
  })
}

/** An entry whose `subjectId` is not null, as in most entries. */
export type TestEntry = EntryRow & { readonly subjectId: Uuid }

/**
 * Makes an entry that notarizes one record. `changes` replace its members. If the envelope is changed, its leaf changes
 * too.
 */
export function makeEntry(ledger: TestLedger, changes: Partial<TestEntry> = {}): TestEntry {
  const subjectId = changes.subjectId ?? randomId()
  const envelope = changes.envelope ?? randomBytes(120)
  return {
    ledgerId: ledger.id,
    kind: 'record-notarized',
    version: 1,
    toState: 'RECORDED',
    previousLeaf: null,
    actorId: ledger.agentId,
    keyId: ledger.keyId,
    kid: ledger.kid,
    recordedAtMs: Date.now(),
    leaf: leafOf(envelope),
    idempotency: null,
    detail: null,
    itemCount: null,
    records: [makeRecord(subjectId)],
    chunks: [],
    ...changes,
    subjectId,
    envelope,
  }
}

export function makeRecord(recordId: Uuid, changes: Partial<RecordRow> = {}): RecordRow {
  return {
    recordId,
    type: 'generic/1',
    digest: randomBytes(32),
    salt: randomBytes(16),
    payload: '{"test":true}',
    onBehalfOf: null,
    occurredAtMs: null,
    traceparent: null,
    metadata: null,
    parentId: null,
    otherMembers: null,
    references: null,
    ...changes,
  }
}

export function makeItem(changes: Partial<ChunkRecord> = {}): ChunkRecord {
  return {
    type: 'generic/1',
    document: {
      salt: randomBytes(16),
      payload: Buffer.from('{"test":true}'),
      references: null,
      metadata: null,
    },
    onBehalfOf: null,
    occurredAtMs: null,
    traceparent: null,
    parentId: null,
    otherMembers: null,
    ...changes,
  }
}

export function makeChunks(ledger: TestLedger, first: Uuid, items: readonly ChunkRecord[]): ChunkRow[] {
  const starts = Array.from({ length: Math.ceil(items.length / CHUNK_RECORDS) }, (_, i) => i * CHUNK_RECORDS)
  return starts.map((start, chunk) => {
    const held = items.slice(start, start + CHUNK_RECORDS)
    return {
      chunk,
      firstRecordId: recordIdAt(first, start),
      count: held.length,
      content: encodeChunk(held),
      keys: keysOfChunk(ledger.agentId, held),
    }
  })
}

/** Makes a batch entry. `items`: the items, or the number of generated records. */
export function makeBatch(
  ledger: TestLedger,
  items: number | readonly ChunkRecord[],
  changes: Partial<TestEntry> = {},
): TestEntry {
  const records = typeof items === 'number' ? Array.from({ length: items }, () => makeItem()) : items
  return makeEntry(ledger, {
    kind: 'batch-notarized',
    records: [],
    itemCount: records.length,
    chunks: makeChunks(ledger, firstRecordId(randomId()), records),
    ...changes,
  })
}

export function makeIdempotency(key: string, request: string): NonNullable<EntryRow['idempotency']> {
  return {
    keyHash: sha256(Buffer.from(key)).subarray(0, 16),
    requestHash: sha256(Buffer.from(request)),
    salt: randomBytes(16),
  }
}

export const outcomesOf = (answers: readonly AppendAnswer[]): string[] =>
  answers.map((answer) => answer.outcome)
