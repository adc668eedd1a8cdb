import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Organisation,
  peer,
  registerDelivery,
  share,
  startOrganisations,
  untilBoth,
} from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'
import { reckonPeerings } from '../faults/federation-reckoning.ts'

const figureOf = async (side: Organisation, name: string) =>
  side.metrics.get('worker')!.registry.getSingleMetricAsString(`tallystick_${name}`)

test('entries for a peer whose budget is used up wait, and all arrive later', async (t) => {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  await registerDelivery(home)
  const id = await peer(home, guest)
  const setBudget = (budget: object | null) =>
    guest.ask('PUT', `/v1/peers/${id}/budget`, { body: { budget } })
  const first = await share({ home, guest, peer: id, performer: null })
  await untilBoth(first, 'CREATED')

  // The budget is set to the amount that has already arrived, so it is used up.
  const { budget } = await setBudget({ entriesPerDay: 1, bytesPerDay: 1_000_000 })
  assert.deepEqual(budget.entries, { used: 1, perDay: 1 })
  const records = [first, await share({ home, guest, peer: id, performer: null })]
  const getDrain = async () => (await home.ask('GET', `/v1/peers/${id}`)).drain
  await until(async () => /^peer_full: /.test((await getDrain()).lastError))
  const { resumeAt, behind } = await getDrain()
  assert.ok(behind > 0)
  const waitsMs = Date.parse(resumeAt) - Date.now()
  assert.ok(waitsMs > 500_000 && waitsMs <= 600_000, resumeAt)
  assert.match(
    await figureOf(home, 'peer_request_failures_total'),
    /peer_request_failures_total\{[^}]*reason="peer_full"[^}]*\} 1$/m,
  )
  assert.match(await figureOf(guest, 'peers_full'), /peers_full(\{[^}]*\})? 1$/m)
  assert.match(await figureOf(guest, 'peer_budget_used_ratio'), /used_ratio(\{[^}]*\})? 1$/m)

  // Requests that store nothing are answered although the budget is used up.
  assert.equal((await home.ask('GET', `/v1/peers/${id}/reconciliation`)).sent.inFlight, 1)

  await setBudget(null)
  assert.match(await figureOf(guest, 'peers_full'), /peers_full(\{[^}]*\})? 0$/m)
  await home.ask('POST', `/v1/peers/${id}/replay`, { body: {} })
  for (const record of records) await untilBoth(record, 'CREATED')
  const { findings, lost, doubled, ghosts, disordered, unlike } = await reckonPeerings([
    { id, sides: [home, guest] },
  ])
  assert.deepEqual([findings, lost, doubled, ghosts, disordered, unlike], [[], 0, 0, 0, 0, 0])
  assert.equal((await getDrain()).lastError, null)
})

test('a budget must be complete, of a known peer, and set by a key that manages peers', async (t) => {
  const [side] = (await startOrganisations(t, 1)) as [Organisation]
  const { id } = await side.ask('POST', '/v1/peers', { body: { name: 'Mallory' } })
  const put = (body: object, more: object = {}) =>
    side.send('PUT', `/v1/peers/${id}/budget`, { body, ...more })
  const whole = { budget: { entriesPerDay: 10, bytesPerDay: 2_000 } }
  for (const body of [
    {},
    { budget: {} },
    { budget: { entriesPerDay: 1 } },
    { budget: { entriesPerDay: 0, bytesPerDay: 2_000 } },
  ])
    assert.deepEqual([(await put(body)).status], [422], JSON.stringify(body))
  const reader = await side.addAgent('reader')
  assert.equal((await put(whole, { key: reader.key })).status, 403)
  assert.equal((await put(whole, { headers: { 'idempotency-key': 'k' } })).status, 400)
  const unknown = await side.send('PUT', `/v1/peers/peer_01jegv5gyme05800000000000a/budget`, { body: whole })
  assert.equal(unknown.status, 404)

  const { status, body } = await put(whole)
  assert.equal(status, 200)
  assert.deepEqual(body.budget, {
    entries: { used: 0, perDay: 10 },
    bytes: { used: 0, perDay: 2_000 },
    resetsAt: null,
  })
  const { budget } = (await put({ budget: null })).body
  assert.deepEqual([budget.entries.perDay, budget.bytes.perDay], [1_000_000, 4_294_967_296])
})
