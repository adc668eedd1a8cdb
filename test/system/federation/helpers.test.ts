import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  live,
  look,
  type Organisation,
  peer,
  registerDelivery,
  share,
  startOrganisations,
} from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'

test('organisations share nothing but loopback', async (t) => {
  const organisations = await startOrganisations(t, 2)
  const [a, b] = organisations as [Organisation, Organisation]
  const seen = []
  for (const organisation of organisations) {
    const keys = await organisation.sql<{ kid: string }>(
      "select encode(kid, 'hex') as kid from tallystick.server_keys where retired_at is null",
    )
    assert.equal(keys.length, 2, 'an envelope key and a note key')
    const { key } = await organisation.addAgent('clerk')
    const { id } = await organisation.ask('POST', '/v1/records', {
      key,
      body: { type: 'generic/1', payload: {} },
    })
    // A proof exists, so the worker is running and its work verifies.
    await until(async () => (await organisation.send('GET', `/v1/records/${id}/proof`)).status === 200)
    seen.push(organisation.ledger, organisation.url, ...keys.map(({ kid }) => kid))
  }
  assert.equal(new Set(seen).size, seen.length)
  assert.equal((await a.send('GET', '/v1/records', { key: b.admin.key })).status, 401)
})

test('API and worker of an organisation can be killed, and restart at the same address', async (t) => {
  const [organisation] = await startOrganisations(t, 1, { processes: true })
  const { url, publicUrl } = organisation!
  assert.equal(url, publicUrl)
  for (const part of ['api', 'worker'] as const) {
    await organisation!.kill(part)
    if (part === 'api') await assert.rejects(() => organisation!.send('GET', '/livez'))
    await organisation!.start(part)
    assert.equal((await organisation!.send('GET', '/livez')).status, 200)
  }
  const { id } = await organisation!.ask('POST', '/v1/records', { body: { type: 'generic/1', payload: {} } })
  await until(async () => (await organisation!.send('GET', `/v1/records/${id}/proof`)).status === 200)
})

test('two peered organisations take a record through its life', async (t) => {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const id = await peer(home, guest)
  await registerDelivery(home)
  const performer = await guest.addAgent('performer')
  const record = await share({ home, guest, peer: id, performer })
  const { state, gated } = await live(record)
  assert.deepEqual([state, gated.performer], ['ACCEPTED', performer.id], 'at home it has its own name')
  assert.equal((await look(home, record)).gated.performer, performer.remote)
})
