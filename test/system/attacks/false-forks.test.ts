import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { makeChain, type TestLine } from '../../helpers/test-chain.ts'
import { until } from '../../helpers/wait.ts'
import { appendingOf, leafOf, type Mallory, meetMallory } from '../federation/mallory.ts'

/*
 * Finding M6: a row in peer_forks accused an honest peer of a fork. The fork was shown as signed by the peer,
 * reconciliation failed, and nobody could remove the row. In this test the database's owner inserts such rows.
 */

type Forged = {
  readonly line: Pick<TestLine, 'leaf' | 'envelope'>
  readonly of?: TestLine
  readonly record?: boolean
}

test('only entries that the peer itself has signed count as its fork', { timeout: 60_000 }, async (t) => {
  const mallory = await meetMallory(t)
  const { victim, chain, peer } = mallory
  const gated = mallory.record()
  const created = gated.last()
  const other = mallory.record().last()
  await mallory.take([created, other])
  const { id } = await victim.ask('POST', '/v1/records', {
    body: { type: 'task/1', payload: {}, share: [{ peer, documents: 'whole' }] },
  })
  assert.ok(id)
  await until(async () => mallory.heard.some(({ path }) => path.endsWith('/entries')))
  const receipt = chain.lines.findLast(({ kind }) => kind === 'entry-received')!

  /** Inserts a fork: a row that says that the peer signed another entry in place of a stored one. */
  const accuse = ({ line, of = created, record = true }: Forged) =>
    victim.sql(
      `insert into tallystick.peer_forks (ledger_id, peer_id, leaf, remote_seq, record_id, version, held_leaf, envelope)
       select ledger_id, peer_id, decode($2, 'hex'), remote_seq, case when $4 then record_id end, case when $4 then version end,
         leaf, decode($3, 'base64')
       from tallystick.received_entries where leaf = decode($1, 'hex')`,
      [of.leaf, line.leaf, line.envelope, record],
    )
  const accused = async (mallory: Mallory) => ({
    shown: (await victim.ask('GET', `/v1/peers/${mallory.peer}/forks`)).data,
    counted: (await victim.ask('GET', `/v1/peers/${mallory.peer}`)).drain.forks,
    listed: (await victim.ask('GET', '/v1/peers')).data[0].drain.forks,
    reconciled: await victim.ask('GET', `/v1/peers/${mallory.peer}/reconciliation`),
    metric: await victim.metrics.get('worker')!.registry.getSingleMetricAsString('tallystick_peer_forks'),
  })
  const nobody = async (what: string) => {
    const { shown, counted, listed, reconciled, metric } = await accused(mallory)
    assert.deepEqual([shown, counted, listed, reconciled.received.forks], [[], 0, 0, 0], what)
    assert.ok(!reconciled.reasons.includes('forks'), what)
    assert.match(metric, /tallystick_peer_forks(\{[^}]*\})? 0$/m, what)
  }

  await t.test('random bytes are no fork', async () => {
    const envelope = randomBytes(100).toString('base64')
    await accuse({ line: { leaf: leafOf(envelope), envelope } })
    await nobody('random bytes')
  })
  await t.test('an entry signed by another key is no fork', async () => {
    const thief = makeChain()
    const { subjects, kind, predicate } = appendingOf(created)
    await accuse({ line: thief.append({ kind, subjects, predicate }) })
    await nobody('another key')
  })
  await t.test(
    'an entry that the peer signed for another position, or as a receipt, is no fork',
    async () => {
      await accuse({ line: other })
      await accuse({ line: created, record: false, of: other })
      await accuse({ line: receipt, record: false })
      await nobody('another place')
    },
  )
  await t.test('the stored entry itself under another leaf is no fork', async () => {
    await accuse({ line: { leaf: 'ab'.repeat(32), envelope: created.envelope } })
    await nobody('its own')
  })

  await t.test('a second entry that the peer signed is shown, counted and reconciled as a fork', async () => {
    const { subjects, kind, predicate, documents } = appendingOf(created)
    const second = chain.append({ kind, subjects, predicate: { ...predicate, maxRevisions: 2 }, documents })
    const [outcome] = await mallory.outcomes([second])
    assert.equal(outcome.code, 'fork')
    const { shown, counted, listed, reconciled, metric } = await accused(mallory)
    assert.deepEqual([counted, listed, reconciled.received.forks], [1, 1, 1])
    assert.deepEqual([shown.length, shown[0].leaf, shown[0].held], [1, second.leaf, created.leaf])
    assert.ok(reconciled.reasons.includes('forks'))
    assert.match(metric, /tallystick_peer_forks(\{[^}]*\})? 1$/m)
  })
})
