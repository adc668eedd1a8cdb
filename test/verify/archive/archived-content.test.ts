import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { ChunkInArchive } from '../../../src/db/connect/archive.ts'
import { ArchiveFault } from '../../../src/db/connect/archive.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { leafHash, TILE_HASHES } from '../../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { sha256Hex } from '../../../src/signing/sha256.ts'
import { splitBundle } from '../../../src/verify/archive/archived-bundle.ts'
import { ArchivedContent, type ArchiveReadOutcome } from '../../../src/verify/archive/archived-content.ts'
import {
  ARCHIVE_AWAY_PAUSE_MS,
  ARCHIVE_PIECE_MS_MAX,
  ARCHIVE_PIECES_AT_ONCE,
  ARCHIVE_PIECES_OF_LEDGER_AT_ONCE,
  ARCHIVE_PIECES_WAITING_MAX,
} from '../../../src/verify/archive/limits.ts'
import { BodyTooLong } from '../../../src/verify/archive/read-body.ts'
import { type ArchiveReader, ArchiveStoreError } from '../../../src/verify/archive/store.ts'
import { heldBytes } from '../../helpers/held-bytes.ts'

const LEDGER = '01935b6e-0000-7000-8000-000000000000' as Uuid
const OTHER = '01935b6e-0000-7000-8000-000000000001' as Uuid
const FIRST = '01935b6e-0000-7000-8000-000000000000' as Uuid

/** Makes a piece without documents whose first entry is a batch. */
function piece(from: number, ledgerId = LEDGER): { readonly lines: Buffer; readonly chunk: ChunkInArchive } {
  const zeros = '00'.repeat(32)
  const line = {
    ...{
      seq: from,
      kind: 'batch-notarized',
      recordedAt: '2026-11-20T12:00:00.000Z',
      leaf: zeros,
      chain: zeros,
    },
    ...{
      documents: [7],
      items: [{ record: 'rec_01j5dpw00000000000000000000', digest: zeros, type: 'generic/1' }],
    },
  }
  const lines = gzipSync(`${JSON.stringify(line)}\n`)
  const place = {
    ...{ ledgerId, from, lines: sha256Hex(lines), linesBytes: lines.length },
    ...{ documents: null, documentsBytes: null, keys: null },
  }
  return {
    lines,
    chunk: { piece: place, seq: from, chunk: 0, firstRecordId: FIRST, count: 0, erasures: new Map() },
  }
}

/**
 * Opens a reader of a store that has these pieces. The store answers after `go` is called. `go` applies to all pieces
 * or to one piece.
 */
function open(pieces: readonly ReturnType<typeof piece>[], more: object = {}) {
  const outcomes: ArchiveReadOutcome[] = []
  const asked: string[] = []
  const signals: (AbortSignal | undefined)[] = []
  const gates = pieces.map(() => Promise.withResolvers<void>())
  const all = Promise.withResolvers<void>()
  let nowMs = 0
  const stage = {
    isAway: false,
    isEmpty: false,
    forbidden: new Set<string>(),
    outcomes,
    asked,
    signals,
    go: (one?: number) => (one === undefined ? all.resolve() : gates[one]!.resolve()),
    pass: (ms: number) => {
      nowMs += ms
    },
  }
  const reader: ArchiveReader = {
    name: 'a store',
    async get(name, bytesMax, signal) {
      if (name === 'checkpoint') return stage.isEmpty ? null : Buffer.from('a checkpoint')
      asked.push(name)
      signals.push(signal)
      const at = pieces.findIndex(({ chunk }) => name.endsWith(chunk.piece.lines))
      await Promise.race([all.promise, ...(at < 0 ? [] : [gates[at]!.promise])])
      if (stage.isAway) throw new ArchiveStoreError('it is away', { isAway: true })
      if (stage.forbidden.has(name)) throw new ArchiveStoreError('it is forbidden')
      const found = pieces[at]?.lines ?? null
      if (found !== null && found.length > bytesMax)
        throw new ArchiveStoreError('it is too long', { cause: new BodyTooLong(bytesMax) })
      return found
    },
  }
  const content = new ArchivedContent({
    stores: { of: () => reader },
    openKeys: () => null,
    observe: (outcome) => void outcomes.push(outcome),
    now: () => nowMs,
    ...more,
  })
  return Object.assign(stage, {
    content,
    read: (i: number) => content.read(pieces[i]!.chunk).then(() => 'read', codeOf),
    nameOf: (i: number) => `lines/${pieces[i]!.chunk.piece.from}-${pieces[i]!.chunk.piece.lines}`,
  })
}

