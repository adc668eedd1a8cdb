import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Inbox } from '../../../src/outside/federation/inbox.ts'
import {
  PEER_REQUESTS_OF_LEDGER_WAITING_MAX,
  PEER_REQUESTS_OF_ONE_MAX,
  PEER_REQUESTS_WAITING_MAX,
} from '../../../src/outside/federation/limits.ts'

/** Work that ends when it is told, or the code for which it was refused. */
function begin(inbox: Inbox, peer: string, ledger = 'led_a') {
  const { promise, resolve } = Promise.withResolvers<void>()
  const ended = inbox.run({ ledger, peer }, () => promise).catch(({ code }: { code: string }) => code)
  return { end: resolve, ended }
}

test('a peer that sends without waiting for answers takes no other peer’s place', async () => {
  const inbox = new Inbox()
  const greedy = Array.from({ length: PEER_REQUESTS_OF_ONE_MAX }, () => begin(inbox, 'greedy'))
  assert.equal(await begin(inbox, 'greedy').ended, 'rate_limited')
  const other = begin(inbox, 'other')
  for (const { end } of [...greedy, other]) end()
  assert.deepEqual(await Promise.all([...greedy, other].map(({ ended }) => ended)), [
    ...greedy.map(() => undefined),
    undefined,
  ])
  const again = begin(inbox, 'greedy')
  again.end()
  assert.equal(await again.ended, undefined)
})

test('beyond a number of requests that wait the next one is refused, and counts for nothing', async () => {
  const inbox = new Inbox()
  const taken = Array.from({ length: 1 + PEER_REQUESTS_WAITING_MAX }, (_, i) =>
    begin(inbox, `peer ${i}`, i % 2 === 0 ? 'led_a' : 'led_b'),
  )
  assert.equal(inbox.waiting, PEER_REQUESTS_WAITING_MAX)
  for (let i = 0; i <= PEER_REQUESTS_OF_ONE_MAX; i++)
    assert.equal(await begin(inbox, 'late', 'led_c').ended, 'overloaded')
  for (const { end } of taken) end()
  await Promise.all(taken.map(({ ended }) => ended))
  assert.equal(inbox.waiting, 0)
})

test('the peers of one ledger, however many, leave half of the places to those of others', async () => {
  const inbox = new Inbox()
  const taken = Array.from({ length: 1 + PEER_REQUESTS_OF_LEDGER_WAITING_MAX }, (_, i) =>
    begin(inbox, `peer ${i}`),
  )
  assert.equal(await begin(inbox, 'one more').ended, 'overloaded')
  const other = begin(inbox, 'peer', 'led_b')
  for (const { end } of [...taken, other]) end()
  await Promise.all(taken.map(({ ended }) => ended))
  assert.equal(await other.ended, undefined)
  const again = begin(inbox, 'one more')
  again.end()
  assert.equal(await again.ended, undefined)
})
