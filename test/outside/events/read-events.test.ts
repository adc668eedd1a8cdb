import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readEnds } from '../../../src/db/events/read-events.ts'
import type { LedgerEvent } from '../../../src/outside/events/event.ts'
import {
  ALL_EVENTS,
  EVENT_TYPES,
  EVENTS_OF_KIND,
  type EventKind,
  type WantedEvents,
} from '../../../src/outside/events/event-types.ts'
import { type EventPosition, findEvents, readEvents } from '../../../src/outside/events/read-events.ts'
import { storedStatements, verifiedStatements } from '../../../src/outside/events/statements.ts'
import { NIL_UUID, parseId } from '../../../src/proof/ids.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { unguarded } from '../../helpers/checkpoints.ts'
import { buildEventLedger } from '../../helpers/event-ledger.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { addAgent } from '../../helpers/more-keys.ts'
import { erase } from '../../helpers/personal-records.ts'
import { runs } from '../../helpers/runs.ts'
import { listStoredChunks, writeContent } from '../../helpers/stored-chunks.ts'
import { raiseVerifiedSizes } from '../../helpers/verified-sizes.ts'

const BEGINNING = { seq: 0, eventsDelivered: 0, checkpoint: 0 }

function sourceOf(app: TestApp, filter: WantedEvents = ALL_EVENTS) {
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const entriesUrl = 'https://ledger.example/v1/entries'
  return { ledgerId, filter, entriesUrl, statementsOf: storedStatements }
}

async function endsOf(app: TestApp) {
  const [ends] = await readEnds(app.deps.readPool, app.deps.cursorMac, [sourceOf(app).ledgerId])
  return ends!
}

