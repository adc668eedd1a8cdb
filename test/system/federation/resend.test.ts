import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  look,
  offer,
  peer,
  registerDelivery,
  share,
  startOrganisations,
  untilBoth,
} from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'

/**
 * Marks all entries as sent, although the peer lacks some of them. This state exists after the peer's restore from a
 * backup.
 */
const TAKE_ALL_FOR_SENT = `update tallystick.peer_cursors c set next_seq = h.size
  from tallystick.chain_heads h where h.ledger_id = c.ledger_id`

test('entries marked as sent that a peer lacks are sent again after a reconciliation', async (t) => {
  const [home, guest] = await startOrganisations(t, 2)
  const peering = await peer(home!, guest!)
  await registerDelivery(home!)
  const performer = await guest!.addAgent('carrier')
  const about = { home: home!, guest: guest!, peer: peering, performer }
  const known = await share(about)
  await untilBoth(known, 'CREATED')

  await home!.ask('POST', `/v1/peers/${peering}/suspend`, { body: {} })
  const lacked = await share(about)
  await home!.ask('POST', `/v1/records/${known.id}/cancel`, { body: { reason: 'too late' } })
  await home!.sql(TAKE_ALL_FOR_SENT)
  await home!.ask('POST', `/v1/peers/${peering}/resume`, { body: {} })
  // Later entries of the record are answered `missing`, so they are not stored.
  const later = await share(about)
  await untilBoth(later, 'CREATED')
  assert.equal(await look(guest!, lacked), null)
  assert.equal((await look(guest!, known)).state, 'CREATED')

  await home!.ask('POST', `/v1/peers/${peering}/reconciliation`, { body: {} })
  await untilBoth(lacked, 'CREATED')
  await untilBoth(known, 'CANCELLED')

  // The home also lacks an offer, because the guest has marked the offer as sent without sending it.
  await guest!.sql("update tallystick.peer_cursors set resume_at = now() + interval '1 hour'")
  await offer(lacked, 'activate')
  await guest!.sql(TAKE_ALL_FOR_SENT)
  await guest!.sql('update tallystick.peer_cursors set resume_at = null')
  await guest!.ask('POST', `/v1/peers/${peering}/reconciliation`, { body: {} })
  await untilBoth(lacked, 'ACTIVE')
  const { drain } = await home!.ask('GET', `/v1/peers/${peering}`)
  assert.deepEqual([drain.deadLetters, drain.forks, drain.lastError], [0, 0, null])
  await until(async () => (await home!.ask('GET', `/v1/peers/${peering}/reconciliation`)).reconciled)
})

test('a record shared after its creation is sent with its share first, whatever the peer lacks', async (t) => {
  const [home, guest] = await startOrganisations(t, 2)
  const peering = await peer(home!, guest!)
  const create = async () =>
    (await home!.ask('POST', '/v1/records', { body: { type: 'task/1', payload: { deliver: 'boxes' } } })).id
  const shareLater = (id: string) =>
    home!.ask('POST', `/v1/records/${id}/share`, { body: { share: [{ peer: peering, documents: 'whole' }] } })
  const reconcile = () => home!.ask('POST', `/v1/peers/${peering}/reconciliation`, { body: {} })

  // The two sides are compared while the entry that shares the record waits to be sent.
  const early = await create()
  await home!.sql("update tallystick.peer_cursors set resume_at = now() + interval '1 hour'")
  await shareLater(early)
  await home!.sql(`update tallystick.peer_cursors c set next_seq = s.shared_seq, summary_wanted = true, resume_at = null
    from tallystick.shared_records s where s.ledger_id = c.ledger_id and s.peer_id = c.peer_id`)
  const of = { home: home!, guest: guest!, peer: peering, performer: null as never }
  await untilBoth({ ...of, id: early }, 'CREATED')

  // The peer has lost the entry that shares the record, as after a restore from a backup.
  const lost = await create()
  await home!.sql("update tallystick.peer_cursors set resume_at = now() + interval '1 hour'")
  await shareLater(lost)
  await home!.sql(TAKE_ALL_FOR_SENT)
  await home!.sql('update tallystick.peer_cursors set resume_at = null')
  await reconcile()
  await untilBoth({ ...of, id: lost }, 'CREATED')

  // The peer has lost the entry that shares the record. This is found when the record's next step is sent.
  const stepped = await create()
  await home!.sql("update tallystick.peer_cursors set resume_at = now() + interval '1 hour'")
  await shareLater(stepped)
  await home!.sql(TAKE_ALL_FOR_SENT)
  await home!.ask('POST', `/v1/records/${stepped}/cancel`, { body: { reason: 'too late' } })
  await home!.sql('update tallystick.peer_cursors set resume_at = null')
  await untilBoth({ ...of, id: stepped }, 'CANCELLED')

  const { drain } = await home!.ask('GET', `/v1/peers/${peering}`)
  assert.deepEqual([drain.deadLetters, drain.forks, drain.lastError], [0, 0, null])
})
