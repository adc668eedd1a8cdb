import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Organisation } from '../../helpers/federation.ts'
import { makeId, type TestLine } from '../../helpers/test-chain.ts'
import {
  appendingOf,
  lookAtVictims,
  Mallory,
  meetMallory,
  offering,
  toSent,
  type VictimsRecord,
} from './mallory.ts'
import { unchanged, verifyOwnExport } from './unchanged.ts'

async function createShared({ victim, peer, chain }: Mallory, terms: object = {}): Promise<VictimsRecord> {
  const { id } = await victim.ask('POST', '/v1/records', {
    body: {
      type: 'task/1',
      payload: {},
      performer: `${chain.ledger}/${chain.agent}`,
      share: [{ peer, documents: 'whole' }],
      ...terms,
    },
  })
  return lookAtVictims(victim, id)
}

const recordOf = (victim: Organisation, id: string) => victim.ask('GET', `/v1/records/${id}`)

async function answersOf(mallory: Mallory, lines: readonly TestLine[]): Promise<string[]> {
  const outcomes = await mallory.outcomes(lines)
  return outcomes.map(({ outcome, code, envelope }) => {
    if (outcome !== 'received') return code ?? outcome
    const { kind, predicate } = appendingOf({ envelope, documents: [] })
    return `${predicate['code'] ?? kind}`
  })
}

test('an offer that the performer may not make is refused by a signed entry', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const record = await createShared(mallory)
  const refusedWith = async (line: TestLine, code: string, of = record) => {
    const before = await recordOf(victim, of.id)
    assert.deepEqual(await answersOf(mallory, [line]), [code])
    assert.deepEqual(await recordOf(victim, of.id), before)
  }
  const offer = (
    changes: object = {},
    step: Parameters<typeof offering>[2] = 'record-activated',
    of = record,
  ) => offering(mallory, of, step, changes)
  const other = makeId('agt')
  mallory.chain.registerAgent(other)

  await refusedWith(offer({ onBehalfOf: other }), 'not_entitled')
  await refusedWith(offer({}, 'completion-submitted'), 'state_conflict')
  await refusedWith(offer({ previous: 'ab'.repeat(32) }), 'state_conflict')
  await refusedWith(offer({ version: 3 }), 'state_conflict')
  const own = await createShared(mallory, { performer: (await victim.addAgent('own')).id })
  await refusedWith(offer({}, 'record-activated', own), 'not_entitled', own)
  const cancelled = await createShared(mallory)
  await victim.ask('POST', `/v1/records/${cancelled.id}/cancel`, { body: { reason: 'not needed' } })
  await refusedWith(offer({}, 'record-activated', cancelled), 'state_conflict', cancelled)

  await t.test(
    'of two offers for one version the first is taken, and the other gets state_conflict',
    async () => {
      const two = [offer(), offer()]
      assert.deepEqual(await answersOf(mallory, two), ['record-activated', 'state_conflict'])
      const again = await unchanged(victim, () => answersOf(mallory, two))
      assert.deepEqual(again, ['record-activated', 'state_conflict'])
    },
  )
  await t.test('evidence must match its digest and type, and a chosen completion id is refused', async () => {
    const active = await lookAtVictims(victim, record.id)
    const line = offer({}, 'completion-submitted', active)
    const { document, ...alone } = toSent(line)
    for (const [sent, code] of [
      [alone, 'document_presence'],
      [{ ...alone, document: { ...document, document: { quantity: 7 } } }, 'document_digest'],
    ] as const) {
      const [outcome] = await unchanged(victim, () => mallory.outcomes([sent]))
      assert.deepEqual([outcome.outcome, outcome.code], ['refused', code])
    }
    const erased = { ...alone, document: { ...document, salt: null, document: null } }
    assert.deepEqual(await answersOf(mallory, [erased as never]), ['evidence_invalid'])
    const named = makeId('cmp')
    const chosen = offer({ completion: named }, 'completion-submitted', active)
    const [outcome] = await unchanged(victim, () => mallory.outcomes([chosen]))
    assert.equal(outcome.outcome, 'refused')
  })
  await t.test(
    'an offered verdict, verification or cancellation is refused with statement_predicate',
    async () => {
      const active = await lookAtVictims(victim, record.id)
      for (const step of [
        'verdict-rendered',
        'completion-verified',
        'record-cancelled',
        'revision-requested',
      ]) {
        const [outcome] = await unchanged(victim, async () => {
          const line = offer({ step }, 'record-activated', active)
          return mallory.outcomes([line])
        })
        assert.deepEqual([outcome.outcome, outcome.code], ['refused', 'statement_predicate'])
      }
    },
  )
  await verifyOwnExport(victim)
})

