import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseEntryProof } from '../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../src/proof/offline/verify-record.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { openEraser } from '../helpers/eraser.ts'
import { allEvents } from '../helpers/event-ledger.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { digestOf } from '../helpers/open-envelope.ts'
import { assertIntact, erase, linesOf } from '../helpers/personal-records.ts'
import { runs } from '../helpers/runs.ts'
import { shareApp } from '../helpers/shared-app.ts'

/*
 * Tests random batches of several types, with lengths near the ends of chunks. Some records are erased. Every reader
 * must show what was sent, and must not show erased content, before and after the worker removes it.
 */

/** The test uses a separate application, because it publishes checkpoints of all the application's ledgers. */
const publishedApp = shareApp()

type Item = {
  readonly type: string
  readonly payload: object
  readonly metadata?: object
  readonly occurredAt?: string
  /** True if the record is on behalf of another agent. */
  readonly inName?: boolean
  /** Distance to the parent among the ledger's records: 1 means the record directly before this record. */
  readonly parentBefore?: number
  readonly references?: string[]
  readonly traceparent?: string
}

type Expected = {
  readonly id: string
  readonly batch: string
  readonly seq: number
  readonly index: number
  readonly digest: string
  readonly salt: string
  readonly item: Item
  readonly onBehalfOf: string | null
  readonly parent: string | null
  erasedSeq: number | null
}

const object = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
const item: fc.Arbitrary<Item> = fc.record(
  {
    type: fc.constantFrom('generic/1', 'generic/1', 'note/1'),
    payload: object,
    metadata: object,
    occurredAt: fc.constantFrom('2026-11-20T12:00:00.000Z', '1969-12-31T23:59:59.999Z'),
    inName: fc.boolean(),
    parentBefore: fc.integer({ min: 1, max: 200 }),
    references: fc.array(fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }), { maxLength: 3 }),
    traceparent: fc.constantFrom(...['ab', '12'].map((two) => `00-${two.repeat(16)}-${two.repeat(8)}-01`)),
  },
  { requiredKeys: ['type', 'payload'] },
)
const length = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(63, 64, 65, 128, 130) },
)
const batch = length.chain((count) => fc.array(item, { minLength: count, maxLength: count }))
const fate = fc.constantFrom('kept', 'kept', 'ordered', 'carried out')

test('no reader shows erased records of batches; all others are shown unchanged', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(batch, batch), fc.array(fate, { minLength: 8 }), async (batches, fates) => {
      const readers = await openLedger(t)
      const { app } = readers
      const posted: { headers: Record<string, string>; body: object; answer: string; records: Expected[] }[] =
        []
      for (const [n, items] of batches.entries()) {
        const earlier = posted.flatMap(({ records }) => records)
        posted.push(await readers.notarize(items, earlier, `batch-${n}`))
      }
      const all = posted.flatMap(({ records }) => records)
      await readers.publish()
      for (const { headers, body, answer } of posted)
        assert.equal((await app.send('POST', '/v1/records/batch', { headers, body })).body, answer)
      await readers.assertShown(all)

      const fateOf = (i: number) => fates[(7 * i) % fates.length]!
      for (const wanted of ['carried out', 'ordered'] as const) {
        for (const [i, record] of all.entries()) {
          if (fateOf(i) !== wanted) continue
          const { erasure } = expectStatus(202, await erase(app, record.id)).json()
          record.erasedSeq = erasure.entry.seq
        }
        if (wanted === 'carried out') await readers.eraser.run()
      }
      assert.deepEqual(
        readers.eraser.logged.filter(({ level }) => level === 'error'),
        [],
      )
      await readers.assertShown(all)
      for (const { headers, body, answer, records } of posted) {
        const again = await app.send('POST', '/v1/records/batch', { headers, body })
        if (records.some((record) => fateOf(all.indexOf(record)) === 'carried out'))
          assertProblem(again, 422, 'idempotency_key_reused')
        else
          assert.deepEqual(again.json(), {
            ...JSON.parse(answer),
            records: records.map(({ id, digest, salt, erasedSeq }) => ({
              id,
              digest,
              salt: erasedSeq === null ? salt : null,
            })),
          })
      }
    }),
    { numRuns: runs(12, 2), endOnFailure: true },
  )
})

