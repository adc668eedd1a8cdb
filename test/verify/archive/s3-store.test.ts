import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { openS3Stores } from '../../../src/verify/archive/s3-store.ts'
import { ArchiveStoreError } from '../../../src/verify/archive/store.ts'

const MIB = 1024 * 1024

async function open(t: TestContext, answer: RequestListener) {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'archive', AWS_SECRET_ACCESS_KEY: 'archive-secret' })
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stores = await openS3Stores({
    kind: 's3',
    bucket: 'ledgers',
    prefix: '',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    pathStyle: true,
    lock: null,
  })
  t.after(() => {
    stores.close()
    server.closeAllConnections()
    server.close()
  })
  return stores.of('led')
}

test('an endless object is read up to the limit, and its connection is closed', async (t) => {
  let written = 0
  const closed = Promise.withResolvers<void>()
  const store = await open(t, (_, answer) => {
    answer.on('close', closed.resolve)
    const write = () => {
      while (!answer.destroyed && written < 64 * MIB) {
        written += MIB / 4
        if (!answer.write(Buffer.alloc(MIB / 4))) return void answer.once('drain', write)
      }
      answer.end()
    }
    write()
  })
  const isTooLong = { message: /checkpoint: .* more than 1048576 bytes/, isAway: false }
  await assert.rejects(store.get('checkpoint', MIB), isTooLong)
  await closed.promise
  assert.ok(written < 32 * MIB, `${written}`)
})

test('a missing object is null, and a missing bucket is an error', async (t) => {
  const store = await open(t, (request, answer) => {
    const code = request.url!.includes('/checkpoint') ? 'NoSuchBucket' : 'NoSuchKey'
    answer.writeHead(404, { 'content-type': 'application/xml' })
    answer.end(
      `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>none</Message></Error>`,
    )
  })
  assert.equal(await store.get('lines/1', MIB), null)
  await assert.rejects(
    store.get('checkpoint', MIB),
    (error: Error) => error instanceof ArchiveStoreError && /NoSuchBucket/.test(error.message),
  )
})

test('a bucket that answers 5xx or nothing counts as away, and one that refuses does not', async (t) => {
  const store = await open(t, (request, answer) => {
    if (request.url!.includes('/cut')) return void answer.destroy()
    answer.writeHead(request.url!.includes('/refused') ? 403 : 503)
    answer.end()
  })
  for (const [name, isAway] of [
    ['refused', false],
    ['failing', true],
    ['cut', true],
  ] as const)
    await assert.rejects(store.get(name, MIB), { name: 'ArchiveStoreError', isAway }, name)
})
