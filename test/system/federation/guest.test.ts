import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { database } from '../../../src/verify/database.ts'
import { exportFile } from '../../../src/verify/export-file.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import {
  look,
  type Organisation,
  offer,
  peer,
  registerDelivery,
  type SharedRecord,
  share,
  startOrganisations,
  take,
  untilBoth,
} from '../../helpers/federation.ts'
import { DELIVERY, PASSING, PAYLOAD } from '../../helpers/gated-app.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'

const ERASE = { body: { code: 'data_subject_request' } }

async function meet(t: TestContext) {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const id = await peer(home, guest)
  await registerDelivery(home)
  const performer = await guest.addAgent('performer')
  return { home, guest, peer: id, performer }
}

async function untilOffer(record: SharedRecord, state: string) {
  await until(async () => (await look(record.guest, record)).gated.offer.state === state, 20_000)
  return look(record.guest, record)
}

async function assertVerifies(side: Organisation): Promise<void> {
  const file = join(temporaryDir(), 'export.ndjson')
  writeFileSync(file, (await side.send('GET', '/v1/export')).body)
  for (const source of [exportFile(file), database(side.database.superuserUrl, side.ledger)])
    assert.equal((await verifyLedger(source, { threads: 1 })).failure, null, side.name)
}

test('a guest performs a record that another ledger has shared', async (t) => {
  const parties = await meet(t)
  const { home, guest, performer } = parties
  const principal = home.admin.remote
  const record = await share(parties, { maxRevisions: 2 })
  await untilBoth(record, 'CREATED')

  await t.test('the guest shows the record as its home does, except for the names of agents', async () => {
    const [there, here] = [await look(home, record), await look(guest, record)]
    const { actor, entry, gated, ...others } = there
    const { actor: seenActor, entry: seenEntry, gated: seenGated, ...seen } = here
    assert.deepEqual(seen, others)
    assert.deepEqual([actor, seenActor], [home.admin.id, principal])
    assert.notDeepEqual(seenEntry, entry)
    assert.deepEqual(seenGated, { ...gated, principal, performer: performer.id })
    assert.equal(gated.performer, performer.remote)
  })

  await t.test('both sides list the record', async () => {
    const summary = {
      id: record.id,
      documents: 'whole',
      type: 'delivery/1',
      state: 'CREATED',
      version: 1,
      offer: null,
    }
    for (const [side, role] of [
      [home, 'home'],
      [guest, 'guest'],
    ] as const) {
      const { data } = await side.ask('GET', `/v1/peers/${record.peer}/records`)
      assert.deepEqual(data, [{ role, ...summary }])
    }
    const { typeDefinition } = await guest.ask('GET', `/v1/peers/${record.peer}/records/${record.id}`)
    assert.deepEqual(typeDefinition, DELIVERY)
  })

  await t.test('steps are offers; evidence of a refused offer is erased at the guest', async () => {
    await offer(record, 'activate')
    await untilBoth(record, 'ACTIVE')
    const { body } = await offer(record, 'completions', { evidence: { quantity: 'none of the type' } })
    const { completion } = body.gated.offer
    const refused = await untilOffer(record, 'refused')
    assert.deepEqual([refused.state, refused.gated.offer.code], ['ACTIVE', 'evidence_invalid'])
    await guest.ask('DELETE', `/v1/records/${record.id}/completions/${completion}/evidence`, ERASE)
  })

  await t.test(
    'evidence of a taken offer is erased at the guest only after its home has erased it',
    async () => {
      const { body } = await offer(record, 'completions')
      const { completion } = body.gated.offer
      const url = `/v1/records/${record.id}/completions/${completion}/evidence`
      await untilBoth(record, 'VERIFIED')
      const shown = await look(guest, record)
      assert.deepEqual([shown.gated.completion.id, shown.gated.completion.evidence], [completion, PASSING])
      assert.equal(shown.gated.completion.by, performer.id)
      assert.equal((await look(home, record)).gated.completion.by, performer.remote)
      const kept = await guest.send('DELETE', url, ERASE)
      assert.deepEqual([kept.status, kept.body.code], [409, 'not_home'])
      await home.ask('DELETE', url, ERASE)
      await until(async () => (await look(guest, record)).gated.completion.evidence === null, 20_000)
      await guest.ask('DELETE', url, ERASE)
      await until(async () => {
        const left = await guest.sql('select from tallystick.documents where content is not null')
        return left.length === 0
      }, 20_000)
    },
  )

  await t.test('only the principal judges; the guest’s attempts get 409 not_home', async () => {
    const before = await look(guest, record)
    assert.deepEqual(before.nextEvents, ['verdict-rendered', 'revision-requested'])
    for (const [step, body] of [
      ['verdict', { verdict: 'accept' }],
      ['revision', { reason: 'no' }],
      ['cancel', { reason: 'no' }],
    ] as const) {
      const { status, body: problem } = await guest.send('POST', `/v1/records/${record.id}/${step}`, { body })
      assert.deepEqual([status, problem.code, problem.ledger], [409, 'not_home', home.ledger])
    }
    await take(record, 'verdict', { verdict: 'accept', reason: 'well done' })
    const { gated } = await untilBoth(record, 'ACCEPTED')
    assert.deepEqual([gated.verdict.by, gated.verdict.reason], [principal, 'well done'])
    assert.deepEqual(gated.share, [{ peer: record.peer, documents: 'whole' }])
  })

  await t.test('the chains of both sides verify', async () => {
    for (const side of [home, guest]) await assertVerifies(side)
    const { data } = await guest.ask('GET', `/v1/records/${record.id}/entries`)
    const there = await home.ask('GET', `/v1/records/${record.id}/entries`)
    assert.deepEqual(
      data.map(({ received }: { received: string }) => received),
      there.data.map(({ envelope }: { envelope: string }) => envelope),
    )
  })
})

