import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus, OPERATOR_KEY } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import {
  type AgentName,
  STEP_AGENTS,
  STEP_BODIES,
  STEP_NAMES,
  type StepName,
  type StepOptions,
  sharedGatedApp,
} from '../helpers/gated-app.ts'

/**
 * A second copy of the lifecycle (docs/reference/lifecycle.md). `next` lists the permitted steps. `steps` lists those
 * permitted steps that have a route.
 */
const STATES: Record<string, { next: string[]; steps: StepName[] }> = {
  CREATED: { next: ['record-activated', 'record-cancelled'], steps: ['activate', 'cancel'] },
  ACTIVE: { next: ['completion-submitted', 'record-cancelled'], steps: ['completions', 'cancel'] },
  SUBMITTED: { next: ['completion-verified'], steps: [] },
  VERIFIED: { next: ['verdict-rendered', 'revision-requested'], steps: ['verdict', 'revision'] },
  DISCREPANT: { next: ['verdict-rendered', 'revision-requested'], steps: ['verdict', 'revision'] },
  ACCEPTED: { next: [], steps: [] },
  REJECTED: { next: ['verdict-overturned'], steps: ['overturn'] },
  CANCELLED: { next: [], steps: [] },
  EXPIRED: { next: [], steps: [] },
}

/** Maps each step to `not`, the agents that may not take the step, and to `role`, the role that may take it. */
const STRANGERS: Record<StepName, { not: AgentName[]; role: string }> = {
  activate: { not: ['principal', 'gateway'], role: 'performer' },
  completions: { not: ['principal', 'gateway'], role: 'performer' },
  verdict: { not: ['performer', 'gateway'], role: 'principal' },
  revision: { not: ['performer', 'gateway'], role: 'principal' },
  cancel: { not: ['performer', 'gateway'], role: 'principal' },
  overturn: { not: [], role: 'other than the performer' },
}

