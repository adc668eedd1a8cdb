import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Inbox } from '../../src/federation/inbox.ts'
import { PEER_REQUESTS_OF_ONE_MAX, PEER_REQUESTS_WAITING_MAX } from '../../src/peer-limits.ts'

const of = (peer: string) => ({ ledger: 'led_a', peer })

/** Work that ends when it is told, or the code for which it was refused. */
function begin(inbox: Inbox, peer: string) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const ended = inbox.run(of(peer), () => promise).catch(({ code }: { code: string }) => code)
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
  const taken = Array.from({ length: 1 + PEER_REQUESTS_WAITING_MAX }, (_, i) => begin(inbox, `peer ${i}`))
  assert.equal(inbox.waiting, PEER_REQUESTS_WAITING_MAX)
  for (let i = 0; i <= PEER_REQUESTS_OF_ONE_MAX; i++)
    assert.equal(await begin(inbox, 'late').ended, 'overloaded')
  for (const { end } of taken) end()
  await Promise.all(taken.map(({ ended }) => ended))
  assert.equal(inbox.waiting, 0)
})
