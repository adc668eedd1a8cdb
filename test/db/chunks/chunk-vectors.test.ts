import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type ChunkRecord, decodeChunk, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { keysOfChunk } from '../../../src/db/chunks/chunk-keys.ts'
import { digestOf, referencesDigestOf } from '../../../src/db/chunks/read-chunks.ts'
import { fromBase64Url, fromHex, toHex, utf8Encode } from '../../../src/proof/bytes.ts'
import { formatId } from '../../../src/proof/ids.ts'
import { itemBytes, itemLeaf } from '../../../src/proof/statement/batch.ts'
import { recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { nativeProviders } from '../../../src/signing/native.ts'

const file = new URL('../../vectors/chunks.json', import.meta.url)
const vector = JSON.parse(readFileSync(file, 'utf8'))

const bytesOrNull = (text: string | null) => (text === null ? null : utf8Encode(text))

// biome-ignore lint/suspicious/noExplicitAny: the shape is that of the vectors
function recordOf(said: any): ChunkRecord {
  const { type, occurredAtMs, onBehalfOf, parentId, traceparent, otherMembers = null } = said
  const document =
    said.erasedSeq === undefined
      ? {
          salt: fromBase64Url(said.salt),
          payload: utf8Encode(said.payload),
          references: bytesOrNull(said.references),
          metadata: bytesOrNull(said.metadata),
        }
      : {
          digest: fromHex(said.digest),
          referencesDigest: said.referencesDigest && fromHex(said.referencesDigest),
          erasedSeq: said.erasedSeq,
        }
  return { type, occurredAtMs, onBehalfOf, parentId, traceparent, otherMembers, document }
}

test('decodes and encodes a chunk as the vectors do, and finds it by the same keys', () => {
  const records: ChunkRecord[] = vector.records.map(recordOf)
  const content = fromHex(vector.content)
  assert.equal(toHex(zstdDecompressSync(content)), vector.plain)
  assert.equal(toHex(zstdDecompressSync(encodeChunk(records))), vector.plain)
  const decoded = decodeChunk(content, 3)
  assert.equal(toHex(zstdDecompressSync(encodeChunk(decoded))), vector.plain)
  assert.deepEqual(keysOfChunk(vector.actor, decoded).map(toHex).sort(), vector.keys)
})

test('decodes and encodes other members as the vectors do, and refuses them in another form', () => {
  const { content, plain, records } = vector.others
  assert.equal(toHex(zstdDecompressSync(encodeChunk(records.map(recordOf)))), plain)
  assert.deepEqual(
    decodeChunk(fromHex(content), 2).map(({ otherMembers }) => otherMembers),
    records.map(({ otherMembers }: ChunkRecord) => otherMembers),
  )
  const text = '{"caseRef":"2026/7","label":"über \\"x\\""}'
  const [bytes, length] = [Buffer.from(text), Buffer.byteLength(text)]
  for (const wrong of [
    text.replace('caseRef', 'zaseRef'),
    text.replace('"2026/7"', '2026.777'),
    text.replace('","', '", '),
    `[${'1'.repeat(length - 2)}]`,
    `{}${' '.repeat(length - 2)}`,
  ]) {
    const changed = plain.replaceAll(toHex(bytes), toHex(Buffer.from(wrong)))
    assert.notEqual(changed, plain)
    const chunk = zstdCompressSync(fromHex(changed))
    assert.throws(() => decodeChunk(chunk, 2), { code: 'chunk_syntax' }, wrong)
  }
})

test('a chunk leads to the items of the vectors, and to their leaves', () => {
  for (const [i, record] of decodeChunk(fromHex(vector.content), 3).entries()) {
    const item = vector.items[i]
    assert.equal(formatId('rec', recordIdAt(vector.firstRecordId, 64 + i)), item.record)
    assert.equal(toHex(digestOf(record)), item.digest)
    const references = referencesDigestOf(record)
    assert.equal(references && toHex(references), item.references ?? null)
    assert.equal(toHex(itemLeaf(nativeProviders.sha256, itemBytes(item))), vector.itemLeaves[i])
  }
})
