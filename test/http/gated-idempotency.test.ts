import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LightMyRequestResponse as Response } from 'fastify'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { FAILING, PAYLOAD, type StepName, type StepOptions, sharedGatedApp } from '../helpers/gated-app.ts'

const SOON_MS = 400

test('an Idempotency-Key on the steps of a gated record', async (t) => {
  const app = await sharedGatedApp()
  const keyed = (key: string, more: Record<string, string> = {}) => ({ 'idempotency-key': key, ...more })

  /** Asserts that the replay has the same body and ETag, and writes nothing. */
  async function assertReplays(first: Response, send: () => Promise<Response>): Promise<void> {
    const before = await app.written()
    const again = expectStatus(first.statusCode, await send())
    assert.equal(again.body, first.body)
    assert.equal(again.headers['etag'], first.headers['etag'])
    assert.equal(first.headers['idempotency-replayed'], undefined)
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.deepEqual(await app.written(), before)
  }

  await t.test('replays each step with the record as it was after that step', async () => {
    const sent: [Response, () => Promise<Response>][] = []
    const createBody = {
      type: 'delivery/1',
      payload: PAYLOAD,
      maxRevisions: 1,
      tolerances: { quantity: { percent: '1' } },
      metadata: { a: 1 },
    }
    const createHeaders = keyed(randomUUID())
    const create = () => app.send('POST', '/v1/records', { body: createBody, headers: createHeaders })
    const created = expectStatus(201, await create())
    sent.push([created, create])
    const { id } = created.json()
    async function take(step: StepName, options: StepOptions = {}): Promise<void> {
      const headers = keyed(randomUUID())
      const send = () => app.step(id, step, { ...options, headers })
      const response = expectStatus(200, await send())
      for (const [first, again] of [...sent, [response, send] as const]) await assertReplays(first, again)
      sent.push([response, send])
    }
    await take('activate', { as: 'stranger' })
    await take('completions', { as: 'stranger', body: { evidence: FAILING } })
    await app.verify(id)
    await take('revision')
    await take('completions', { as: 'stranger' })
    await app.verify(id)
    await take('verdict', { body: { verdict: 'reject', reason: 'late' } })
    await take('overturn')
    assert.equal(sent.length, 7)
    assert.equal(created.json().gated.performer, null)
  })

  await t.test('replays a cancellation, and refuses a second one with 409 state_conflict', async () => {
    const { id } = await app.reach('ACTIVE')
    const send = (key: string) => app.step(id, 'cancel', { headers: keyed(key) })
    const key = randomUUID()
    const first = expectStatus(200, await send(key))
    await assertReplays(first, () => send(key))
    const refused = assertProblem(await send(randomUUID()), 409, 'state_conflict')
    assert.deepEqual([refused['state'], refused['nextEvents']], ['CANCELLED', []])
  })

  await t.test('can be used again after a refusal', async () => {
    const { id } = await app.create()
    const headers = keyed(randomUUID())
    assertProblem(await app.step(id, 'completions', { headers }), 409, 'state_conflict')
    await app.take(id, 'activate')
    assert.equal((await app.take(id, 'completions', { headers })).state, 'SUBMITTED')
  })

  await t.test('refuses another body, step or record with idempotency_key_reused, in any state', async () => {
    const [one, other] = [await app.reach('ACTIVE'), await app.reach('ACTIVE')]
    const headers = keyed(randomUUID())
    await app.take(one.id, 'completions', { headers })
    const before = await app.written()
    for (const response of [
      await app.step(one.id, 'completions', { headers, body: { evidence: FAILING } }),
      await app.step(one.id, 'activate', { headers }),
      await app.step(other.id, 'completions', { headers }),
      await app.send('POST', '/v1/records', {
        key: app.agents.performer.key,
        headers,
        body: { type: 'task/1', payload: {} },
      }),
    ]) {
      assertProblem(response, 422, 'idempotency_key_reused')
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('replays although its If-Match no longer matches', async () => {
    const { id } = await app.create()
    const headers = keyed(randomUUID(), { 'if-match': '"1"' })
    const first = expectStatus(200, await app.step(id, 'activate', { headers }))
    await assertReplays(first, () => app.step(id, 'activate', { headers }))
    await app.take(id, 'completions')
    await assertReplays(first, () => app.step(id, 'activate', { headers }))
  })

  await t.test('makes one entry and equal answers of simultaneous requests', async () => {
    const ways: [StepName, string][] = [
      ['activate', 'CREATED'],
      ['completions', 'ACTIVE'],
      ['verdict', 'VERIFIED'],
      ['revision', 'DISCREPANT'],
      ['cancel', 'CREATED'],
      ['overturn', 'REJECTED'],
    ]
    for (const [step, state] of ways) {
      const { id, version } = await app.reach(state)
      const headers = keyed(randomUUID())
      const answers = await Promise.all(Array.from({ length: 12 }, () => app.step(id, step, { headers })))
      for (const answer of answers) expectStatus(200, answer)
      assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
      assert.equal(answers.filter((a) => a.headers['idempotency-replayed'] === undefined).length, 1)
      assert.equal((await app.get(id)).version, version + 1)
    }
  })

  await t.test('makes one record of simultaneous creations', async () => {
    const headers = keyed(randomUUID())
    const body = { type: 'task/1', payload: { once: true }, gate: 'auto' }
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => app.send('POST', '/v1/records', { body, headers })),
    )
    for (const answer of answers) expectStatus(201, answer)
    assert.equal(new Set(answers.map((answer) => answer.body)).size, 1)
  })

  await t.test('replays requests after their deadline has passed', async () => {
    const soon = new Date(Date.now() + SOON_MS).toISOString()
    const headers = () => keyed(randomUUID())
    const [created, completed, judged] = [headers(), headers(), headers()]
    const body = { type: 'task/1', payload: {}, performer: app.agents.performer.id, deadline: soon }
    const create = () => app.send('POST', '/v1/records', { body, headers: created })
    const first = expectStatus(201, await create())
    const { id } = first.json()
    await app.take(id, 'activate')
    const complete = () => app.step(id, 'completions', { headers: completed })
    const second = expectStatus(200, await complete())
    const verified = await app.reach('VERIFIED')
    const verdict = { verdict: 'accept', validUntil: new Date(Date.now() + SOON_MS).toISOString() }
    const judge = () => app.step(verified.id, 'verdict', { body: verdict, headers: judged })
    const third = expectStatus(200, await judge())
    await sleep(2 * SOON_MS)
    await assertReplays(second, complete)
    await assertReplays(first, create)
    await assertReplays(third, judge)
  })

  await t.test('belongs to the actor, not to the agent of onBehalfOf', async () => {
    const { id } = await app.create({ performer: undefined })
    const headers = keyed(randomUUID())
    const body = { onBehalfOf: app.agents.stranger.id }
    await app.take(id, 'activate', { as: 'gateway', body, headers })
    const other = await app.create({ performer: undefined })
    assert.equal((await app.take(other.id, 'activate', { as: 'stranger', headers })).state, 'ACTIVE')
  })
})
