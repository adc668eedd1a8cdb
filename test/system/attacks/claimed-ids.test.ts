import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mallory, meetMallory } from '../federation/mallory.ts'
import { verifyOwnExport } from '../federation/unchanged.ts'

/*
 * The home of a record shares the record with two peers, so both peers know the record's id. One of them, the thief,
 * sends the other peer, the victim, a record of its own with the same id. Before the fix, this stopped the victim's
 * agents (409 `record_ambiguous`).
 */

test('a peer that claims another ledger’s record id blocks no agent', { timeout: 60_000 }, async (t) => {
  const home = await meetMallory(t)
  const { victim } = home
  const worker = await victim.addAgent('worker', ['records:write', 'records:read:own'])
  const thief = await Mallory.meet(t, victim)
  const gated = home.record({ performer: worker.remote })
  const id = gated.record
  await home.take([gated.last()])
  await thief.take([thief.record({ performer: worker.remote }, { record: id }).last()])
  const asWorker = { key: worker.key }
  const ledgerOf = async (query: string) =>
    (await victim.ask('GET', `/v1/records/${id}${query}`, asWorker)).ledger

  await t.test('without a peer named, readers get the record that came first', async () => {
    assert.equal(await ledgerOf(''), home.chain.ledger)
    const { data } = await victim.ask('GET', `/v1/records/${id}/entries`, asWorker)
    assert.deepEqual(
      data.map(({ received }: { received: string }) => received),
      [gated.last().envelope],
    )
  })
  await t.test('the performer’s step goes to the record that came first', async () => {
    const { gated: offered } = await victim.ask('POST', `/v1/records/${id}/activate`, {
      ...asWorker,
      body: {},
    })
    assert.equal(offered.offer.state, 'pending')
    const [row] = await victim.sql<{ own: boolean }>(
      'select p.remote_url = $1 as own from tallystick.offers join tallystick.peers p using (ledger_id, peer_id)',
      [home.url],
    )
    assert.ok(row!.own)
  })
  await t.test('the other record is read and stepped by naming its peer', async () => {
    assert.equal(await ledgerOf(`?peer=${thief.peer}`), thief.chain.ledger)
    assert.equal(await ledgerOf(`?peer=${home.peer}`), home.chain.ledger)
    const entries = await victim.ask('GET', `/v1/records/${id}/entries?peer=${thief.peer}`, asWorker)
    assert.equal(entries.data.length, 1)
    const answer = await victim.send('POST', `/v1/records/${id}/activate`, {
      ...asWorker,
      body: { peer: thief.peer },
    })
    assert.deepEqual([answer.status, answer.body.ledger], [202, thief.chain.ledger])
  })

  await t.test(
    'a record whose id a thief claimed first is reached by peer, or after revocation',
    async () => {
      const squatted = home.record({ performer: worker.remote })
      await thief.take([thief.record({ performer: worker.remote }, { record: squatted.record }).last()])
      await home.take([squatted.last()])
      const read = (query = '') => victim.ask('GET', `/v1/records/${squatted.record}${query}`, asWorker)
      assert.equal((await read(`?peer=${home.peer}`)).ledger, home.chain.ledger)
      await victim.ask('POST', `/v1/peers/${thief.peer}/revoke`, { body: {} })
      assert.equal((await read()).ledger, home.chain.ledger)
      const { status } = await victim.send('POST', `/v1/records/${squatted.record}/activate`, {
        ...asWorker,
        body: {},
      })
      assert.equal(status, 202)
    },
  )
  await verifyOwnExport(victim)
})
