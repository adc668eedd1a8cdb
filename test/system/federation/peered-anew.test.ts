import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Agent,
  look,
  type Organisation,
  offer,
  peer,
  startOrganisations,
  untilBoth,
  untilPeer,
} from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'

async function order(home: Organisation, guest: Organisation, performer: Agent, id: string) {
  const share = [{ peer: id, documents: 'whole' }]
  const body = { type: 'task/1', payload: { do: 'it' }, performer: performer.remote, share }
  const made = await home.ask('POST', '/v1/records', { body })
  const record = { id: made.id as string, peer: id, home, guest, performer }
  await untilBoth(record, 'CREATED')
  return record
}

test('a peering after a revocation takes over records that the guest had not begun', async (t) => {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const first = await peer(home, guest)
  const performer = await guest.addAgent('performer')
  const waiting = await order(home, guest, performer, first)
  const begun = await order(home, guest, performer, first)
  await offer(begun, 'activate')
  await untilBoth(begun, 'ACTIVE')
  await home.ask('POST', `/v1/peers/${first}/revoke`, { body: { code: 'mistake' } })
  await untilPeer(guest, first, 'revoked')
  const second = await peer(home, guest)
  const shareAnew = ({ id }: { readonly id: string }) =>
    home.send('POST', `/v1/records/${id}/share`, { body: { share: [{ peer: second, documents: 'whole' }] } })

  const refused = await shareAnew(begun)
  assert.deepEqual([refused.status, refused.body.code], [409, 'state_conflict'])
  assert.match(refused.body.detail, /cancel the record, and create another one/)

  assert.equal((await shareAnew(waiting)).status, 200)
  await untilBoth(waiting, 'CREATED')
  // At first the guest has the record through the first peering, which has ended. The test waits until the record
  // arrives through the second peering.
  await until(async () => (await look(guest, waiting)).gated.share[0].peer === second)
  await offer(waiting, 'activate')
  await untilBoth(waiting, 'ACTIVE')
  const { drain } = await home.ask('GET', `/v1/peers/${second}`)
  assert.equal(drain.deadLetters, 0)
})
