import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { PAYLOAD, type StepOptions, sharedGatedApp } from '../helpers/gated-app.ts'
import { digestOf } from '../helpers/open-envelope.ts'

const HOUR_MS = 3_600_000
const inAnHour = () => new Date(Date.now() + HOUR_MS).toISOString()

test('POST /v1/records with a gated type', async (t) => {
  const app = await sharedGatedApp()
  const { principal, performer, stranger, gateway } = app.agents
  const post = (body: object, { as = 'principal', headers = {} }: Omit<StepOptions, 'body'> = {}) =>
    app.send('POST', '/v1/records', {
      key: typeof as === 'string' ? app.agents[as].key : as.key,
      body: { type: 'delivery/1', payload: PAYLOAD, ...body },
      headers,
    })
  async function assertRefused(body: object, status: number, code: string, options = {}) {
    const before = await app.written()
    const problem = assertProblem(await post(body, options), status, code)
    assert.deepEqual(await app.written(), before)
    return problem
  }

  await t.test('answers the record, member for member, with its terms', async () => {
    const deadline = inAnHour()
    const terms = { gate: 'auto', deadline, maxRevisions: 0, tolerances: { quantity: { percent: '7.5' } } }
    const parent = await app.notarize()
    const response = await post({
      ...terms,
      performer: performer.id,
      salt: 'XaGvK-1McJRNX-agVfElbQ',
      metadata: { note: 'unsigned' },
      occurredAt: '2026-11-19T08:30:00Z',
      parent: parent.id,
      references: ['order:4711'],
    })
    assert.equal(expectStatus(201, response).headers['etag'], '"1"')
    const { id, recordedAt, entry, ...record } = response.json()
    assert.match(id, /^rec_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    assert.ok(Math.abs(Date.parse(recordedAt) - Date.now()) < 5_000)
    assert.equal(entry.kind, 'record-created')
    assert.deepEqual(record, {
      ledger: app.ledger.ledger.id,
      type: 'delivery/1',
      state: 'CREATED',
      version: 1,
      nextEvents: ['record-activated', 'record-cancelled', 'record-expired'],
      payload: PAYLOAD,
      salt: 'XaGvK-1McJRNX-agVfElbQ',
      digest: digestOf('XaGvK-1McJRNX-agVfElbQ', PAYLOAD),
      actor: principal.id,
      key: app.ledger.key.id,
      onBehalfOf: null,
      parent: parent.id,
      references: ['order:4711'],
      occurredAt: '2026-11-19T08:30:00.000Z',
      batch: null,
      metadata: { note: 'unsigned' },
      erasure: null,
      gated: {
        principal: principal.id,
        performer: performer.id,
        ...terms,
        revisions: 0,
        completion: null,
        verification: null,
        verdict: null,
        overturn: null,
        revision: null,
        cancellation: null,
        share: null,
        offer: null,
      },
    })
    assert.deepEqual(await app.get(id), response.json())
  })

  await t.test(
    'needs only a payload; defaults: gate principal, open performer, three revisions, no deadline',
    async () => {
      const { gated } = expectStatus(201, await post({})).json()
      const {
        principal: by,
        performer: performs,
        gate,
        deadline,
        maxRevisions,
        revisions,
        tolerances,
      } = gated
      assert.deepEqual(
        { by, performs, gate, deadline, maxRevisions, revisions, tolerances },
        {
          by: principal.id,
          performs: null,
          gate: 'principal',
          deadline: null,
          maxRevisions: 3,
          revisions: 0,
          tolerances: null,
        },
      )
    },
  )

  await t.test('accepts task/1 with any object, in every ledger', async () => {
    const elsewhere = await app.newLedger()
    const response = await app.send('POST', '/v1/records', {
      key: elsewhere.key.key,
      body: { type: 'task/1', payload: { anything: [1, { goes: null }] } },
    })
    assert.equal(expectStatus(201, response).json().state, 'CREATED')
  })

  await t.test('takes the agent of onBehalfOf as principal', async () => {
    const record = expectStatus(201, await post({ onBehalfOf: stranger.id }, { as: 'gateway' })).json()
    assert.deepEqual(
      [record.actor, record.onBehalfOf, record.gated.principal],
      [gateway.id, stranger.id, stranger.id],
    )
  })

  await t.test('refuses a performer that is the principal, also through a gateway', async () => {
    for (const [as, body] of [
      ['principal', { performer: principal.id }],
      ['gateway', { performer: gateway.id }],
      ['gateway', { performer: stranger.id, onBehalfOf: stranger.id }],
    ] as const) {
      const problem = await assertRefused(body, 422, 'invalid_request', { as })
      assert.equal(problem['path'], '/performer')
    }
    // This is valid: the gateway commissions the record on behalf of a stranger and performs it. So principal and
    // performer are two agents.
    expectStatus(201, await post({ performer: gateway.id, onBehalfOf: stranger.id }, { as: 'gateway' }))
  })

  const bad: [what: string, body: object, path: string][] = [
    ['a gate that is none', { gate: 'nobody' }, '/gate'],
    ['a gate of null', { gate: null }, '/gate'],
    ['a performer that is no id', { performer: 'performer' }, '/performer'],
    ['a deadline without a zone', { deadline: '2026-11-20T12:00:00' }, '/deadline'],
    ['a deadline in another zone', { deadline: '2026-11-20T12:00:00+01:00' }, '/deadline'],
    ['a deadline that does not exist', { deadline: '2027-02-30T12:00:00Z' }, '/deadline'],
    ['a deadline in microseconds', { deadline: '2027-02-20T12:00:00.000001Z' }, '/deadline'],
    ['a deadline as a number', { deadline: 1_800_000_000 }, '/deadline'],
    ['a deadline long past', { deadline: '2020-01-01T00:00:00Z' }, '/deadline'],
    ['fewer revisions than none', { maxRevisions: -1 }, '/maxRevisions'],
    ['half a revision', { maxRevisions: 0.5 }, '/maxRevisions'],
    ['101 revisions', { maxRevisions: 101 }, '/maxRevisions'],
    ['revisions as text', { maxRevisions: '3' }, '/maxRevisions'],
    ['tolerances that are a list', { tolerances: [] }, '/tolerances'],
    [
      'a tolerance of a rule that the type does not have',
      { tolerances: { weight: { percent: '1' } } },
      '/tolerances/weight',
    ],
    [
      'a tolerance of a rule that takes none',
      { tolerances: { currency: { percent: '1' } } },
      '/tolerances/currency',
    ],
    [
      'a tolerance wider than the type allows',
      { tolerances: { quantity: { percent: '10.0000001' } } },
      '/tolerances/quantity/percent',
    ],
    [
      'a tolerance in another measure',
      { tolerances: { quantity: { absolute: '1' } } },
      '/tolerances/quantity',
    ],
    [
      'a tolerance below nothing',
      { tolerances: { quantity: { percent: '-1' } } },
      '/tolerances/quantity/percent',
    ],
    ['a tolerance as a number', { tolerances: { quantity: { percent: 5 } } }, '/tolerances/quantity/percent'],
    ['an unknown member', { gates: 'auto' }, ''],
  ]
  for (const [what, body, path] of bad) {
    await t.test(`refuses ${what}`, async () => {
      assert.equal((await assertRefused(body, 422, 'invalid_request'))['path'], path)
    })
  }

  await t.test('accepts any tolerance up to the type’s, and empty tolerances', async () => {
    for (const tolerances of [{ quantity: { percent: '10' } }, { quantity: { percent: '0' } }, {}]) {
      const record = expectStatus(201, await post({ tolerances })).json()
      assert.deepEqual(record.gated.tolerances, tolerances)
    }
  })

  await t.test('refuses unknown performers, and disabled performers and principals', async () => {
    const elsewhere = await app.newLedger()
    const gone = await app.addAgent('gone', ['records:write'])
    expectStatus(200, await app.send('POST', `/v1/agents/${gone.id}/disable`, { body: {} }))
    await assertRefused({ performer: elsewhere.agent.id }, 422, 'unknown_agent')
    await assertRefused({ performer: gone.id }, 422, 'agent_disabled')
    await assertRefused({ onBehalfOf: gone.id }, 422, 'agent_disabled', { as: 'gateway' })
  })

  await t.test('refuses a payload that does not fit the type with 422 payload_invalid', async () => {
    const problem = await assertRefused({ payload: { quantity: 'many' } }, 422, 'payload_invalid')
    assert.equal(problem['path'], '/quantity')
  })

  await t.test('refuses an unknown parent with unknown_parent, and accepts a gated parent', async () => {
    await assertRefused({ parent: 'rec_01jegv5gyme05800000000000a' }, 422, 'unknown_parent')
    const parent = await app.create()
    const child = expectStatus(201, await post({ parent: parent.id }, { as: 'performer' })).json()
    const tree = expectStatus(200, await app.send('GET', `/v1/records/${parent.id}/tree`)).json()
    assert.deepEqual([tree.record, tree.children.data], [await app.get(parent.id), [child]])
  })

  await t.test('refuses terms for notarized types, and gated types in a batch', async () => {
    for (const [name, value] of Object.entries({
      performer: performer.id,
      gate: 'auto',
      deadline: inAnHour(),
      maxRevisions: 3,
      tolerances: {},
    })) {
      const problem = await assertRefused({ type: 'generic/1', [name]: value }, 422, 'not_gated')
      assert.equal(problem['path'], `/${name}`)
    }
    const before = await app.written()
    for (const type of ['task/1', 'delivery/1']) {
      const body = {
        records: [
          { type: 'generic/1', payload: {} },
          { type, payload: PAYLOAD },
        ],
      }
      const batch = await app.send('POST', '/v1/records/batch', { body })
      const { index, detail } = assertProblem(batch, 422, 'not_notarizable')
      assert.equal(index, 1)
      assert.match(String(detail), /one by one with POST \/v1\/records$/)
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('refuses a key without records:write, and onBehalfOf without agents:act', async () => {
    const reader = await app.addAgent('reader', ['records:read'])
    const refused = await assertRefused({}, 403, 'forbidden', { as: reader })
    assert.equal(refused['scope'], 'records:write')
    const acting = await assertRefused({ onBehalfOf: performer.id }, 403, 'forbidden', { as: 'stranger' })
    assert.equal(acting['scope'], 'agents:act')
  })

  await t.test('is found by type and state', async () => {
    const record = expectStatus(201, await post({})).json()
    const found = await app.send('GET', '/v1/records?type=delivery/1&state=CREATED&limit=1')
    assert.deepEqual(expectStatus(200, found).json().data, [record])
  })
})