test('events of a ledger', async (t) => {
  const app = await buildEventLedger(t)
  const { readPool } = app.deps
  await raiseVerifiedSizes(app)
  const ends = await endsOf(app)
  const read = (filter: WantedEvents, from: EventPosition, limit: number, upTo = ends) =>
    readEvents(readPool, sourceOf(app, filter), from, upTo, limit)
  const { steps: whole, more } = await read(ALL_EVENTS, BEGINNING, 1_000)
  const kinds: { kind: string }[] = await app.entries()
  const eventsOfEntries = kinds.flatMap(({ kind }) => EVENTS_OF_KIND[kind as EventKind] ?? [])
  const checkpoints = await app.sql('select size from tallystick.checkpoints')
  assert.deepEqual([whole.length, more], [eventsOfEntries.length + checkpoints.length, false])

  const filter: fc.Arbitrary<WantedEvents> = fc.record({
    events: fc.option(
      fc.uniqueArray(fc.constantFrom(...EVENT_TYPES), { minLength: 1 }).map((of) => new Set(of)),
    ),
    types: fc.option(
      fc
        .uniqueArray(fc.constantFrom('generic', 'generic/1', 'delivery/1', 'delivery/2'), { minLength: 1 })
        .map((of) => new Set<string>(of)),
    ),
  })

  await t.test('are the same in one page and in pages of any size, with any filter', async () => {
    await fc.assert(
      fc.asyncProperty(
        filter,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (of, limits) => {
          const { steps, position, more } = await read(of, BEGINNING, 1_000)
          assert.equal(more, false)
          const paged = []
          let from: EventPosition = BEGINNING
          for (let i = 0; i < 200; i++) {
            const limit = limits[i % limits.length]!
            const page = await read(of, from, limit)
            assert.ok(page.steps.length <= limit)
            if (page.steps.length > 0 && page.steps.length === limit)
              assert.deepEqual(page.position, page.steps.at(-1)!.after)
            paged.push(...page.steps.map(({ event }) => event))
            from = page.position
            if (!page.more) break
          }
          assert.deepEqual(
            paged,
            steps.map(({ event }) => event),
          )
          assert.deepEqual(from, position)
        },
      ),
      { numRuns: runs(40), endOnFailure: true },
    )
  })

  await t.test('continue behind the position of each event, also with another filter', async () => {
    for (const [i, { after }] of whole.entries()) {
      const rest = await read(ALL_EVENTS, after, 1_000)
      assert.deepEqual(rest.steps, whole.slice(i + 1))
    }
    await fc.assert(
      fc.asyncProperty(filter, fc.integer({ min: 1, max: 10 }), async (of, limit) => {
        const { steps, position } = await read(of, BEGINNING, limit)
        const told = steps.at(-1)
        if (told === undefined) return assert.deepEqual(position, (await read(of, BEGINNING, 1_000)).position)
        const rest = (await read(ALL_EVENTS, told.after, 1_000)).steps.map(({ event }) => event)
        const at = whole.findIndex(
          ({ event }) => event.seq === told.event.seq && event.type === told.event.type,
        )
        assert.deepEqual(
          rest,
          whole.slice(at + 1).map(({ event }) => event),
        )
      }),
      { numRuns: runs(40), endOnFailure: true },
    )
  })

  await t.test('are each read exactly once while the ledger grows, late checkpoints included', async () => {
    const told = []
    let from: EventPosition = BEGINNING
    // Reads events like a tail while the ledger grows. An entry is read as soon as it exists. A checkpoint is
    // published and read three entries later.
    for (let size = 0; size <= ends.size; size++) {
      const published = whole.filter(
        ({ event }) => event.type === 'checkpoint.published' && event.seq + 1 <= size - 3,
      )
      const upTo = { size, checkpoint: published.at(-1)?.after.checkpoint ?? 0, verifiedSize: size }
      for (let page = await read(ALL_EVENTS, from, 2, upTo); ; page = await read(ALL_EVENTS, from, 2, upTo)) {
        told.push(...page.steps.map(({ event }) => event))
        from = page.position
        if (!page.more) break
      }
    }
    const keys = told.map(({ seq, type }) => `${seq} ${type}`)
    assert.equal(new Set(keys).size, keys.length)
    assert.deepEqual(keys.toSorted(), whole.map(({ event }) => `${event.seq} ${event.type}`).toSorted())
  })

  await t.test('are found by seq and type; absent names are not found', async () => {
    const names = whole.map(({ event: { seq, type } }) => ({ seq, type }))
    assert.deepEqual(
      await findEvents(readPool, sourceOf(app), names.toReversed()),
      whole.map(({ event }) => event).toReversed(),
    )
    const absent = [
      { seq: 0, type: 'record.recorded' },
      { seq: ends.size, type: 'record.recorded' },
      { seq: names[0]!.seq, type: 'signal.emitted' },
      { seq: 0, type: 'checkpoint.published' },
    ]
    assert.deepEqual(await findEvents(readPool, sourceOf(app), absent), [null, null, null, null])
  })

  await t.test('are verified against the ledger and its keys if requested', async () => {
    const { ledgerId } = sourceOf(app)
    const statementsOf = verifiedStatements(ledgerId, app.deps.envelopeKeys)
    const { steps } = await readEvents(readPool, { ...sourceOf(app), statementsOf }, BEGINNING, ends, 1_000)
    assert.deepEqual(steps, whole)
    const foreign = verifiedStatements(NIL_UUID, app.deps.envelopeKeys)
    const names = [{ seq: whole[0]!.event.seq, type: whole[0]!.event.type }]
    const [refused] = await findEvents(readPool, { ...sourceOf(app), statementsOf: foreign }, names)
    assert.equal((refused as LedgerEvent).fault?.code, 'ledger_foreign')
  })
})

const FLIPPED = 'set_byte(envelope, length(envelope) - 1, get_byte(envelope, length(envelope) - 1) # 1)'
const withLeaf = (envelope: string) => `envelope = ${envelope}, leaf = sha256('\\x00' || ${envelope})`

/** Changes by a database owner, with the expected code. */
const FORGERIES: [what: string, set: string, code: string][] = [
  ['another record', `subject_id = '01890000-0000-7000-8000-000000000000'`, 'line_contradicts_envelope'],
  ['another kind', `kind = 'record-expired'`, 'line_contradicts_envelope'],
  ['another time', `recorded_at = recorded_at + interval '1 ms'`, 'line_contradicts_envelope'],
  ['an envelope that is none', withLeaf(`'\\x00'::bytea`), 'cose_structure'],
  ['a signature that does not verify', withLeaf(FLIPPED), 'signature_invalid'],
]

