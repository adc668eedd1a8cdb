import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  live,
  type Organisation,
  peer,
  registerDelivery,
  share,
  startOrganisations,
} from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'
import { sampleOf } from '../../observe/metrics/exposition.ts'
import type { PartName } from '../deployment/part.ts'

const PATIENCE_MS = 30_000

test('metrics of servers and workers count what peers exchange, and what waits', async (t) => {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const id = await peer(home, guest)
  await registerDelivery(home)
  const performer = await guest.addAgent('performer')
  const figure = async (
    side: Organisation,
    part: PartName,
    name: string,
    labels: Record<string, string> = {},
  ) => sampleOf(await side.metrics.get(part)!.registry.metrics(), `tallystick_${name}`, labels)
  const reaches = (is: (value: number) => boolean, ...of: Parameters<typeof figure>) =>
    until(async () => is(await figure(...of)), PATIENCE_MS).catch(async (cause) => {
      throw new Error(`${of.slice(1, 3).join(' ')} is ${await figure(...of)}`, { cause })
    })
  const zero = (value: number) => value === 0
  const one = (value: number) => value === 1

  await t.test('entries, requests and offers, at both ends', async () => {
    await live(await share({ home, guest, peer: id, performer }))
    await reaches(zero, guest, 'worker', 'peer_lag_entries', { state: 'active' })
    await reaches(zero, guest, 'worker', 'peer_offers_pending')
    const ended = { outcome: 'received' }
    // The guest sent three entries: the peer-added of the invited side, and the two offers.
    await reaches((count) => count === 3, guest, 'worker', 'peer_entries_sent_total', ended)
    await reaches((count) => count === 3, home, 'api', 'peer_entries_received_total', ended)
    // The home sent five entries, from record-created to the verdict.
    await reaches((count) => count === 5, home, 'worker', 'peer_entries_sent_total', ended)
    assert.ok((await figure(home, 'worker', 'peer_request_duration_seconds_count')) > 0)
    assert.equal(await figure(home, 'worker', 'peers', { state: 'active' }), 1)
    assert.equal(await figure(home, 'worker', 'peers_failing'), 0)
    assert.equal(await figure(home, 'api', 'peer_inbox_waiting'), 0)
    assert.equal(await figure(home, 'api', 'peer_entries_refused_total', { code: 'fork' }), 0)
  })

  await t.test('a peer that does not answer: the reason, and how far behind', async () => {
    await guest.stop('api')
    await share({ home, guest, peer: id, performer })
    await reaches(one, home, 'worker', 'peers_failing')
    assert.ok(
      (await figure(home, 'worker', 'peer_request_failures_total', { reason: 'connect_failed' })) >= 1,
    )
    await reaches((seconds) => seconds > 0, home, 'worker', 'peers_failing_seconds')
    assert.equal(await figure(home, 'worker', 'peers_behind'), 1)
    assert.ok((await figure(home, 'worker', 'peers_waiting')) <= 1)
    for (const name of ['peer_lag_entries', 'peer_lag_furthest_entries', 'peer_lag_seconds'])
      assert.ok((await figure(home, 'worker', name, { state: 'active' })) > 0, name)
  })

  await t.test('a suspended peer is not counted as failing, on either side', async () => {
    await guest.start('api')
    await guest.ask('POST', `/v1/peers/${id}/suspend`, { body: {} })
    await share({ home, guest, peer: id, performer })
    const reason = { reason: 'peer_suspended' }
    await reaches((count) => count >= 1, home, 'worker', 'peer_request_failures_total', reason)
    await reaches(zero, home, 'worker', 'peers_failing')
    await reaches((entries) => entries > 0, guest, 'worker', 'peer_lag_entries', { state: 'suspended' })
    assert.equal(await figure(guest, 'worker', 'peers', { state: 'suspended' }), 1)
    await guest.ask('POST', `/v1/peers/${id}/resume`, { body: {} })
  })

  await t.test(
    'dead letters are counted until a revocation, and a fork without the peer’s signature never',
    async () => {
      await home.sql(`insert into tallystick.peer_dead_letters (ledger_id, peer_id, seq, kind, code)
      select ledger_id, peer_id, 0, 'record-created', 'fork' from tallystick.peers`)
      await home.sql(`insert into tallystick.peer_forks (ledger_id, peer_id, leaf, remote_seq, held_leaf, envelope)
      select ledger_id, peer_id, sha256('one'), 7, sha256('other'), 'x' from tallystick.peers`)
      assert.equal(await figure(home, 'worker', 'peer_dead_letters'), 1)
      await home.ask('POST', `/v1/peers/${id}/revoke`, { body: {} })
      assert.equal(await figure(home, 'worker', 'peer_dead_letters'), 0)
      assert.equal(await figure(home, 'worker', 'peer_forks'), 0)
      assert.equal(await figure(home, 'worker', 'peers', { state: 'revoked' }), 1)
    },
  )
})
