import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { PermissionError, SpoolError, UnexpectedAnswerError } from '../../sdk/errors.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { Memory } from '../../sdk/notarizer/memory.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { sendJson, sendProblem, startHostile } from './hostile-server.ts'
import { QUICK, recordedNumbers } from './notarizer-set-up.ts'
import { sharedSdk } from './set-up.ts'
import { namesIn } from './spool-set-up.ts'

test('records that one agent left in a spool are not sent by another agent', async (t) => {
  const { app, client } = await sharedSdk()
  const { directory } = temporaryFiles(t)
  const agent = await addAgent(app, 'another')
  const scopes = ['records:write'] as const
  const notarizer = async (apiKey: string) =>
    client({ apiKey }).notarizer({ ...QUICK, spool: await openSpool(directory) })

  const first = await notarizer(await addKey(app, { scopes }))
  first.record({ group: 'owner', i: 0 })
  await first.close()

  const other = await notarizer(await addKey(app, { scopes, agent }))
  other.record({ group: 'owner', i: 1 })
  await assert.rejects(other.close(), (error) => {
    assert.ok(error instanceof SpoolError)
    assert.equal(error.retryable, false)
    assert.match(
      error.message,
      new RegExp(`agent ${app.ledger.agent.id} of .* the key belongs to ${agent} of `),
    )
    return true
  })
  assert.deepEqual(await recordedNumbers(app, 'owner'), [0])

  const again = await notarizer(await addKey(app, { scopes }))
  await again.close()
  assert.deepEqual(await recordedNumbers(app, 'owner'), [0, 1], 'another key of the same agent sends it')
})

test('a spool is sent only after the server has named the agent of the key', async (t) => {
  const about = { id: 'led_1', key: { agent: 'agt_1' } }
  const server = await startHostile(t, (response, attempt) => {
    if (attempt === 1) return sendProblem(response, 503, 'overloaded')
    if (attempt === 2) return sendProblem(response, 403, 'forbidden')
    if (attempt === 3) return sendJson(response, { id: 'led_1', key: null })
    if (attempt === 4) return sendJson(response, about)
    sendRecorded(response)
  })
  const { directory } = temporaryFiles(t)
  const errors: unknown[] = []
  const ledger = server.client().notarizer({
    ...QUICK,
    spool: await openSpool(directory),
    onError: (error) => void errors.push(error),
    recordsPerBatchMax: 1,
    inFlightMax: 2,
  })
  ledger.record({ i: 0 })
  ledger.record({ i: 1 })
  while (ledger.stats.buffered > 0) await ledger.flush().catch(() => {})
  await ledger.close()
  assert.deepEqual(
    server.requests.map(({ method, url }) => `${method} ${url}`),
    [...Array(4).fill('GET /v1/ledger'), ...Array(2).fill('POST /v1/records/batch')],
  )
  assert.equal(errors.length, 3)
  assert.ok(errors[1] instanceof PermissionError && errors[2] instanceof UnexpectedAnswerError)
  assert.deepEqual(namesIn(directory), ['owner.json'])
})

test('a failed close() closes a durable spool, and keeps a memory buffer open', async (t) => {
  let isMended = false
  const server = await startHostile(t, (response) => {
    if (isMended) sendRecorded(response)
    else sendProblem(response, 403, 'forbidden')
  })
  const closings = [true, false].map(async (isDurable) => {
    const spool = Object.assign(new Memory(10, 1_000_000), { isDurable })
    const close = t.mock.method(spool, 'close')
    const ledger = server.client().notarizer({ ...QUICK, spool })
    ledger.record({})
    await assert.rejects(ledger.close(), PermissionError)
    assert.equal(close.mock.callCount(), isDurable ? 1 : 0)
    return ledger
  })
  const [, lasting] = await Promise.all(closings)
  isMended = true
  await lasting!.close()
})

function sendRecorded(response: ServerResponse): void {
  const records = [{ id: 'rec_1', digest: 'd', salt: 's' }]
  response.writeHead(201, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ batch: 'bat_1', entry: { seq: 1 }, records }))
}