test('if the principal cancels while the performer delivers, one step wins or both apply', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  for (let round = 0; round < 12; round++) {
    const created = await createShared(mallory)
    assert.deepEqual(await answersOf(mallory, [offering(mallory, created, 'record-activated')]), [
      'record-activated',
    ])
    const active = await lookAtVictims(victim, created.id)
    const line = offering(mallory, active, 'completion-submitted')
    const [[answer], cancelled] = await Promise.all([
      answersOf(mallory, [line]),
      victim.send('POST', `/v1/records/${created.id}/cancel`, { body: { reason: 'not needed' } }),
    ])
    const { state } = await recordOf(victim, created.id)
    if (cancelled.status === 200 && answer === 'completion-submitted') {
      // Both the offered completion and the cancellation succeeded, because a record with a submitted completion can
      // still be cancelled.
      assert.equal(state, 'CANCELLED')
    } else if (cancelled.status === 200) {
      assert.deepEqual([answer, state], ['state_conflict', 'CANCELLED'])
    } else {
      assert.deepEqual([answer, cancelled.status], ['completion-submitted', 409])
    }
  }
  await verifyOwnExport(victim)
})

test('a peer can attribute to the victim’s agents only steps that they have offered', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, chain, peer } = mallory
  const worker = await victim.addAgent('worker')
  const idle = await victim.addAgent('idle')
  const refuses = async (line: TestLine, code: string) => {
    const [outcome] = await unchanged(victim, () => mallory.outcomes([line]))
    assert.deepEqual([outcome.outcome, outcome.code], ['refused', code], outcome.detail)
  }
  const by = (offer: object | undefined, actor = worker.remote) => ({
    ...chain.system(),
    actor,
    key: undefined,
    offer,
  })
  const refusal = (offer: Offered, record: string) => {
    const { ledger, seq, leaf } = offer
    const received = { ledger, seq, leaf, kind: 'step-offered', record, version: null }
    return chain.append({
      kind: 'offer-refused',
      subjects: [{ name: `${ledger}/${seq}`, sha256: leaf }],
      predicate: { ...chain.system(), peer, record, code: 'state_conflict', received },
    })
  }
  const sent = async (terms: object = { performer: worker.remote }) => {
    const gated = mallory.record(terms)
    await mallory.take([gated.last()])
    return gated
  }
  const offered = async (terms?: object) => {
    const gated = await sent(terms)
    const path = `/v1/records/${gated.record}`
    const { status, body } = await victim.send('POST', `${path}/activate`, { key: worker.key, body: {} })
    assert.equal(status, 202, JSON.stringify(body))
    return { gated, offer: await newestOffer(mallory) }
  }

  await t.test('a step that they never offered', async () => {
    const invented = { peer, ledger: victim.ledger, seq: 3, leaf: 'ab'.repeat(32) }
    await refuses((await sent()).activate(by(invented)), 'offer_unknown')
    await refuses((await sent()).activate(by(undefined)), 'statement_predicate')
    await refuses(refusal(invented, (await sent()).record), 'offer_unknown')
    await refuses((await sent()).cancel({ actor: worker.remote, key: undefined }), 'statement_predicate')
  })
  await t.test('an offer for another record, or by another agent', async () => {
    const { gated, offer } = await offered()
    await refuses((await sent()).activate(by(offer)), 'offer_unknown')
    await refuses(refusal(offer, (await sent()).record), 'offer_unknown')
    const open = await offered({ performer: undefined })
    await refuses(open.gated.activate(by(open.offer, idle.remote)), 'offer_mismatch')
    await mallory.take([gated.activate(by(offer))])
  })
  await t.test('a second answer to one offer is refused with offer_answered_twice', async () => {
    const { gated, offer } = await offered()
    await mallory.take([gated.activate(by(offer))])
    const { offer: shown } = (await recordOf(victim, gated.record)).gated
    assert.equal(shown.state, 'taken')
    await refuses(refusal(offer, gated.record), 'offer_answered_twice')
    await refuses(gated.submit(by(offer)), 'offer_answered_twice')

    const other = await offered()
    await mallory.take([refusal(other.offer, other.gated.record)])
    await refuses(refusal(other.offer, other.gated.record), 'offer_answered_twice')
    await refuses(other.gated.activate(by(other.offer)), 'offer_answered_twice')
    const twice = await offered()
    const both = [refusal(twice.offer, twice.gated.record), twice.gated.activate(by(twice.offer))]
    const outcomes = await mallory.outcomes(both)
    assert.deepEqual(
      outcomes.map(({ outcome, code }) => code ?? outcome),
      ['received', 'offer_answered_twice'],
    )
  })
  await t.test('a third ledger’s claim to a record does not replace the first record', async () => {
    const gated = await sent()
    const thief = await Mallory.meet(t, victim)
    await thief.take([thief.record({ performer: worker.remote }, { record: gated.record }).last()])
    const about = await victim.send('GET', `/v1/records/${gated.record}`)
    assert.deepEqual([about.status, about.body.ledger], [200, mallory.chain.ledger])
    await mallory.take([gated.cancel()])
    await victim.ask('POST', `/v1/peers/${thief.peer}/revoke`, { body: {} })
    assert.equal((await recordOf(victim, gated.record)).state, 'CANCELLED')
  })
  await verifyOwnExport(victim)
})

type Offered = {
  readonly peer: string
  readonly ledger: string
  readonly seq: number
  readonly leaf: string
}

async function newestOffer({ victim, peer }: Mallory): Promise<Offered> {
  const [row] = await victim.sql<{ seq: string; leaf: string }>(
    `select seq, encode(leaf, 'hex') as leaf from tallystick.offers order by seq desc limit 1`,
  )
  return { peer, ledger: victim.ledger, seq: Number(row!.seq), leaf: row!.leaf }
}
