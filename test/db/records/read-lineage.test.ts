import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { appendEntries, type DocumentRow } from '../../../src/db/chain/append-entries.ts'
import { listEntriesOfRecord } from '../../../src/db/records/read-lineage.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { createTestLedger, randomId, type TestEntry } from '../../helpers/test-ledger.ts'
import { makeCreation, makeDocument, makeStep } from '../../helpers/test-steps.ts'

const ROUNDS = 40
const PAGE_BYTES = 4 * 1024 * 1024
/** Evidence and values of one round, with envelopes: the 33rd does not fit into a page. */
const ROUND_BYTES = 2 * 65_000
const ROUND_KINDS = ['completion-submitted', 'completion-verified', 'revision-requested'] as const

test('pages of a record’s entries hold as many as fit, each once and in order', async (t) => {
  const { pool, ledger, entries } = await open(t)
  const read = async (limit: number) => {
    const pages: number[][] = []
    for (let afterVersion = 0; ; afterVersion = pages.at(-1)!.at(-1)!) {
      const page = { afterVersion, limit, bytesMax: PAGE_BYTES }
      const rows = await listEntriesOfRecord(pool, ledger.id, entries[0]!.subjectId, page)
      if (rows.length === 0) return pages
      for (const { version, leaf, content } of rows) {
        const entry = entries[version - 1]!
        assert.deepEqual([leaf, content?.toString() ?? null], [entry.leaf, entry.document?.content ?? null])
      }
      pages.push(rows.map(({ version }) => version))
    }
  }
  const versions = entries.map(({ version }) => version)
  const small = await read(50)
  assert.deepEqual(small.flat(), versions)
  assert.ok(small.every(({ length }, i) => length === 50 || i === small.length - 1))
  const large = await read(200)
  assert.deepEqual(large.flat(), versions)
  const rounds = Math.floor(PAGE_BYTES / ROUND_BYTES)
  assert.ok(
    large[0]!.length >= 3 * rounds && large[0]!.length <= 3 * rounds + 4,
    `${large[0]!.length} entries`,
  )
})

test('an entry that is larger than a page is a page of its own', async (t) => {
  const { pool, ledger, entries } = await open(t)
  const page = { afterVersion: 2, limit: 200, bytesMax: 1_000 }
  const rows = await listEntriesOfRecord(pool, ledger.id, entries[0]!.subjectId, page)
  assert.deepEqual(
    rows.map(({ version }) => version),
    [3],
  )
})

/** A record with many rounds, whose evidence and values are large. */
async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const worker = await connect(t, database.workerUrl)
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const ledger = await createTestLedger(worker)
  const entries: TestEntry[] = []
  const append = async (entry: TestEntry) => {
    assert.equal((await appendEntries(worker, [entry]))[0]!.outcome, 'appended')
    entries.push(entry)
  }
  await append(makeCreation(ledger, { maxRevisions: ROUNDS }))
  await append(makeStep(ledger, entries.at(-1)!, 'record-activated'))
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of ROUND_KINDS) {
      const document = kind === 'revision-requested' ? undefined : large(kind)
      await append(makeStep(ledger, entries.at(-1)!, kind, { document }))
    }
  }
  return { pool, ledger, entries }
}

function large(kind: 'completion-submitted' | 'completion-verified'): DocumentRow {
  const name = kind === 'completion-submitted' ? 'evidence' : 'values'
  return { ...makeDocument(name, randomId()), content: `{"text":"${'x'.repeat(64_989)}"}` }
}
