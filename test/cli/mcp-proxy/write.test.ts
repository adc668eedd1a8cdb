import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { write } from '../../../cli/mcp-proxy/write.ts'

test('1,000 writes to a slow reader leave no listeners behind', async () => {
  const slow = new Writable({ highWaterMark: 1, write: (_bytes, _encoding, done) => void setImmediate(done) })
  const before = slow.eventNames().map((name) => [name, slow.listenerCount(name)])
  for (let i = 0; i < 1_000; i++) await write(slow, Buffer.from('a message'))
  assert.deepEqual(
    slow.eventNames().map((name) => [name, slow.listenerCount(name)]),
    before,
  )
  const never = new Writable({ highWaterMark: 1, write: () => {} })
  const written = write(never, Buffer.from('a message'))
  never.destroy(new Error('it broke'))
  await written
})
