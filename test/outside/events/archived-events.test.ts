import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ArchiveContent } from '../../../src/db/connect/archive.ts'
import { readEnds } from '../../../src/db/events/read-events.ts'
import { EVENT_OBJECTS_PER_PAGE } from '../../../src/db/limits.ts'
import { ALL_EVENTS, type WantedEvents } from '../../../src/outside/events/event-types.ts'
import { type EventPosition, readEvents } from '../../../src/outside/events/read-events.ts'
import { storedStatements } from '../../../src/outside/events/statements.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { TILE_HASHES } from '../../../src/proof/tree/merkle.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { addAgent } from '../../helpers/more-keys.ts'
import { lendReleasedApp } from '../../helpers/released-app.ts'

const BEGINNING = { seq: 0, eventsDelivered: 0, checkpoint: 0 }
const RECORDS = { ...ALL_EVENTS, events: new Set(['record.recorded']) } as WantedEvents

/** Returns a reader of the ledger's event pages. The reader records what each page requested from the archive. */
async function readerOf({ deps, ledgerId }: TestApp) {
  const { readPool, cursorMac } = deps
  const [ends] = await readEnds(readPool, cursorMac, [ledgerId])
  const pool = readPool as unknown as { archive: ArchiveContent }
  const content = pool.archive
  const asked: { tile: number; envelopes: number }[] = []
  const pieces = new Set<number>()
  pool.archive = {
    read(chunk) {
      pieces.add(chunk.piece.from)
      return content.read(chunk)
    },
    readEnvelopes(wanted) {
      asked.push({ tile: wanted.tile, envelopes: wanted.entries.length })
      return content.readEnvelopes(wanted)
    },
  }
  return {
    ends: ends!,
    async read(filter: WantedEvents, from: EventPosition, limit: number) {
      asked.length = 0
      pieces.clear()
      const about = { ledgerId, filter, entriesUrl: '', statementsOf: storedStatements }
      const page = await readEvents(readPool, about, from, ends!, limit)
      return { ...page, asked: [...asked], pieces: pieces.size }
    },
  }
}

test('a page of events reads a limited number of archived bundles, and only needed ones', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const agent = await addAgent(app, 'nobody')
  const count = EVENT_OBJECTS_PER_PAGE * TILE_HASHES + 20
  for (let at = 0; at < count; at += 52)
    await Promise.all(Array.from({ length: 52 }, (_, i) => app.notarize(genericBody({ n: at + i }))))
  await released.leave()
  const { ends, read } = await readerOf(app)
  const first = await read(RECORDS, BEGINNING, 10_000)
  assert.deepEqual(
    first.asked.map(({ tile }) => tile),
    [0, 1, 2, 3],
  )
  assert.deepEqual([first.more, first.position.seq], [true, EVENT_OBJECTS_PER_PAGE * TILE_HASHES])
  const second = await read(RECORDS, first.position, 10_000)
  assert.deepEqual(
    second.asked.map(({ tile }) => tile),
    [4],
  )
  assert.deepEqual([second.more, second.position.seq], [false, ends.size])
  const seqs = [...first.steps, ...second.steps].map(({ event }) => event.seq)
  const notarized: { seq: number }[] = await app.sql(
    `select seq::int from tallystick.entries where kind = 'record-notarized' order by seq`,
  )
  assert.deepEqual(
    seqs,
    notarized.map(({ seq }) => seq),
  )

  const typed = await read({ ...RECORDS, types: new Set(['generic/1']) }, BEGINNING, 2)
  assert.deepEqual([typed.steps.length, typed.asked], [2, [{ tile: 0, envelopes: 2 }]])
  const nothing = { steps: [], asked: [] }
  const foreign = await read({ ...RECORDS, types: new Set(['delivery/1']) }, BEGINNING, 100)
  assert.deepEqual({ steps: foreign.steps, asked: foreign.asked }, nothing)
  const own = await read({ ...RECORDS, ownAgent: parseId('agt', agent) }, BEGINNING, 100)
  assert.deepEqual({ steps: own.steps, asked: own.asked }, nothing)
})

test('a page of events reads a limited number of archive pieces', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const type = { name: 'note', version: 1, payloadSchema: { type: 'object' } }
  expectStatus(201, await app.send('POST', '/v1/types', { body: type }))
  const records = [genericBody(), { type: 'note/1', payload: {} }]
  const count = EVENT_OBJECTS_PER_PAGE + 2
  for (let i = 0; i < count; i++) {
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
    await released.archiver.run()
  }
  await released.leave()
  assert.deepEqual(await released.chunks(), [0, count])
  const { read } = await readerOf(app)
  for (const types of ['note/1', 'delivery/1']) {
    const filter = { ...ALL_EVENTS, events: new Set(['batch.recorded'] as const), types: new Set([types]) }
    const first = await read(filter, BEGINNING, 100)
    const second = await read(filter, first.position, 100)
    assert.deepEqual(
      [first, second].map(({ pieces, more }) => [pieces, more]),
      [
        [EVENT_OBJECTS_PER_PAGE, true],
        [2, false],
      ],
    )
    assert.equal(first.steps.length + second.steps.length, types === 'note/1' ? count : 0)
  }
})