test('a step is refused', async (t) => {
  const app = await sharedGatedApp()
  const deadline = new Date(Date.now() + 1_000).toISOString()
  const records: Record<string, { id: string; version: number }> = { EXPIRED: await app.create({ deadline }) }
  for (const state of Object.keys(STATES)) records[state] ??= await app.reach(state)
  records['EXPIRED'] = await app.expire(records['EXPIRED']!.id)

  async function assertRefused(
    state: string,
    step: StepName,
    [status, code]: readonly [number, string],
    options: StepOptions = {},
  ): Promise<Record<string, unknown>> {
    const before = await app.written()
    const problem = assertProblem(await app.step(records[state]!.id, step, options), status, code)
    assert.deepEqual(await app.written(), before)
    return problem
  }

  for (const [state, { next, steps }] of Object.entries(STATES)) {
    for (const step of STEP_NAMES.filter((name) => !steps.includes(name))) {
      await t.test(
        `${step} in state ${state}: state_conflict with the state and the next events`,
        async () => {
          const problem = await assertRefused(state, step, [409, 'state_conflict'])
          assert.deepEqual([problem['state'], problem['nextEvents']], [state, next])
          assert.equal(problem['version'], records[state]!.version)
          // The refusal is retryable, because the worker may verify the completion a moment later.
          const waits = state === 'SUBMITTED' && ['verdict', 'revision'].includes(step)
          assert.equal(problem['retryable'], waits)
        },
      )
    }
  }

  for (const [step, { not, role }] of Object.entries(STRANGERS) as [
    StepName,
    { not: AgentName[]; role: string },
  ][]) {
    for (const as of not) {
      await t.test(`${step} by ${as} in any state: not_entitled with the role ${role}`, async () => {
        for (const state of Object.keys(STATES)) {
          const problem = await assertRefused(state, step, [403, 'not_entitled'], { as })
          assert.equal(problem['role'], role)
          assert.equal(problem['retryable'], false)
        }
      })
    }
  }

  await t.test('by an agent that is no party and cannot read the record: not_found', async () => {
    const nowhere = 'rec_01jegv5gyme05800000000000a'
    const { key } = app.agents.stranger
    const before = await app.written()
    for (const step of STEP_NAMES.filter((name) => name !== 'overturn')) {
      const [theirs, none] = await Promise.all(
        [records['CREATED']!.id, nowhere].map(async (id) => {
          const { requestId: _, ...problem } = assertProblem(
            await app.step(id, step, { as: 'stranger' }),
            404,
            'not_found',
          )
          return JSON.parse(JSON.stringify(problem).replaceAll(id, 'ID'))
        }),
      )
      assert.deepEqual(theirs, none)
    }
    assertProblem(await app.send('GET', `/v1/records/${records['CREATED']!.id}`, { key }), 404, 'not_found')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('overturn by the performer, with any scopes: not_entitled', async () => {
    const performer = await app.addAgent('who judges itself', ['records:write', 'verdicts:overturn'])
    const { id } = await app.reach('REJECTED')
    const mine = await app.create({ performer: performer.id })
    await app.take(mine.id, 'activate', { as: performer })
    await app.take(mine.id, 'completions', { as: performer })
    await app.verify(mine.id)
    await app.take(mine.id, 'verdict', { body: { verdict: 'reject' } })
    const before = await app.written()
    const problem = assertProblem(await app.step(mine.id, 'overturn', { as: performer }), 403, 'not_entitled')
    assert.equal(problem['role'], 'other than the performer')
    assert.deepEqual(await app.written(), before)
    await app.take(id, 'overturn', { as: performer })
  })

  await t.test(
    'verdict by the principal if the gate is auto: not_entitled with the role worker',
    async () => {
      const { id } = await app.create({ gate: 'auto' })
      await app.take(id, 'activate')
      await app.take(id, 'completions')
      const before = await app.written()
      const problem = assertProblem(await app.step(id, 'verdict'), 403, 'not_entitled')
      assert.equal(problem['role'], 'worker')
      assert.deepEqual(await app.written(), before)
    },
  )

  await t.test('any step without its scope, records:write or verdicts:overturn: forbidden', async () => {
    for (const step of STEP_NAMES) {
      const agent = await app.addAgent(`no scope for ${step}`, [
        'records:read',
        step === 'overturn' ? 'records:write' : 'verdicts:overturn',
      ])
      const problem = await assertRefused('CREATED', step, [403, 'forbidden'], { as: agent })
      assert.equal(problem['scope'], step === 'overturn' ? 'verdicts:overturn' : 'records:write')
    }
  })

  await t.test(
    'any step of a notarized record: state_conflict; of an unknown record: not_found',
    async () => {
      const notarized = await app.notarize()
      const elsewhere = await app.newLedger()
      const foreign = await app.notarize({ type: 'task/1', payload: {} }, { key: elsewhere.key.key })
      const before = await app.written()
      for (const step of STEP_NAMES) {
        const as = step === 'overturn' ? 'overturner' : 'principal'
        const problem = assertProblem(await app.step(notarized.id, step, { as }), 409, 'state_conflict')
        assert.deepEqual([problem['state'], problem['nextEvents']], ['RECORDED', []])
        for (const id of [
          foreign.id,
          'rec_01jegv5gyme05800000000000a',
          'rec_x',
          'cmp_01jegv5gyme05800000000000a',
        ])
          assertProblem(await app.step(id, step), 404, 'not_found')
      }
      assert.deepEqual(await app.written(), before)
    },
  )

  const bodies: [what: string, step: StepName, body: unknown, path: string | undefined][] = [
    ['no object', 'activate', [], undefined],
    ['no evidence', 'completions', {}, ''],
    ['evidence that is no object', 'completions', { evidence: 7 }, '/evidence'],
    ['evidence that is a list', 'completions', { evidence: [] }, '/evidence'],
    ['evidence of null', 'completions', { evidence: null }, '/evidence'],
    ['a salt of 15 bytes', 'completions', { evidence: {}, salt: 'A'.repeat(20) }, '/salt'],
    ['no verdict', 'verdict', {}, ''],
    ['a verdict that is none', 'verdict', { verdict: 'ACCEPT' }, '/verdict'],
    ['an empty reason', 'verdict', { verdict: 'accept', reason: '' }, '/reason'],
    ['a reason of 1,001 characters', 'verdict', { verdict: 'accept', reason: 'ü'.repeat(1_001) }, '/reason'],
    ['a reason that is no text', 'verdict', { verdict: 'accept', reason: { text: 'x' } }, '/reason'],
    [
      'a validUntil in no zone',
      'verdict',
      { verdict: 'accept', validUntil: '2031-01-01T00:00:00' },
      '/validUntil',
    ],
    ['a revision without a reason', 'revision', {}, ''],
    ['a cancellation without a reason', 'cancel', {}, ''],
    ['an overturn without a reason', 'overturn', {}, ''],
    ['an occurredAt that does not exist', 'activate', { occurredAt: '2026-02-30T00:00:00Z' }, '/occurredAt'],
    ['an onBehalfOf that is no agent', 'activate', { onBehalfOf: 'rec_x' }, '/onBehalfOf'],
    ['a signal that the caller writes', 'verdict', { verdict: 'accept', signal: { decision: 'SETTLE' } }, ''],
  ]
  for (const [what, step, body, path] of bodies) {
    await t.test(`with ${what}`, async () => {
      const problem = await assertRefused('VERIFIED', step, [422, 'invalid_request'], { body })
      if (path !== undefined) assert.equal(problem['path'], path)
    })
  }

  await t.test('with an unknown member: invalid_request', async () => {
    for (const step of STEP_NAMES) {
      const body = { ...STEP_BODIES[step], version: 1 }
      await assertRefused('CREATED', step, [422, 'invalid_request'], { body })
    }
  })

  await t.test('with a body that is not strict JSON, another content type or method', async () => {
    const { id } = records['CREATED']!
    const before = await app.written()
    for (const step of STEP_NAMES) {
      const url = `/v1/records/${id}/${step}`
      const key = app.agents[STEP_AGENTS[step]].key
      const twice = await app.send('POST', url, { key, text: '{"reason":"a","reason":"b"}' })
      assertProblem(twice, 400, 'lossy_json')
      assertProblem(await app.send('POST', url, { key, text: '{' }), 400, 'bad_json')
      const plain = { key, text: '{}', headers: { 'content-type': 'text/plain' } }
      assertProblem(await app.send('POST', url, plain), 415, 'unsupported_media_type')
      assertProblem(await app.send('PUT', url, { key, body: {} }), 405, 'method_not_allowed')
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('while the ledger is frozen: ledger_frozen, and accepted after unfreezing', async () => {
    const freeze = (what: string) =>
      app.send('POST', `/v1/ledgers/${app.ledger.ledger.id}/${what}`, { key: OPERATOR_KEY, body: {} })
    const { id } = await app.create()
    expectStatus(200, await freeze('freeze'))
    const before = await app.written()
    for (const step of ['activate', 'cancel'] as const)
      assertProblem(await app.step(id, step), 403, 'ledger_frozen')
    assertProblem(
      await app.send('POST', '/v1/records', { body: { type: 'task/1', payload: {} } }),
      403,
      'ledger_frozen',
    )
    assert.deepEqual(await app.written(), before)
    expectStatus(200, await freeze('unfreeze'))
    await app.take(id, 'activate')
  })

  await t.test('with evidence that does not fit the type or is too large', async () => {
    const wrong = await assertRefused('ACTIVE', 'completions', [422, 'evidence_invalid'], {
      body: { evidence: { quantity: 'many' } },
    })
    assert.equal(wrong['path'], '/quantity')
    const large = { evidence: { quantity: 1, more: 'x'.repeat(64 * 1024) } }
    const tooLarge = await assertRefused('ACTIVE', 'completions', [422, 'document_too_large'], {
      body: large,
    })
    assert.match(`${tooLarge['detail']}`, /^the document has /)
    expectStatus(200, await app.step((await app.reach('ACTIVE')).id, 'completions'))
  })
})
