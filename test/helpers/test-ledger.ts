import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import {
  type AppendAnswer,
  appendEntries,
  type EntryRow,
  type RecordRow,
} from '../../src/db/chain/append-entries.ts'
import type { EntryDetail } from '../../src/db/chain/entry-details.ts'
import { bytesOfUuid, type Uuid, uuidOfBytes } from '../../src/proof/ids.ts'

/*
 * Entries for tests of the database. An envelope is random bytes: Postgres can't check a signature, and holds
 * every rule that it does hold without one.
 */

export type TestLedger = {
  readonly id: Uuid
  readonly agentId: Uuid
  readonly keyId: Uuid
  /** The ledger's envelope key. */
  readonly kid: Buffer
}

export const randomId = (): Uuid => uuidOfBytes(randomBytes(16))

export const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** H(0x00 ‖ envelope): an RFC 9162 leaf. */
export const leafOf = (envelope: Uint8Array): Buffer => sha256(Buffer.of(0), envelope)

export const genesisOf = (ledgerId: Uuid): Buffer =>
  sha256(Buffer.from('tallystick-chain-v1'), bytesOfUuid(ledgerId))

export const linkOf = (previous: Uint8Array, leaf: Uint8Array): Buffer => sha256(Buffer.of(2), previous, leaf)

/** A ledger with its first three entries, as the server makes them. */
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

/** `detail`: any object, for lies. */
export function adminEntry(ledger: TestLedger, kind: string, subjectId: Uuid, detail: object): TestEntry {
  return makeEntry(ledger, {
    kind,
    subjectId,
    version: null,
    toState: null,
    actorId: null,
    keyId: null,
    detail: detail as EntryDetail,
    records: [],
  })
}

/** An entry that is about something with an id, as most are. */
export type TestEntry = EntryRow & { readonly subjectId: Uuid }

/** An entry that notarizes one record; `changes` replace what it says. A changed envelope gets its leaf. */
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
    records: [makeRecord(subjectId)],
    ...changes,
    subjectId,
    envelope,
  }
}

export function makeRecord(recordId: Uuid, changes: Partial<RecordRow> = {}): RecordRow {
  return {
    recordId,
    index: null,
    type: 'generic/1',
    digest: randomBytes(32),
    salt: randomBytes(16),
    payload: '{"test":true}',
    onBehalfOf: null,
    occurredAtMs: null,
    traceparent: null,
    metadata: null,
    parentId: null,
    references: null,
    ...changes,
  }
}

/** An entry that notarizes `count` records. */
export function makeBatch(ledger: TestLedger, count: number, changes: Partial<TestEntry> = {}): TestEntry {
  const records = Array.from({ length: count }, (_, index) => makeRecord(randomId(), { index }))
  return makeEntry(ledger, { kind: 'batch-notarized', records, ...changes })
}

/** An idempotency key by name, for a request by name. */
export function makeIdempotency(key: string, request: string): NonNullable<EntryRow['idempotency']> {
  return {
    keyHash: sha256(Buffer.from(key)).subarray(0, 16),
    requestHash: sha256(Buffer.from(request)),
    salt: randomBytes(16),
  }
}

export const outcomesOf = (answers: readonly AppendAnswer[]): string[] =>
  answers.map((answer) => answer.outcome)
