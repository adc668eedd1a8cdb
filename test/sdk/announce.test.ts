import assert from 'node:assert/strict'
import { test } from 'node:test'
import { announceExport } from '../../sdk/announce.ts'
import { UnavailableError } from '../../sdk/errors.ts'
import { failureOf, sendJson, sendProblem, startHostile } from './hostile-server.ts'

const REQUEST = { of: {}, from: 0, documents: true }

test('announceExport returns false without a retry if the ledger accepts no entries', async (t) => {
  for (const [status, code] of [
    [503, 'ledger_closed'],
    [503, 'ledger_moving'],
    [421, 'ledger_moved'],
    [403, 'ledger_frozen'],
  ] as const) {
    const server = await startHostile(t, (response) =>
      sendProblem(response, status, code, { headers: { 'retry-after': '60' } }),
    )
    assert.equal(await announceExport(server.client(), REQUEST), false)
    assert.equal(
      server.requests.filter(({ method }) => method === 'POST').length,
      status === 421 ? 2 : 1,
      code,
    )
  }
})

test('an overloaded server is asked again; a ledger closed until an operator acts is not', async (t) => {
  const busy = await startHostile(t, (response, attempt) =>
    attempt === 1 ? sendProblem(response, 503, 'overloaded') : sendJson(response, {}),
  )
  assert.equal(await announceExport(busy.client(), REQUEST), true)
  const closed = await startHostile(t, (response) => sendProblem(response, 503, 'ledger_closed'))
  const { records } = closed.client()
  const error = await failureOf(records.notarize({ payload: {} }), UnavailableError, /tell the operator/)
  assert.deepEqual([error.retryable, closed.requests.length], [true, 1])
})
