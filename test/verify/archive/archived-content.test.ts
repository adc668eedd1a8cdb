import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ReleasedFault } from '../../../src/db/chunks/released-chunks.ts'
import type { ChunkInArchive } from '../../../src/db/connect/released-content.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { ArchivedContent, type ArchiveReadOutcome } from '../../../src/verify/archive/archived-content.ts'
import {
  ARCHIVE_AWAY_PAUSE_MS,
  ARCHIVE_PIECES_AT_ONCE,
  ARCHIVE_PIECES_WAITING_MAX,
} from '../../../src/verify/archive/limits.ts'
import { sha256Hex } from '../../../src/verify/archive/read-objects.ts'
import { type ArchiveReader, ArchiveStoreError } from '../../../src/verify/archive/store.ts'

const LEDGER = '01935b6e-0000-7000-8000-000000000000' as Uuid
const FIRST = '01935b6e-0000-7000-8000-000000000000' as Uuid

/** A piece without documents, which has a batch at its first entry. */
function piece(from: number): { readonly lines: Buffer; readonly chunk: ChunkInArchive } {
  const items = [{ record: 'rec_01j5dpw00000000000000000000', digest: '00'.repeat(32), type: 'generic/1' }]
  const lines = gzipSync(`${JSON.stringify({ seq: from, documents: [7], items })}\n`)
  const place = { ledgerId: LEDGER, from, lines: sha256Hex(lines), documents: null, keys: null }
  return {
    lines,
    chunk: { place, seq: from, chunk: 0, firstRecordId: FIRST, count: 0, erasures: new Map() },
  }
}

/** A store of these pieces, whose answers wait for `go`, and a reader of it. */
function open(pieces: readonly ReturnType<typeof piece>[], more: object = {}) {
  const outcomes: ArchiveReadOutcome[] = []
  const asked: string[] = []
  const go = Promise.withResolvers<void>()
  let nowMs = 0
  const stage = {
    isAway: false,
    isEmpty: false,
    outcomes,
    asked,
    go: go.resolve,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
  const reader: ArchiveReader = {
    name: 'a store',
    async get(name) {
      asked.push(name)
      await go.promise
      if (stage.isAway) throw new ArchiveStoreError('it is away')
      if (name === 'checkpoint') return stage.isEmpty ? null : Buffer.from('a checkpoint')
      return pieces.find(({ chunk }) => name.endsWith(chunk.place.lines))?.lines ?? null
    },
  }
  const content = new ArchivedContent({
    stores: { of: () => reader },
    openKeys: () => null,
    observe: (outcome) => void outcomes.push(outcome),
    now: () => nowMs,
    ...more,
  })
  return Object.assign(stage, { content })
}

const codeOf = (error: { code: string }) => error.code

test('readers of one piece share the way to it, and the next ones find it', async () => {
  const one = piece(4)
  const stage = open([one])
  const reads = Array.from({ length: 5 }, () => stage.content.read(one.chunk))
  stage.go()
  assert.equal((await Promise.all(reads)).length, 5)
  await stage.content.read(one.chunk)
  assert.equal(stage.asked.length, 1)
  assert.deepEqual(stage.outcomes.sort(), ['cached', 'fetched', 'shared', 'shared', 'shared', 'shared'])
})

test('it keeps so many bytes, and gives up what was not asked for longest', async () => {
  const pieces = [piece(1), piece(2), piece(3)]
  const bytesMax = 2 * gunzipSync(pieces[0]!.lines).length
  const stage = open(pieces, { bytesMax })
  stage.go()
  const read = (i: number) => stage.content.read(pieces[i]!.chunk)
  for (const i of [0, 1, 0, 2, 0, 1]) await read(i)
  assert.deepEqual(stage.outcomes, ['fetched', 'fetched', 'cached', 'fetched', 'cached', 'fetched'])
})

test('reads beyond what may wait are refused at once', async () => {
  const pieces = Array.from({ length: ARCHIVE_PIECES_AT_ONCE + ARCHIVE_PIECES_WAITING_MAX + 1 }, (_, i) =>
    piece(i),
  )
  const stage = open(pieces)
  const reads = pieces.map(({ chunk }) => stage.content.read(chunk).then(() => 'read', codeOf))
  assert.equal(await reads.at(-1), 'archive_unavailable')
  assert.equal(stage.asked.length, ARCHIVE_PIECES_AT_ONCE)
  stage.go()
  assert.deepEqual(new Set(await Promise.all(reads.slice(0, -1))), new Set(['read']))
})

test('a store that does not answer in time is not asked for a while', async () => {
  const pieces = [piece(1), piece(2)]
  const stage = open(pieces, { msMax: 300 })
  const read = (i: number) => stage.content.read(pieces[i]!.chunk).then(() => 'read', codeOf)
  assert.equal(await read(0), 'archive_unavailable')
  assert.equal(await read(1), 'archive_unavailable')
  assert.deepEqual([stage.outcomes, stage.asked.length], [['unavailable', 'refused'], 1])
  stage.pass(ARCHIVE_AWAY_PAUSE_MS)
  stage.go()
  // It went on with the first one.
  assert.deepEqual([await read(0), await read(1)], ['read', 'read'])
})

test('a store that fails is asked again after a while, and one that lost an object for others at once', async () => {
  const pieces = [piece(1), piece(2)]
  const stage = open(pieces)
  stage.go()
  const read = (one: ChunkInArchive) => stage.content.read(one).then(() => 'read', codeOf)
  stage.isAway = true
  assert.equal(await read(pieces[0]!.chunk), 'archive_unavailable')
  stage.isAway = false
  assert.equal(await read(pieces[0]!.chunk), 'archive_unavailable')
  stage.pass(ARCHIVE_AWAY_PAUSE_MS)
  assert.equal(await read(piece(3).chunk), 'archive_unavailable')
  assert.equal(await read(pieces[1]!.chunk), 'read')
  assert.deepEqual(stage.outcomes, ['unavailable', 'refused', 'faulty', 'fetched'])
})

test('an object is lost only where the archive has something of the ledger', async () => {
  const stage = open([])
  stage.go()
  const read = () => stage.content.read(piece(1).chunk)
  stage.isEmpty = true
  await assert.rejects(read(), (error: Error) => !(error instanceof ReleasedFault) && /has nothing/.test(error.message))
  stage.isEmpty = false
  stage.pass(ARCHIVE_AWAY_PAUSE_MS)
  await assert.rejects(read(), (error: Error) => error instanceof ReleasedFault)
  assert.deepEqual(stage.outcomes, ['unavailable', 'faulty'])
})
