import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOrganisations } from '../../helpers/federation.ts'
import { lookAtVictims, Mallory, offering, toSent } from '../federation/mallory.ts'

/*
 * Requests of peers wait in one queue, because their entries are appended one after another. Before the fix, the server
 * also checked an offer's evidence against the type's schema while the offer's request was first in the queue. If a
 * tenant has a costly schema, the checks with it get only a tenth of a CPU core. So the tenant's offers delayed all
 * other peers.
 */

const OFFERS = 6
/**
 * Maximum wait of another peer's request, as a share of the time in which the server checks the evidence. Before the
 * fix, the other peer waited for all of that time.
 */
const WAIT_SHARE_MAX = 1 / 2

const COSTLY = {
  name: 'costly',
  version: 1,
  payloadSchema: {},
  evidenceSchema: { properties: { text: { pattern: '[ab]*a[ab]{400}[^ab][^ab]' } } },
  rules: [{ id: 'kind', op: 'equals', value: 'x', actual: '/kind' }],
}
const EVIDENCE = { kind: 'x', text: 'ab'.repeat(20_000) }

test('evidence that is costly to validate delays no other peer', async (t) => {
  const [victim] = await startOrganisations(t, 1)
  const costly = await Mallory.meet(t, victim!)
  const other = await Mallory.meet(t, victim!)
  await victim!.ask('POST', '/v1/types', { body: COSTLY })
  const body = {
    type: 'costly/1',
    payload: {},
    performer: `${costly.chain.ledger}/${costly.chain.agent}`,
    share: [{ peer: costly.peer, documents: 'whole' }],
  }
  const ids: string[] = []
  for (let i = 0; i < OFFERS; i++) ids.push((await victim!.ask('POST', '/v1/records', { body })).id)
  const offers = async (step: 'record-activated' | 'completion-submitted') =>
    (await Promise.all(ids.map((id) => lookAtVictims(victim!, id)))).map((record) =>
      offering(costly, record, step, {}, EVIDENCE),
    )
  await costly.take(await offers('record-activated'))

  const completions = (await offers('completion-submitted')).map(toSent)
  const beganAtMs = performance.now()
  let isTaken = false
  const taken = costly.take(completions).finally(() => {
    isTaken = true
  })
  const waits: number[] = []
  while (!isTaken) {
    const sentAtMs = performance.now()
    await other.take([other.record().last()])
    waits.push(performance.now() - sentAtMs)
  }
  await taken
  const tookMs = performance.now() - beganAtMs
  const waitedMs = Math.max(...waits)
  t.diagnostic(
    `${OFFERS} offers took ${Math.round(tookMs)} ms, the other peer waited ${Math.round(waitedMs)} ms at most`,
  )
  assert.ok(tookMs > 500, `the evidence cost too little to show anything: ${tookMs} ms`)
  assert.ok(waitedMs < tookMs * WAIT_SHARE_MAX, `the other peer waited ${waitedMs} of ${tookMs} ms`)
})
