import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Inbox } from '../../../src/outside/federation/inbox.ts'
import {
  PEER_REQUESTS_AT_ONCE,
  PEER_REQUESTS_PER_PEERING_MAX,
  PEER_REQUESTS_WAITING_MAX,
} from '../../../src/outside/federation/limits.ts'

/** Starts work that lasts until `end` is called. `ended` resolves with undefined, or with the code of the refusal. */
function begin(inbox: Inbox, peer: string, ledger = 'led_a') {
  const { promise, resolve } = Promise.withResolvers<void>()
  const ended = inbox.run({ ledger, peer }, () => promise).catch(({ code }: { code: string }) => code)
  return { end: resolve, ended }
}

test('a peer beyond its concurrent requests gets rate_limited, and other peers are served', async () => {
  const inbox = new Inbox()
  const greedy = Array.from({ length: PEER_REQUESTS_PER_PEERING_MAX }, () => begin(inbox, 'greedy'))
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

test('refuses requests beyond the waiting limit as overloaded, without counting them', async () => {
  const inbox = new Inbox()
  const taken = Array.from({ length: PEER_REQUESTS_AT_ONCE + PEER_REQUESTS_WAITING_MAX }, (_, i) =>
    begin(inbox, `peer ${i}`, `led_${i}`),
  )
  assert.equal(inbox.waiting, PEER_REQUESTS_WAITING_MAX)
  for (let i = 0; i <= PEER_REQUESTS_PER_PEERING_MAX; i++)
    assert.equal(await begin(inbox, 'late', 'led_c').ended, 'overloaded')
  for (const { end } of taken) end()
  await Promise.all(taken.map(({ ended }) => ended))
  assert.equal(inbox.waiting, 0)
})

test('the peers of one ledger use at most half of the waiting slots', async () => {
  const inbox = new Inbox()
  const taken = Array.from({ length: 1 + PEER_REQUESTS_WAITING_MAX / 2 }, (_, i) => begin(inbox, `peer ${i}`))
  assert.equal(await begin(inbox, 'one more').ended, 'overloaded')
  const other = begin(inbox, 'peer', 'led_b')
  for (const { end } of [...taken, other]) end()
  await Promise.all(taken.map(({ ended }) => ended))
  assert.equal(await other.ended, undefined)
  const again = begin(inbox, 'one more')
  again.end()
  assert.equal(await again.ended, undefined)
})

test('appends requests of a peer in order of arrival, even if the first is prepared longer', async () => {
  const inbox = new Inbox()
  const done: string[] = []
  const prepared = Promise.withResolvers<void>()
  const run = (name: string, prepare: () => Promise<void>) =>
    inbox.run({ ledger: 'led_a', peer: 'peer' }, async () => void done.push(name), prepare)
  const first = run('first', () => prepared.promise)
  const refused = run('refused', () => Promise.reject(new Error('no'))).catch(() => {})
  const third = run('third', async () => done.push('third is prepared') as unknown as void)
  await refused
  await new Promise(setImmediate)
  assert.deepEqual(done, ['third is prepared'])
  prepared.resolve()
  await Promise.all([first, third])
  assert.deepEqual(done, ['third is prepared', 'first', 'third'])
})

test('a ledger has one running request; a hanging request blocks no other ledger', async () => {
  const inbox = new Inbox()
  const hanging = begin(inbox, 'hangs')
  const behind = begin(inbox, 'waits')
  for (let i = 0; i < 3; i++) {
    const other = begin(inbox, 'other', 'led_b')
    other.end()
    assert.equal(await other.ended, undefined)
  }
  assert.equal(inbox.waiting, 1)
  for (const { end } of [hanging, behind]) end()
  await Promise.all([hanging.ended, behind.ended])
})

test('serves ledgers round-robin, and the peers of a ledger too', async () => {
  const inbox = new Inbox()
  const done: string[] = []
  const holding = ['led_x', 'led_y'].map((ledger) => begin(inbox, 'holds', ledger))
  const run = (ledger: string, peer: string) =>
    inbox.run({ ledger: `led_${ledger}`, peer }, async () => void done.push(ledger + peer))
  const all = [run('a', '1'), run('a', '1'), run('a', '2'), run('a', '3'), run('b', '4'), run('c', '5')]
  holding[0]!.end()
  await Promise.all(all)
  assert.deepEqual(done.toSorted(), ['a1', 'a1', 'a2', 'a3', 'b4', 'c5'])
  assert.deepEqual(done.slice(0, 3), ['a1', 'b4', 'c5'])
  assert.equal(done.at(-1), 'a1', 'the second one of a peer comes behind the other peers')
  holding[1]!.end()
  await holding[1]!.ended
})
