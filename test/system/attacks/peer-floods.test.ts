import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestLine } from '../../helpers/test-chain.ts'
import { lookAtVictims, type Mallory, meetMallory, offering } from '../federation/mallory.ts'
import { unchanged, verifyOwnExport } from '../federation/unchanged.ts'

/*
 * Finding M4: a peer sent requests with 40 records of 60 KB each. So the server stored 15 MB a second permanently,
 * although the peer respected every rate limit. The budget in this test is smaller than usual.
 */

const RECORDS = 40
const PAYLOAD = { text: 'x'.repeat(60_000) }
const BUDGET = { entriesPerDay: 1_000, bytesPerDay: 4_000_000 }
/**
 * Number of requests that are accepted. The budget is 4 MB, and a request takes 2.5 MB. The second request starts below
 * the limit, so it is accepted whole.
 */
const REQUESTS_TAKEN = 2

/** Returns the entries of one request. Each entry is for a separate record. */
function flood(mallory: Mallory): TestLine[] {
  return Array.from({ length: RECORDS }, () => mallory.record({}, { payload: PAYLOAD }).last())
}

const sentOf = (lines: readonly TestLine[]) => ({
  entries: lines.map(({ seq, envelope, documents: [document] }) => {
    const { erasedBy: _, ...shown } = document!
    return { seq, envelope, document: shown }
  }),
})

const bytesStored = `select (select coalesce(sum(length(envelope)), 0) from tallystick.entries)
  + (select coalesce(sum(length(envelope)), 0) from tallystick.received_entries)
  + (select coalesce(sum(length(content)), 0) from tallystick.received_documents)
  + (select coalesce(sum(length(definition)), 0) from tallystick.received_types)
  + (select coalesce(sum(length(envelope)), 0) from tallystick.peer_forks) as bytes`

test('the daily budget of a peer bounds what is stored, whatever it sends', {
  timeout: 60_000,
}, async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const peer = `/v1/peers/${mallory.peer}`
  const stored = async () => Number((await victim.sql<{ bytes: string }>(bytesStored))[0]!.bytes)
  const setBudget = (budget: typeof BUDGET | null) =>
    victim.send('PUT', `${peer}/budget`, { body: { budget } })
  const { id } = await victim.ask('POST', '/v1/records', {
    body: {
      type: 'task/1',
      payload: {},
      performer: `${mallory.chain.ledger}/${mallory.chain.agent}`,
      share: [{ peer: mallory.peer, documents: 'whole' }],
    },
  })
  const before = await stored()
  await setBudget(BUDGET)
  const taken: TestLine[] = []
  let left: TestLine[] = []

  await t.test('records are accepted up to the budget, then refused with 429 peer_full', async () => {
    for (;;) {
      left = flood(mallory)
      const { status, body } = await mallory.request('entries', sentOf(left))
      if (status !== 200) {
        assert.deepEqual([status, body.code, body.retryable], [429, 'peer_full', true])
        break
      }
      taken.push(...left)
      assert.ok(taken.length <= REQUESTS_TAKEN * RECORDS, `${(await stored()) - before} bytes are stored`)
    }
    assert.equal(taken.length, REQUESTS_TAKEN * RECORDS)
    const { budget } = await victim.ask('GET', peer)
    // `used` also counts the entry of the handshake.
    assert.deepEqual(budget.entries, { used: taken.length + 1, perDay: BUDGET.entriesPerDay })
    assert.equal(budget.bytes.perDay, BUDGET.bytesPerDay)
    // `used` also counts the few entries that were stored before the budget was set.
    assert.ok(budget.bytes.used >= (await stored()) - before, JSON.stringify(budget))
    assert.ok(budget.bytes.used < (await stored()) - before + 5_000, JSON.stringify(budget))
  })

  await t.test('forks, types and steps are then refused too, and not stored', async () => {
    const [first] = taken
    const fork = { ...left[0]!, seq: first!.seq }
    const definition = { name: 'bulk', version: 1, kind: 'gated', text: 'y'.repeat(50_000) }
    const gated = mallory.record()
    gated.cancel()
    const offer = offering(mallory, await lookAtVictims(victim, id), 'record-activated')
    const { line: rotation } = mallory.rotate()
    for (const [what, body] of [
      ['entries', sentOf([fork])],
      ['entries', { ...sentOf(left), types: [definition] }],
      ['entries', { entries: [{ seq: offer.seq, envelope: offer.envelope }] }],
      ['rotations', { rotations: [{ seq: rotation.seq, envelope: rotation.envelope }] }],
    ] as const) {
      const at = await stored()
      const signer = what === 'rotations' ? mallory.signer : mallory.chain.firstSigner
      const { status, body: answer } = await unchanged(victim, () => mallory.request(what, body, { signer }))
      assert.deepEqual([status, answer.code], [429, 'peer_full'], JSON.stringify(answer))
      assert.equal(await stored(), at)
    }
  })

  await t.test(
    'with a higher budget, or on the next day, the refused records are accepted once',
    async () => {
      const signer = mallory.chain.firstSigner
      await setBudget(null)
      const { body } = await mallory.request('entries', sentOf(left), { signer })
      assert.ok(body.outcomes.every(({ outcome }: { outcome: string }) => outcome === 'received'))
      const again = await unchanged(victim, () => mallory.request('entries', sentOf(left), { signer }))
      assert.deepEqual(again.body, body)
      await setBudget(BUDGET)
      assert.equal((await mallory.request('entries', sentOf(left), { signer })).body.code, 'peer_full')
      await victim.sql(`update tallystick.peer_budgets set began_at = began_at - interval '1 day'`)
      assert.deepEqual((await victim.ask('GET', peer)).budget.entries.used, 0)
      assert.deepEqual((await mallory.request('entries', sentOf(left), { signer })).body, body)
      await verifyOwnExport(victim)
    },
  )
})
