import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decompressChunk, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { PlainChunks } from '../../../src/db/chunks/plain-chunks.ts'
import { PLAIN_CHUNK_BYTES_MAX, PLAIN_CHUNKS_BYTES_MAX } from '../../../src/db/limits.ts'
import { makeItem, randomId } from '../../helpers/test-ledger.ts'

function contentOf(payloadBytes: number): Buffer {
  const payload = randomBytes(payloadBytes)
  return encodeChunk([
    makeItem({ document: { salt: randomBytes(16), payload, references: null, metadata: null } }),
  ])
}

test('a chunk is decompressed once, and again as soon as its stored content differs', () => {
  const chunks = new PlainChunks()
  const key = { ledgerId: randomId(), seq: 1, chunk: 0 }
  const [content, changed] = [contentOf(100), contentOf(100)]
  const plain = chunks.decompress(key, content)
  assert.deepEqual(plain, decompressChunk(content))
  assert.equal(chunks.decompress(key, Buffer.from(content)), plain)
  assert.deepEqual(chunks.decompress(key, changed), decompressChunk(changed))
  assert.deepEqual(chunks.decompress({ ...key, chunk: 1 }, content), plain)
  assert.notEqual(chunks.decompress({ ...key, ledgerId: randomId() }, content), plain)
})

test('the cache stays below its limit, drops what was used least recently, and has no large chunks', () => {
  const chunks = new PlainChunks()
  const ledgerId = randomId()
  const large = contentOf(PLAIN_CHUNK_BYTES_MAX)
  chunks.decompress({ ledgerId, seq: 0, chunk: 0 }, large)
  assert.equal(chunks.bytes, 0)
  const content = contentOf(PLAIN_CHUNK_BYTES_MAX / 2)
  const first = chunks.decompress({ ledgerId, seq: 1, chunk: 0 }, content)
  for (let seq = 2; seq < (4 * PLAIN_CHUNKS_BYTES_MAX) / PLAIN_CHUNK_BYTES_MAX; seq++) {
    chunks.decompress({ ledgerId, seq, chunk: 0 }, content)
    assert.equal(chunks.decompress({ ledgerId, seq: 1, chunk: 0 }, content), first)
    assert.ok(chunks.bytes <= PLAIN_CHUNKS_BYTES_MAX)
  }
  const second = chunks.decompress({ ledgerId, seq: 2, chunk: 0 }, content)
  assert.notEqual(second, chunks.decompress({ ledgerId, seq: 2, chunk: 1 }, content))
})

test('a chunk that cannot be read is refused each time', () => {
  const chunks = new PlainChunks()
  const key = { ledgerId: randomId(), seq: 1, chunk: 0 }
  for (let i = 0; i < 2; i++)
    assert.throws(() => chunks.decompress(key, randomBytes(50)), { code: 'chunk_syntax' })
})