/** Waits until pending callbacks have run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

const codeOf = (error: { code: string }) => error.code

test('readers of one piece share a request, and later readers get it from the cache', async () => {
  const one = piece(4)
  const stage = open([one])
  const reads = Array.from({ length: 5 }, () => stage.content.read(one.chunk))
  stage.go()
  assert.equal((await Promise.all(reads)).length, 5)
  await stage.content.read(one.chunk)
  assert.equal(stage.asked.length, 1)
  assert.deepEqual(stage.outcomes.sort(), ['cached', 'fetched', 'shared', 'shared', 'shared', 'shared'])
})

test('the cache has a maximum of bytes, and drops the piece that was unused longest', async () => {
  const pieces = [piece(1), piece(2), piece(3)]
  const bytesMax = 2 * gunzipSync(pieces[0]!.lines).length
  const stage = open(pieces, { bytesMax })
  stage.go()
  const read = (i: number) => stage.content.read(pieces[i]!.chunk)
  for (const i of [0, 1, 0, 2, 0, 1]) await read(i)
  assert.deepEqual(stage.outcomes, ['fetched', 'fetched', 'cached', 'fetched', 'cached', 'fetched'])
})

test('cached pieces take little more memory than their bytes, however small they are', async () => {
  const pieces = Array.from({ length: 200 }, (_, i) => piece(i + 1))
  const stage = open(pieces)
  stage.go()
  const read = async () => {
    for (let i = 0; i < pieces.length; i++) {
      await stage.read(i)
      // Allocates memory meanwhile, as a server does.
      for (let k = 0; k < 64; k++) Buffer.from('x'.repeat(1_024))
    }
    return stage
  }
  const bytes = await heldBytes(read)
  assert.equal(new Set(stage.outcomes).size, 1)
  assert.ok(bytes < pieces.length * 8 * 1024, `${bytes} bytes of ${pieces.length} pieces`)
})

test('cached bundles take little more memory than their bytes, however small they are', async () => {
  const count = 200
  const envelope = Buffer.from('an envelope')
  const leaf = leafHash(nativeProviders.sha256, envelope)
  const bundle = () => Buffer.concat([Buffer.from([0, envelope.length]), envelope])
  const store: ArchiveReader = { name: 'a store', get: async () => bundle() }
  const open = async () => {
    const content = new ArchivedContent({ stores: { of: () => store }, openKeys: () => null })
    for (let tile = 0; tile < count; tile++) {
      const entries = [{ seq: tile * TILE_HASHES, leaf }]
      const [found] = await content.readEnvelopes({ ledgerId: LEDGER, tile, width: 1, entries })
      assert.deepEqual(found, envelope)
      // Allocates memory meanwhile, as a server does.
      for (let k = 0; k < 64; k++) Buffer.from('x'.repeat(1_024))
    }
    return content
  }
  const bytes = await heldBytes(open)
  assert.ok(bytes < count * 2 * 1024, `${bytes} bytes of ${count} bundles`)
})

test('a bundle with too few or too many bytes for its entries is refused', () => {
  assert.equal(splitBundle(Buffer.alloc(2 * TILE_HASHES), TILE_HASHES).length, TILE_HASHES)
  for (const bytes of [0, 2 * TILE_HASHES - 1, 2 * TILE_HASHES + 1, 8 * 1024 * 1024])
    assert.throws(() => splitBundle(Buffer.alloc(bytes), TILE_HASHES), { code: 'archive_object' })
})

test('reads beyond the waiting limit are refused at once, except of a ledger with few reads', async () => {
  const count = ARCHIVE_PIECES_AT_ONCE + ARCHIVE_PIECES_WAITING_MAX
  const pieces = Array.from({ length: count + 1 }, (_, i) => piece(i))
  const stage = open([...pieces, piece(count + 1, OTHER)])
  const reads = pieces.map((_, i) => stage.read(i))
  assert.equal(await reads.at(-1), 'archive_unavailable')
  assert.equal(stage.asked.length, ARCHIVE_PIECES_OF_LEDGER_AT_ONCE)
  const other = stage.read(count + 1)
  await settle()
  assert.equal(stage.asked.at(-1), stage.nameOf(count + 1))
  stage.go()
  assert.deepEqual(new Set(await Promise.all([...reads.slice(0, -1), other])), new Set(['read']))
})

test('ledgers take turns, and the pieces under way of one ledger are limited', async () => {
  const stage = open([0, 1, 2, 3, 4].map((i) => piece(i)).concat([5, 6].map((i) => piece(i, OTHER))))
  const reads = [0, 1, 2, 3, 4, 5, 6].map(stage.read)
  await settle()
  assert.deepEqual(stage.asked, [0, 1, 2, 5].map(stage.nameOf))
  for (const [ended, next] of [
    [0, 3],
    [1, 6],
    [2, 4],
  ] as const) {
    stage.go(ended)
    assert.equal(await reads[ended], 'read')
    await settle()
    assert.equal(stage.asked.at(-1), stage.nameOf(next))
  }
  stage.go()
  await Promise.all(reads)
})

test('a store that times out for two pieces gets no request for a while', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stage = open([piece(1), piece(2), piece(3)])
  const answers = [stage.read(0), stage.read(1)]
  await settle()
  t.mock.timers.tick(ARCHIVE_PIECE_MS_MAX)
  assert.deepEqual(await Promise.all(answers), ['archive_unavailable', 'archive_unavailable'])
  assert.equal(await stage.read(2), 'archive_unavailable')
  assert.deepEqual([stage.outcomes, stage.asked.length], [['unavailable', 'unavailable', 'refused'], 2])
  stage.pass(ARCHIVE_AWAY_PAUSE_MS)
  stage.go()
  // The pause is over. Only piece 2 causes a new request, because the earlier request for piece 0 is answered now.
  assert.deepEqual([await stage.read(0), await stage.read(2), stage.asked.length], ['read', 'read', 3])
})

test('the timeout of a piece begins with its request, not with its wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stage = open([0, 1, 2, 3].map((i) => piece(i)))
  const reads = [0, 1, 2, 3].map(stage.read)
  await settle()
  t.mock.timers.tick(ARCHIVE_PIECE_MS_MAX - 1)
  for (const i of [0, 1, 2]) stage.go(i)
  await Promise.all(reads.slice(0, 3))
  await settle()
  t.mock.timers.tick(ARCHIVE_PIECE_MS_MAX - 1)
  stage.go()
  assert.deepEqual(await Promise.all(reads), ['read', 'read', 'read', 'read'])
})

test('an abandoned piece frees its slot, and a piece that gets no slot fails alone', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stage = open([0, 1, 2, 3, 4].map((i) => piece(i)))
  const stalled = [0, 1, 2].map(stage.read)
  await settle()
  t.mock.timers.tick(1)
  const late = stage.content.read(piece(3).chunk)
  await settle()
  t.mock.timers.tick(ARCHIVE_PIECE_MS_MAX - 1)
  assert.deepEqual(new Set(await Promise.all(stalled)), new Set(['archive_unavailable']))
  stage.pass(ARCHIVE_AWAY_PAUSE_MS)
  t.mock.timers.tick(1)
  await assert.rejects(late, /were fetched first for 5 s/)
  const next = stage.read(4)
  await settle()
  assert.equal(stage.asked.length, 3)
  t.mock.timers.tick(ARCHIVE_PIECE_MS_MAX - 1)
  await settle()
  assert.deepEqual(
    stage.signals.map((signal) => signal?.aborted),
    [true, true, true, false],
  )
  stage.go(4)
  assert.equal(await next, 'read')
})

test('one object that the store refuses blocks no other; two pause the store', async () => {
  const stage = open([piece(1), piece(2), piece(3), piece(4)])
  stage.go()
  stage.forbidden = new Set([0, 2].map(stage.nameOf))
  assert.deepEqual(
    [await stage.read(0), await stage.read(0), await stage.read(1)],
    ['archive_unavailable', 'archive_unavailable', 'read'],
  )
  for (const i of [0, 2, 3]) assert.equal(await stage.read(i), 'archive_unavailable')
  assert.deepEqual(stage.outcomes, [
    ...['unavailable', 'unavailable', 'fetched'],
    ...['unavailable', 'unavailable', 'refused'],
  ])
})

test('a store that failed gets requests after a pause; a lost object pauses nothing', async () => {
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

test('an object counts as lost only if the archive has others of the ledger', async () => {
  const stage = open([])
  stage.go()
  const read = () => stage.content.read(piece(1).chunk)
  stage.isEmpty = true
  await assert.rejects(
    read(),
    (error: Error) => !(error instanceof ArchiveFault) && /has nothing/.test(error.message),
  )
  stage.isEmpty = false
  await assert.rejects(read(), (error: Error) => error instanceof ArchiveFault)
  assert.deepEqual(stage.outcomes, ['unavailable', 'faulty'])
})

test('an object longer than its recorded size is refused as changed', async () => {
  const { lines, chunk } = piece(1)
  const stage = open([{ lines, chunk }])
  stage.go()
  const place = { ...chunk.piece, linesBytes: lines.length - 1 }
  await assert.rejects(
    stage.content.read({ ...chunk, piece: place }),
    (error: Error) => error instanceof ArchiveFault && /differs from what was written/.test(error.message),
  )
  assert.equal(await stage.read(0), 'read')
})
