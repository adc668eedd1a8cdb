import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { CHUNK_CONTENT_BYTES_MAX } from '../../src/db/limits.ts'
import { expectStatus, genericBody } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { erase } from '../helpers/personal-records.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { listStoredChunks, writeContent } from '../helpers/stored-chunks.ts'

const CHANGES: Record<string, (content: Buffer) => Uint8Array> = {
  'is noise': () => randomBytes(300),
  'has lost its end': (content) => content.subarray(0, -5),
  'holds more than its records': (content) =>
    zstdCompressSync(Buffer.concat([zstdDecompressSync(content), Buffer.of(0)])),
  'would decompress to more than any chunk': () =>
    zstdCompressSync(Buffer.alloc(CHUNK_CONTENT_BYTES_MAX + 1)),
}

for (const [what, change] of Object.entries(CHANGES)) {
  test(`a chunk that ${what} makes only requests that read it fail with 500`, async () => {
    const app = await sharedApp()
    const alone = await app.notarize()
    const records = Array.from({ length: 70 }, (_, i) => genericBody({ i }))
    const body = { records }
    const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body })).json()
    const [first, other] = [batch.records[0], batch.records[65]]
    const before = await app.written()
    const [chunk] = await listStoredChunks(app)
    await writeContent(app, chunk!, change(chunk!.content))

    const url = `/v1/records/${first.id}`
    for (const path of [url, `${url}/tree`, '/v1/records?order=asc', '/v1/entries', '/v1/export'])
      assertProblem(await app.send('GET', path), 500, 'internal_error', path)
    assertProblem(await erase(app, first.id), 500, 'internal_error')
    const child = { ...genericBody(), parent: first.id }
    assertProblem(await app.send('POST', '/v1/records', { body: child }), 500, 'internal_error')
    const inBatch = await app.send('POST', '/v1/records/batch', { body: { records: [child] } })
    assertProblem(inBatch, 500, 'internal_error')
    assert.deepEqual(await app.written(), before)

    for (const { id } of [alone, other]) expectStatus(200, await app.send('GET', `/v1/records/${id}`))
    const [line] = await app.entries(`?after=${alone.entry.seq - 1}&limit=1`)
    assert.equal(line.documents.length, 1)
    expectStatus(202, await erase(app, other.id))
    const sibling = { ...genericBody(), parent: other.id }
    expectStatus(201, await app.send('POST', '/v1/records', { body: sibling }))
  })
}
