import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openS3Stores } from '../../../src/verify/archive/s3-store.ts'

const MIB = 1024 * 1024

test('an object of a bucket that does not end is read up to the limit, and the connection is closed', async (t) => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'archive', AWS_SECRET_ACCESS_KEY: 'archive-secret' })
  let written = 0
  const closed = Promise.withResolvers<void>()
  const server = createServer((_, answer) => {
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
  await assert.rejects(stores.of('led').get('checkpoint', MIB), /checkpoint: .* more than 1048576 bytes/)
  await closed.promise
  assert.ok(written < 32 * MIB, `${written}`)
})