/** Opens a ledger. Returns functions that write and read its batches. */
async function openLedger(t: Parameters<typeof makePublish>[0]) {
  const app = await publishedApp()
  const publish = await makePublish(t, app)
  const eraser = openEraser(t, app)
  const definition = { name: 'note', version: 1, payloadSchema: { type: 'object' } }
  expectStatus(201, await app.send('POST', '/v1/types', { body: definition }))
  const client = await addAgent(app, 'client')
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const trust = { kids: [keys[0].kid], noteKey: noteVerifierKey, storedCheckpoints: [], consistency: null }

  async function notarize(items: readonly Item[], earlier: readonly Expected[], key: string) {
    const parents = items.map(({ parentBefore }, i) => {
      if (parentBefore === undefined) return null
      if (parentBefore <= i) return i - parentBefore
      return earlier.at(i - parentBefore)?.id ?? null
    })
    // Only a record without a parent of its own becomes a parent, because a run may not be deep.
    const named = parents.map((parent) =>
      typeof parent === 'number'
        ? parents[parent] === null
        : earlier.some(({ id, parent: above }) => id === parent && above === null),
    )
    const records = items.map(({ inName, parentBefore: _, ...rest }, i) => ({
      ...rest,
      ...(inName && { onBehalfOf: client }),
      ...(named[i] && { parent: parents[i] }),
    }))
    const headers = { 'idempotency-key': key }
    const body = { records }
    const response = expectStatus(201, await app.send('POST', '/v1/records/batch', { headers, body }))
    const answer = response.json()
    const idOf = (parent: string | number) =>
      typeof parent === 'number' ? answer.records[parent].id : parent
    const expected = items.map(
      (one, index): Expected => ({
        ...answer.records[index],
        batch: answer.batch,
        seq: answer.entry.seq,
        index,
        item: one,
        onBehalfOf: one.inName ? client : null,
        parent: named[index] ? idOf(parents[index]!) : null,
        erasedSeq: null,
      }),
    )
    return { headers, body, answer: response.body, records: expected }
  }

  async function assertShown(all: readonly Expected[]) {
    const text = (await app.send('GET', '/v1/export')).body
    const lines = linesOf(text)
    await assertIntact(text, lines.length)
    const entries = await app.entries()
    assert.deepEqual(lines, entries)
    const events = await allEvents(app)
    for (const seq of new Set(all.map((one) => one.seq))) {
      const records = all.filter((one) => one.seq === seq)
      assert.deepEqual(lines[seq].items, records.map(itemOf))
      assert.deepEqual(lines[seq].documents, records.map(documentOf))
      const told = events.find(({ type, data }) => type === 'batch.recorded' && data.entry.seq === seq)
      const counts = Object.entries(Object.groupBy(records, (one) => one.item.type))
      assert.deepEqual(
        told.data.batch.types,
        Object.fromEntries(counts.map(([type, of]) => [type, of!.length])),
      )
    }
    const erasures = events.filter(({ type }) => type === 'payload.erased')
    assert.deepEqual(
      erasures.map(({ data }) => [data.entry.seq, data.record.id, data.record.type]),
      all
        .filter(({ erasedSeq }) => erasedSeq !== null)
        .sort((a, b) => a.erasedSeq! - b.erasedSeq!)
        .map(({ erasedSeq, id, item: { type } }) => [erasedSeq, id, type]),
    )
    const listed = await listAll(app)
    assert.deepEqual(listed.map(membersOf), all.map(expectedMembers))
    // Only records near the ends of chunks are tested, because each proof hashes the whole batch.
    for (const [i, record] of all.entries())
      if ([0, 1, 63].includes(record.index % 64)) await assertShownAlone(record, listed[i])
  }

  async function assertShownAlone(record: Expected, inList: Shown) {
    const shown = expectStatus(200, await app.send('GET', `/v1/records/${record.id}`))
    assert.deepEqual(shown.json(), inList)
    const { body } = expectStatus(200, await app.send('GET', `/v1/records/${record.id}/proof`))
    const proof = verifyProof(parseEntryProof(body), trust, nativeProviders)
    assert.deepEqual({ ...proof.item }, itemOf(record))
    assert.equal(JSON.parse(body).item.index, record.index)
    if (record.erasedSeq === null) verifyRecord(shown.body, proof, nativeProviders)
  }

  return { app, publish, eraser, notarize, assertShown }
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

const referencesOf = ({ references }: Item) => (references?.length ? references : null)

function itemOf({ id, digest, salt, item: said, onBehalfOf, parent }: Expected) {
  const references = referencesOf(said)
  return {
    record: id,
    type: said.type,
    digest,
    ...(onBehalfOf !== null && { onBehalfOf }),
    ...(said.occurredAt !== undefined && { occurredAt: said.occurredAt }),
    ...(parent !== null && { parent }),
    ...(references && { references: digestOf(salt, references) }),
    ...(said.traceparent !== undefined && { traceparent: said.traceparent }),
  }
}

function documentOf({ id, digest, salt, item: said, erasedSeq }: Expected) {
  const references = referencesOf(said)
  if (erasedSeq !== null) return { subject: id, digest, salt: null, document: null, erasedBy: erasedSeq }
  return {
    subject: id,
    digest,
    salt,
    document: plain(said.payload),
    erasedBy: null,
    ...(references && { references }),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
type Shown = any

/** Returns those members of a shown record that its batch determines. */
function membersOf({ id, type, payload, salt, digest, onBehalfOf, parent, ...rest }: Shown) {
  const { references, occurredAt, metadata, entry, batch, erasure } = rest
  return [
    ...[id, type, payload, salt, digest, onBehalfOf, parent, references, occurredAt, metadata],
    ...[entry.seq, batch, erasure?.seq ?? null],
  ]
}

function expectedMembers({
  id,
  item: said,
  salt,
  digest,
  onBehalfOf,
  parent,
  seq,
  batch,
  erasedSeq,
}: Expected) {
  const { type, payload, metadata, occurredAt = null } = said
  const ofDocument =
    erasedSeq === null
      ? { payload: plain(payload), salt, references: referencesOf(said), metadata: plain(metadata ?? null) }
      : { payload: null, salt: null, references: null, metadata: null }
  const erasure = erasedSeq === null ? null : { seq: erasedSeq }
  return membersOf({
    ...{ id, type, digest, onBehalfOf, parent, occurredAt, batch, erasure },
    ...ofDocument,
    entry: { seq },
  })
}

async function listAll(app: TestApp): Promise<Shown[]> {
  const records: Shown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const url: string = `/v1/records?order=asc&limit=50${cursor && `&cursor=${cursor}`}`
    const page = expectStatus(200, await app.send('GET', url)).json()
    records.push(...page.data)
    cursor = page.nextCursor
  }
  return records
}
