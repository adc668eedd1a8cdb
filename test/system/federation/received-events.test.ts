import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whatOf } from '../../../cli/event-text.ts'
import { webhookEvent } from '../../../src/http/schemas/events.ts'
import { fromBase64, toHex } from '../../../src/proof/bytes.ts'
import { leafHash } from '../../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import {
  live,
  type Organisation,
  offer,
  peer,
  registerDelivery,
  share,
  startOrganisations,
  take,
  untilBoth,
} from '../../helpers/federation.ts'
import { until } from '../../helpers/wait.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Told = any

async function events(side: Organisation, query: string, key = side.admin.key): Promise<Told[]> {
  return (await side.ask('GET', `/v1/events?limit=200&${query}`, { key })).data
}

const received = (side: Organisation, key?: string) => events(side, 'events=entry.received', key)
const kindsOf = (told: Told[]): string[] => told.map(({ data }) => data.received.kind)

test('entries received from a peer are events', async (t) => {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const id = await peer(home, guest)
  await registerDelivery(home)
  const [performer, stranger] = await Promise.all(
    ['performer', 'stranger'].map((name) => guest.addAgent(name, ['records:write', 'records:read:own'])),
  )
  const hook = await startReceiver()
  t.after(async () => void (await hook.close()))
  const include = ['envelope', 'documents']
  const body = { url: hook.url, events: ['entry.received'], types: ['delivery'], include }
  await guest.ask('POST', '/v1/webhooks', { body })
  const record = await share({ home, guest, peer: id, performer: performer! })
  await live(record)
  const STEPS = [
    ['record-created', 'CREATED', 1],
    ['record-activated', 'ACTIVE', 2],
    ['completion-submitted', 'SUBMITTED', 3],
    ['completion-verified', 'VERIFIED', 4],
    ['verdict-rendered', 'ACCEPTED', 5],
  ]
  const stepOf = ({ data }: Told) => [data.received.kind, data.record.state, data.record.version]

  await t.test('the guest gets each step of the home, with the new state of the record', async () => {
    const told = await received(guest)
    assert.deepEqual(told.map(stepOf), STEPS)
    for (const { data } of told) {
      assert.deepEqual([data.ledger, data.peer, data.received.ledger], [guest.ledger, id, home.ledger])
      assert.deepEqual([data.record.id, data.record.type], [record.id, 'delivery/1'])
      assert.deepEqual([data.entry.kind, data.predicate.received], ['entry-received', data.received])
      assert.equal(data.envelope, undefined)
    }
    const { data } = await home.ask('GET', `/v1/records/${record.id}/entries`)
    assert.deepEqual(
      told.map(({ data: { received } }) => [received.seq, received.leaf]),
      data.map(({ seq, leaf }: Told) => [seq, leaf]),
    )
  })

  await t.test('an endpoint gets them in order, with both envelopes', async () => {
    await until(async () => hook.received.length === STEPS.length, 20_000)
    assert.deepEqual(
      hook.received.map(({ event }) => stepOf(event)),
      STEPS,
    )
    const leafOf = (envelope: string) => toHex(leafHash(nativeProviders.sha256, fromBase64(envelope)))
    for (const { event } of hook.received) {
      assert.deepEqual(webhookEvent.parse(event), event)
      const { envelope, receivedEnvelope, entry, received, documents } = event.data
      assert.deepEqual([leafOf(envelope), leafOf(receivedEnvelope)], [entry.leaf, received.leaf])
      assert.deepEqual(documents, [])
    }
  })

  await t.test('the home gets peer-added, and steps of the guest’s agent under their own kinds', async () => {
    const told = await received(home)
    assert.deepEqual(
      told.map(({ data }) => [data.received.kind, data.record, data.peer]),
      [['peer-added', null, id]],
    )
    assert.equal(whatOf(told[0]), `${id} peer-added`)
    assert.equal(whatOf((await received(guest))[0]), `${id} record-created ${record.id}`)
    const taken = await events(home, 'events=record.activated,completion.submitted')
    assert.deepEqual(
      taken.map(({ data: { predicate } }) => [predicate.actor, predicate.offer.peer, predicate.offer.ledger]),
      [performer!.remote, performer!.remote].map((actor) => [actor, id, guest.ledger]),
    )
  })

  await t.test('a filter by type matches the record’s type, and events without a type always', async () => {
    const of = async (side: Organisation, type: string) =>
      kindsOf(await events(side, `events=entry.received&types=${type}`))
    assert.equal((await of(guest, 'delivery/1')).length, STEPS.length)
    assert.deepEqual(await of(guest, 'generic'), [])
    assert.deepEqual(await of(home, 'generic'), ['peer-added'])
  })

  await t.test(
    'an agent that reads its own records gets those that it performs or has an offer for',
    async () => {
      assert.deepEqual((await received(guest, performer!.key)).map(stepOf), STEPS)
      assert.deepEqual(await received(guest, stranger!.key), [])
      const open = await share({ home, guest, peer: id, performer: null })
      await untilBoth(open, 'CREATED')
      assert.deepEqual(await received(guest, stranger!.key), [])
      await offer({ ...open, performer: stranger! }, 'activate')
      await until(async () => (await received(guest, stranger!.key)).length > 0)
    },
  )

  await t.test('both sides get the refusal of an offer', async () => {
    const raced = await share({ home, guest, peer: id, performer: performer! })
    await untilBoth(raced, 'CREATED')
    await guest.stop('worker')
    await offer(raced, 'activate')
    await take(raced, 'cancel', { reason: 'no longer needed' })
    await guest.start('worker')
    const about = async (side: Organisation) =>
      (await received(side)).filter(({ data }) => data.record?.id === raced.id)
    await until(async () => (await about(guest)).length === 3, 20_000)
    const [answered] = await about(home)
    assert.deepEqual(
      [answered.data.entry.kind, answered.data.received.kind, answered.data.predicate.code],
      ['offer-refused', 'step-offered', 'state_conflict'],
    )
    assert.deepEqual(answered.data.record, { id: raced.id, type: 'delivery/1', state: null, version: null })
    assert.deepEqual(kindsOf(await about(guest)).sort(), [
      'offer-refused',
      'record-cancelled',
      'record-created',
    ])
  })

  await t.test('the guest gets the key rotation of the peer’s ledger', async () => {
    await home.rotateKey()
    const rotated = async () =>
      (await received(guest)).find(({ data }) => data.entry.kind === 'peer-key-rotated')
    await until(async () => (await rotated()) !== undefined, 20_000)
    const { data } = await rotated()
    assert.deepEqual([data.peer, data.received.kind, data.record], [id, 'server-key-rotated', null])
    assert.equal(data.predicate.newKey.alg, 'EdDSA')
  })

  await t.test('a stored entry that was changed answers 500 integrity_fault', async () => {
    const swap = `begin; set local session_replication_role = replica;
      update tallystick.received_entries r set envelope = o.envelope, leaf = o.leaf
      from tallystick.received_entries o where r.version = 2 and o.version = 3 and o.record_id = r.record_id; commit`
    await guest.sql(swap)
    const { status, body } = await guest.send('GET', '/v1/events?events=entry.received&limit=1')
    assert.deepEqual([status, body.data?.length], [200, 1])
    const next = await guest.send('GET', `/v1/events?events=entry.received&cursor=${body.nextCursor}`)
    assert.deepEqual([next.status, next.body.code], [500, 'integrity_fault'])
  })
})