test('a guest that gets only digests has the evidence of its own agents', async (t) => {
  const parties = await meet(t)
  const { home, guest } = parties
  const record = await share({ ...parties, documents: 'digests' })
  await untilBoth(record, 'CREATED')
  assert.equal((await look(guest, record)).payload, null)
  assert.deepEqual((await look(home, record)).payload, PAYLOAD)
  await offer(record, 'activate')
  await untilBoth(record, 'ACTIVE')
  const { body } = await offer(record, 'completions')
  await untilBoth(record, 'VERIFIED')
  const { gated } = await look(guest, record)
  assert.deepEqual([gated.completion.evidence, gated.verification.values], [PASSING, null])
  const url = `/v1/records/${record.id}/completions/${body.gated.offer.completion}/evidence`
  const { erasure } = await guest.ask('DELETE', url, ERASE)
  const { completion } = (await look(guest, record)).gated
  assert.deepEqual([completion.evidence, completion.erasedBy], [null, erasure.entry.seq])
  assert.deepEqual((await look(home, record)).gated.completion.evidence, PASSING)
  for (const side of [home, guest]) await assertVerifies(side)
})

test('a suspended peering takes no offers; after its end shared records stay readable', async (t) => {
  const parties = await meet(t)
  const { guest } = parties
  const record = await share(parties)
  await untilBoth(record, 'CREATED')
  const activate = () =>
    guest.send('POST', `/v1/records/${record.id}/activate`, { key: parties.performer.key, body: {} })
  for (const change of ['suspend', 'revoke']) {
    await guest.ask('POST', `/v1/peers/${record.peer}/${change}`, { body: {} })
    const { status, body } = await activate()
    assert.deepEqual([status, body.code], [409, 'peer_not_active'])
    if (change === 'suspend') await guest.ask('POST', `/v1/peers/${record.peer}/resume`, { body: {} })
  }
  assert.equal((await look(guest, record)).state, 'CREATED')
  await assertVerifies(guest)
})
