import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import zlib, { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import {
  type ChunkRecord,
  compressChunk,
  decodeChunk,
  decodePlain,
  decompressChunk,
  encodeChunk,
} from '../../../src/db/chunks/chunk-content.ts'
import { chunkKey, dayOf, keysOfChunk, referencesOf } from '../../../src/db/chunks/chunk-keys.ts'
import { CHUNK_CONTENT_BYTES_MAX } from '../../../src/db/limits.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import { type Uuid, uuidOfBytes } from '../../../src/proof/ids.ts'
import type { StoredName } from '../../../src/proof/statement/record-members.ts'
import { runs } from '../../helpers/runs.ts'
import { makeItem, randomId } from '../../helpers/test-ledger.ts'

const bytes = (max: number, min = 0) => fc.uint8Array({ minLength: min, maxLength: max })
const exactly = (length: number) => bytes(length, length)
const id = exactly(16).map((value) => uuidOfBytes(value))
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })

const document = fc.record({
  salt: exactly(16),
  payload: bytes(300),
  references: maybe(bytes(40)),
  metadata: maybe(bytes(40)),
})
const erased = fc.record({
  digest: exactly(32),
  referencesDigest: maybe(exactly(32)),
  erasedSeq: fc.maxSafeNat(),
})
const record: fc.Arbitrary<ChunkRecord> = fc.record({
  type: fc.stringMatching(/^[a-z]{1,20}\/[1-9]$/),
  document: fc.oneof({ weight: 4, arbitrary: document }, { weight: 1, arbitrary: erased }),
  occurredAtMs: maybe(fc.maxSafeInteger()),
  onBehalfOf: maybe(id),
  parentId: maybe(id),
  otherMembers: maybe(
    fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), { minKeys: 1 }),
  ),
  traceparent: maybe(exactly(25).map((value) => traceparentOf(Buffer.from(value).toString('hex')))),
})
const records = fc.array(record, { minLength: 1, maxLength: 64 })

function traceparentOf(hex: string): string {
  return `00-${hex.slice(0, 32)}-${hex.slice(32, 48)}-${hex.slice(48)}`
}

