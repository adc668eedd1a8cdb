import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { httpReader } from '../../../src/verify/archive/http-reader.ts'

const BYTES_MAX = 1024

async function open(t: TestContext, answer: RequestListener) {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return httpReader(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), 'an archive')
}

const hangs: readonly (readonly [string, (answer: ServerResponse) => void])[] = [
  ['says nothing', () => {}],
  ['stops in the middle of an object', (answer) => void answer.writeHead(200).write('half')],
]
for (const [name, begin] of hangs)
  test(`aborting a read of a server that ${name} ends the read and its connection`, async (t) => {
    const [asked, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const reader = await open(t, (_, answer) => {
      answer.on('close', closed.resolve)
      begin(answer)
      asked.resolve()
    })
    const ending = new AbortController()
    const read = reader.get('checkpoint', BYTES_MAX, ending.signal)
    await asked.promise
    // The abort has an error message of its own, so that the test can tell it from a timeout of the reader.
    ending.abort(new Error('nobody waits for it'))
    await assert.rejects(read, { name: 'ArchiveStoreError', message: 'checkpoint: nobody waits for it' })
    await closed.promise
  })

test('an object is returned, and a missing one is null, with or without a signal', async (t) => {
  const reader = await open(t, (request, answer) => {
    if (request.url === '/checkpoint') answer.end('a checkpoint')
    else answer.writeHead(404).end()
  })
  for (const signal of [undefined, new AbortController().signal]) {
    assert.equal((await reader.get('checkpoint', BYTES_MAX, signal))?.toString(), 'a checkpoint')
    assert.equal(await reader.get('lines/0', BYTES_MAX, signal), null)
  }
})