test('a verified read returns a changed entry as a fault without data', async (t) => {
  const app = await buildEventLedger(t)
  const { readPool } = app.deps
  await raiseVerifiedSizes(app)
  const ends = await endsOf(app)
  const { ledgerId } = sourceOf(app)
  const statementsOf = verifiedStatements(ledgerId, app.deps.envelopeKeys)
  const source = { ...sourceOf(app), statementsOf }
  const { steps } = await readEvents(readPool, source, BEGINNING, ends, 1_000)
  const { event } = steps.find((step) => step.event.type === 'record.cancelled')!
  const entry = `ledger_id = '${ledgerId}'::uuid and seq = ${event.seq}`
  await app.sql(`create table public.kept as select * from tallystick.entries where ${entry}`)
  const restore = `delete from tallystick.entries where ${entry}; insert into tallystick.entries select * from public.kept`
  for (const [what, set, code] of FORGERIES)
    await t.test(`${what}: ${code}`, async () => {
      await unguarded(app, `update tallystick.entries set ${set} where ${entry}`)
      const { steps: told } = await readEvents(readPool, source, BEGINNING, ends, 1_000)
      const forged = told.find((step) => step.event.seq === event.seq && step.event.recordId !== undefined)
      assert.equal(forged?.event.fault?.code, code)
      assert.equal(forged.event.members, '')
      assert.equal(told.filter((step) => step.event.fault !== null).length, 1)
      await unguarded(app, restore)
    })
})

test('events of batches have data of their chunks; after a changed chunk they have a fault', async (t) => {
  const app = await lendApp(t)
  const stranger = await addAgent(app, 'stranger')
  const definition = { name: 'note', version: 1, payloadSchema: { type: 'object' } }
  expectStatus(201, await app.send('POST', '/v1/types', { body: definition }))
  const [own, others] = [
    `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
    `00-${'ef'.repeat(16)}-${'12'.repeat(8)}-01`,
  ]
  const post = async (records: object[]) =>
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } })).json()
  const one = await post([genericBody(), { ...genericBody(), traceparent: own }])
  const two = await post([
    genericBody(),
    { ...genericBody(), onBehalfOf: stranger, traceparent: others },
    { ...genericBody(), type: 'note/1' },
  ])
  const erased: number[] = []
  for (const { id } of [one.records[1], two.records[0], two.records[1]])
    erased.push(expectStatus(202, await erase(app, id)).json().erasure.entry.seq)
  await raiseVerifiedSizes(app)
  const ends = await endsOf(app)
  const read = async (filter: WantedEvents) =>
    (await readEvents(app.deps.readPool, sourceOf(app, filter), BEGINNING, ends, 1_000)).steps
      .map(({ event }) => event)
      .filter(({ seq }) => [one.entry.seq, two.entry.seq, ...erased].includes(seq))
  const events = await read(ALL_EVENTS)
  assert.deepEqual(
    events.map(({ recordTypes, traceparent, fault }) => [recordTypes, traceparent, fault]),
    [
      [['generic/1'], null, null],
      [['generic/1', 'note/1'], null, null],
      [['generic/1'], own, null],
      [['generic/1'], null, null],
      [['generic/1'], others, null],
    ],
  )
  const counts = events.slice(0, 2).map(({ members }) => JSON.parse(`{${members}}`).batch.types)
  assert.deepEqual(counts, [{ 'generic/1': 2 }, { 'generic/1': 2, 'note/1': 1 }])
  const seqsOf = (found: readonly { seq: number }[]) => found.map(({ seq }) => seq)
  const ofType = (type: string) => read({ events: null, types: new Set([type]) })
  assert.deepEqual(seqsOf(await ofType('note/1')), [two.entry.seq])
  const ofStranger = { ...ALL_EVENTS, ownAgent: parseId('agt', stranger) }
  assert.deepEqual(seqsOf(await read(ofStranger)), [erased[2]])

  const [, chunk] = await listStoredChunks(app)
  await writeContent(app, chunk!, chunk!.content.subarray(1))
  const faults = [null, 'chunk_syntax', null, 'chunk_syntax', 'chunk_syntax']
  for (const told of [await read(ALL_EVENTS), await findEvents(app.deps.readPool, sourceOf(app), events)])
    assert.deepEqual(
      told.map((event) => (event as LedgerEvent).fault?.code ?? null),
      faults,
    )
  assert.deepEqual(seqsOf(await read(ofStranger)), [], 'nobody knows whose record it was')
  const page = await app.send('GET', `/v1/events?events=batch.recorded&limit=5`)
  assert.deepEqual([page.json().data.length, page.json().more], [1, true])
  assertProblem(await app.send('GET', `/v1/events?cursor=${page.json().nextCursor}`), 500, 'integrity_fault')
})