/** Returns a copy of a value with all bytes as hex, both of Buffers and of other Uint8Arrays. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, member) =>
      member?.type === 'Buffer'
        ? Buffer.from(member.data).toString('hex')
        : member instanceof Uint8Array
          ? Buffer.from(member).toString('hex')
          : member,
    ),
  )
}

test('a chunk gives back the records that were put in', () => {
  fc.assert(
    fc.property(records, (held) => {
      assert.deepEqual(plain(decodeChunk(encodeChunk(held), held.length)), plain(held))
    }),
    { numRuns: runs(300) },
  )
})

test('decodes only the wanted records, and refuses a chunk of another number of records', () => {
  fc.assert(
    fc.property(records, fc.array(fc.boolean(), { minLength: 64, maxLength: 64 }), (held, wanted) => {
      const content = decompressChunk(encodeChunk(held))
      const decoded = decodePlain(content, held.length, (i) => wanted[i]!)
      assert.deepEqual(plain(decoded), plain(held.map((one, i) => (wanted[i] ? one : null))))
      for (const [bytes, count] of [
        [content, held.length - 1],
        [content, held.length + 1],
        [content.subarray(0, -1), held.length],
      ] as const)
        assert.throws(() => decodePlain(bytes, count, () => false), { code: 'chunk_syntax' })
    }),
    { numRuns: runs(300) },
  )
})

test('a chunk is one frame, also where it just fills a buffer of Node', () => {
  for (const full of [16_384, 32_768])
    for (let length = full - 120; length < full; length++) {
      const payload = randomBytes(length)
      const document = { salt: randomBytes(16), payload, references: null, metadata: null }
      assert.deepEqual(decodeChunk(encodeChunk([makeItem({ document })]), 1)[0]!.document, document)
    }
})

test('records have one encoding: any changed byte is refused or decodes to other records', () => {
  const few = fc.array(record, { minLength: 1, maxLength: 3 })
  const bit = fc.nat(7).map((place) => 1 << place)
  fc.assert(
    fc.property(few, fc.oneof(bit, fc.integer({ min: 1, max: 255 })), (held, change) => {
      const stored = zstdDecompressSync(encodeChunk(held))
      for (let at = 0; at < stored.length; at++) {
        stored[at]! ^= change
        const content = zstdCompressSync(stored)
        stored[at]! ^= change
        let decoded: ChunkRecord[]
        try {
          decoded = decodeChunk(content, held.length)
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'chunk_syntax')
          continue
        }
        assert.notDeepEqual(plain(decoded), plain(held), `byte ${at}`)
      }
    }),
    { numRuns: runs(100) },
  )
})

test('a content that is cut, longer, of another number of records or no content is refused', () => {
  const held = [makeItem(), makeItem({ traceparent: traceparentOf('ab'.repeat(25)), parentId: randomId() })]
  const stored = zstdDecompressSync(encodeChunk(held))
  const refused = (content: Uint8Array, count = 2) =>
    assert.throws(() => decodeChunk(content, count), { code: 'chunk_syntax' })
  for (let length = 0; length < stored.length; length++) refused(zstdCompressSync(stored.subarray(0, length)))
  refused(zstdCompressSync(Buffer.concat([stored, Buffer.alloc(1)])))
  refused(encodeChunk(held), 1)
  refused(encodeChunk(held), 3)
  refused(randomBytes(100))
  refused(Buffer.alloc(0))
  for (const length of [1, 10, 20]) refused(encodeChunk(held).subarray(0, length))
})

test('a number that JavaScript could not hold exactly is refused', () => {
  for (const [ms, beyond] of [
    [Number.MAX_SAFE_INTEGER, '0020000000000000'],
    [Number.MIN_SAFE_INTEGER, 'ffe0000000000000'],
  ] as const) {
    const stored = zstdDecompressSync(encodeChunk([makeItem({ occurredAtMs: ms })]))
    assert.equal(decodeChunk(zstdCompressSync(stored), 1)[0]!.occurredAtMs, ms)
    const at = stored.length - 8
    assert.equal(stored.readBigInt64BE(at), BigInt(ms))
    stored.write(beyond, at, 'hex')
    assert.throws(() => decodeChunk(zstdCompressSync(stored), 1), { code: 'chunk_syntax' })
  }
})

test('refuses bytes and further frames before or after the frame', () => {
  const content = encodeChunk([makeItem()])
  const stored = zstdDecompressSync(content)
  const [empty, head, tail] = [stored.subarray(0, 0), stored.subarray(0, 9), stored.subarray(9)].map((part) =>
    zstdCompressSync(part),
  ) as [Buffer, Buffer, Buffer]
  // A skippable frame (RFC 8878 §3.1.2).
  const skipped = Buffer.from('502a4d180400000068696464', 'hex')
  const contents = [
    [skipped, content],
    [content, skipped],
    [empty, content],
    [content, empty],
    [content, Buffer.alloc(1)],
    [head, tail],
  ]
  for (const parts of contents) {
    assert.throws(() => decodeChunk(Buffer.concat(parts), 1), { code: 'chunk_syntax' })
  }
  assert.equal(decodeChunk(zstdCompressSync(stored), 1).length, 1)
})

test('a content that would expand beyond the bound is not expanded', () => {
  const bomb = zstdCompressSync(Buffer.alloc(512 * 1024 * 1024), {
    params: { [constants.ZSTD_c_compressionLevel]: 1 },
  })
  const before = process.memoryUsage().rss
  assert.throws(() => decodeChunk(bomb, 64), { code: 'chunk_syntax' })
  const grownMib = (process.memoryUsage().rss - before) / 1024 / 1024
  assert.ok(grownMib < 128, `${grownMib} MiB`)
})

test('64 records of the largest size fit, compressed or not', () => {
  const largest = () =>
    makeItem({
      type: `${'t'.repeat(63)}/123456789`,
      document: {
        salt: randomBytes(16),
        payload: randomBytes(65_536),
        references: randomBytes(4_096),
        metadata: randomBytes(4_096),
      },
      occurredAtMs: -62_135_596_800_000,
      onBehalfOf: randomId(),
      parentId: randomId(),
      traceparent: traceparentOf(randomBytes(25).toString('hex')),
    })
  const held = Array.from({ length: 64 }, largest)
  const content = encodeChunk(held)
  // The constraint batch_chunks_content_check has the same limit.
  assert.ok(content.length <= CHUNK_CONTENT_BYTES_MAX)
  assert.deepEqual(plain(decodeChunk(content, 64)), plain(held))
})

test('a chunk has one key for each distinct value', () => {
  const [actor, agent, parent] = [randomId(), randomId(), randomId()] as [Uuid, Uuid, Uuid]
  const references = Buffer.from('["crm:1","é"]')
  const held = [
    makeItem({ occurredAtMs: -1, onBehalfOf: agent }),
    makeItem({ occurredAtMs: 0, parentId: parent, onBehalfOf: agent }),
    makeItem({ occurredAtMs: 86_399_999, traceparent: traceparentOf('ab'.repeat(25)) }),
    makeItem({
      type: 'order/1',
      document: { salt: randomBytes(16), payload: Buffer.from('{}'), references, metadata: null },
    }),
    makeItem({ document: { digest: randomBytes(32), referencesDigest: randomBytes(32), erasedSeq: 9 } }),
  ]
  const expected = [
    chunkKey.actor(actor),
    ...['generic/1', 'order/1'].map(chunkKey.type),
    chunkKey.member('onBehalfOf', agent),
    chunkKey.member('traceparent', 'ab'.repeat(16)),
    chunkKey.member('parent', parent),
    ...[-1, 0].map((day) => chunkKey.member('occurredAt', day)),
    ...['crm:1', 'é'].map(chunkKey.reference),
  ]
  const sorted = (keys: readonly Uint8Array[]) => keys.map(toHex).sort()
  assert.deepEqual(sorted(keysOfChunk(actor, held)), sorted(expected))
  assert.deepEqual([...referencesOf(held)], ['crm:1', 'é'])
})

test('property: keys of equal values in different members differ, and fit into the table', () => {
  // There are only few values, so that several properties have the same value.
  const text = fc.constantFrom('a', 'ab', 'abcdefghijklmnop')
  const few = fc.constantFrom(...['a', 'b', 'c'].map((byte) => uuidOfBytes(Buffer.from(byte.repeat(16)))))
  const value = fc.oneof(
    text.map((type) => ['type', type] as const),
    text.map((reference) => ['reference', reference] as const),
    few.map((agent) => ['actor', agent] as const),
    few.map((agent) => ['onBehalfOf', agent] as const),
    few.map((parent) => ['parent', parent] as const),
    few.map((trace) => ['traceparent', trace.replaceAll('-', '')] as const),
    fc.integer({ min: -719_162, max: 2_932_896 }).map((day) => ['occurredAt', day] as const),
    text.map((other) => ['label', other] as const),
  )
  const ofChunk = { type: chunkKey.type, reference: chunkKey.reference, actor: chunkKey.actor }
  const keyOf = ([name, of]: readonly [string, string | number]) => {
    if (name === 'label') return toHex(chunkKey.other(name as never, of as string))
    if (Object.hasOwn(ofChunk, name)) return toHex(ofChunk[name as keyof typeof ofChunk](of as never))
    return toHex(chunkKey.member(name as StoredName, of))
  }
  fc.assert(
    fc.property(fc.uniqueArray(value, { selector: String, maxLength: 50 }), (values) => {
      assert.equal(new Set(values.map(keyOf)).size, values.length)
    }),
  )
  // The constraint batch_keys_key_check has this limit. A reference has at most 256 characters.
  assert.ok(chunkKey.reference('𝄞'.repeat(256)).length <= 1_100)
})

test('keys of days sort as the days do', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -719_162, max: 2_932_896 }),
      fc.integer({ min: -719_162, max: 2_932_896 }),
      (a, b) => {
        assert.equal(
          Math.sign(Buffer.compare(chunkKey.member('occurredAt', a), chunkKey.member('occurredAt', b))),
          Math.sign(a - b),
        )
      },
    ),
  )
  assert.deepEqual([-1, 0, 86_399_999, 86_400_000].map(dayOf), [-1, 0, 0, 1])
})

test('refuses to write a chunk that does not decompress to its records', (t) => {
  const compress = zlib.zstdCompressSync
  for (const wrong of [
    (plain: Buffer) => compress(plain.subarray(1)),
    (plain: Buffer) => Buffer.concat([compress(plain), compress(Buffer.alloc(0))]),
    (plain: Buffer) => compress(plain).subarray(0, -1),
  ]) {
    const mock = t.mock.method(zlib, 'zstdCompressSync', wrong as typeof compress)
    syncBuiltinESMExports()
    refusesChunk(() => compressChunk(randomBytes(100)))
    mock.mock.restore()
    syncBuiltinESMExports()
  }
  for (const length of [0, 1, 33, 64, 128 * 1_024]) compressChunk(randomBytes(length))
})

function refusesChunk(work: () => unknown): void {
  assert.throws(work, { code: 'chunk_syntax' })
}
