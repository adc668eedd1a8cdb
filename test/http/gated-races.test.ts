import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LightMyRequestResponse as Response } from 'fastify'
import { buildApp } from '../../src/http/app.ts'
import { openLog } from '../../src/observe/log.ts'
import { openDeps } from '../../src/run/deps.ts'
import { expectStatus, testConfig } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import {
  FAILING,
  type GatedApp,
  STEP_AGENTS,
  STEP_BODIES,
  type StepName,
  sharedGatedApp,
} from '../helpers/gated-app.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

const taken = (answers: readonly Response[]) => answers.filter(({ statusCode }) => statusCode === 200)

async function kindsOf(app: GatedApp, id: string): Promise<string[]> {
  const { data } = expectStatus(200, await app.send('GET', `/v1/records/${id}/entries?limit=200`)).json()
  return data.map(({ kind }: { kind: string }) => kind)
}

async function openSecondServer(t: TestContext, app: GatedApp) {
  const deps = await openDeps(testConfig(app.database.apiUrl), openLog('silent'))
  const server = buildApp(deps)
  t.after(async () => {
    await server.close()
    await deps.close()
  })
  return (
    id: string,
    step: StepName,
    body: object = STEP_BODIES[step],
    headers: Record<string, string> = {},
  ) =>
    server.inject({
      method: 'POST',
      url: `/v1/records/${id}/${step}`,
      headers: { authorization: `Bearer ${app.agents[STEP_AGENTS[step]].key}`, ...headers },
      payload: body,
    })
}

test('simultaneous steps', async (t) => {
  const app = await sharedGatedApp()
  const second = await openSecondServer(t, app)
  const either = (i: number, id: string, step: StepName, body: object = STEP_BODIES[step]) =>
    i % 2 === 0 ? app.step(id, step, { body }) : second(id, step, body)

  await t.test('of 50 verdicts one makes an entry, and 49 refusals name the final state', async () => {
    const { id, version } = await app.reach('DISCREPANT')
    const before = (await app.entries()).length
    const verdicts = Array.from({ length: 50 }, (_, i) => (i % 3 === 0 ? 'reject' : 'accept'))
    const answers = await Promise.all(verdicts.map((verdict, i) => either(i, id, 'verdict', { verdict })))
    const [won] = taken(answers)
    assert.equal(taken(answers).length, 1)
    const { state } = won!.json()
    assert.equal(state, verdicts[answers.indexOf(won!)] === 'accept' ? 'ACCEPTED' : 'REJECTED')
    for (const answer of answers.filter((one) => one !== won)) {
      const problem = assertProblem(answer, 409, 'state_conflict')
      const legal: string[] = state === 'REJECTED' ? ['verdict-overturned'] : []
      assert.deepEqual(
        [problem['state'], problem['version'], problem['nextEvents']],
        [state, version + 1, legal],
      )
    }
    assert.equal((await app.entries()).length, before + 1)
  })

  await t.test('cancel and activate: either no activation, or the cancellation comes after it', async () => {
    const seen = new Set<string>()
    for (let round = 0; round < 40; round++) {
      const { id } = await app.create()
      const steps = (round % 2 === 0 ? ['activate', 'cancel'] : ['cancel', 'activate']) as StepName[]
      const [first, other] = await Promise.all(steps.map((step, i) => either(i, id, step)))
      const [activated, cancelled] = round % 2 === 0 ? [first!, other!] : [other!, first!]
      const kinds = (await kindsOf(app, id)).slice(1)
      seen.add(kinds.join())
      if (activated.statusCode === 200) {
        assert.equal(expectStatus(200, cancelled).json().version, 3)
        assert.deepEqual(kinds, ['record-activated', 'record-cancelled'])
      } else {
        assert.equal(assertProblem(activated, 409, 'state_conflict')['state'], 'CANCELLED')
        assert.deepEqual([expectStatus(200, cancelled).json().version, kinds], [2, ['record-cancelled']])
      }
    }
    assert.equal(seen.size, 2, 'both orders were seen')
  })

  await t.test('of two completions one is accepted and verified, the other gets state_conflict', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await app.reach('ACTIVE')
      const answers = await Promise.all(
        [STEP_BODIES.completions, { evidence: FAILING }].map((body, i) => either(i, id, 'completions', body)),
      )
      const [won] = taken(answers)
      const lost = answers.find((one) => one !== won)!
      assert.equal(assertProblem(lost, 409, 'state_conflict')['state'], 'SUBMITTED')
      const { gated } = await app.verify(id)
      assert.deepEqual(gated.completion, won!.json().gated.completion)
    }
  })

  await t.test('of a verdict and a revision one succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const { id, version } = await app.reach('VERIFIED')
      const answers = await Promise.all([either(round, id, 'verdict'), either(round + 1, id, 'revision')])
      assert.equal(taken(answers).length, 1)
      assert.equal((await kindsOf(app, id)).length, version + 1)
    }
  })

  await t.test('one Idempotency-Key at two servers makes one entry', async () => {
    for (let round = 0; round < 10; round++) {
      const { id, version } = await app.reach('VERIFIED')
      const headers = { 'idempotency-key': randomUUID() }
      const answers = await Promise.all([
        ...Array.from({ length: 4 }, () => app.step(id, 'verdict', { headers })),
        ...Array.from({ length: 4 }, () => second(id, 'verdict', STEP_BODIES.verdict, headers)),
      ])
      for (const answer of answers) expectStatus(200, answer)
      assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
      assert.equal((await kindsOf(app, id)).length, version + 1)
    }
  })

  await t.test('the ledger verifies afterwards', async () => {
    await assertVerifies(app)
  })
})

test('completions against expiry', async (t) => {
  const app = await sharedGatedApp()
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
  async function active(deadline: string): Promise<{ id: string }> {
    const record = await app.create({ deadline })
    return app.take(record.id, 'activate')
  }
  const until = (time: string, ms = 0) => sleep(Math.max(0, Date.parse(time) - Date.now() + ms))

  await t.test('in time with a late worker: the completion is accepted and verified', async () => {
    const deadline = inMs(1_500)
    const { id } = await active(deadline)
    await app.take(id, 'completions')
    await until(deadline, 50)
    assert.equal((await app.expire(id)).state, 'SUBMITTED')
    assert.equal((await app.verify(id)).state, 'VERIFIED')
  })

  await t.test('too late with a late worker: deadline_passed, and state_conflict after expiry', async () => {
    const deadline = inMs(1_000)
    const { id } = await active(deadline)
    await until(deadline, 1)
    for (let i = 0; i < 3; i++) {
      const problem = assertProblem(await app.step(id, 'completions'), 409, 'deadline_passed')
      assert.equal(problem['state'], 'ACTIVE')
    }
    assert.equal((await app.expire(id)).state, 'EXPIRED')
    assert.equal(assertProblem(await app.step(id, 'completions'), 409, 'state_conflict')['state'], 'EXPIRED')
  })

  await t.test(
    'at the deadline: either the completion or the expiry is recorded, on the right side',
    async () => {
      const deadline = inMs(2_000)
      const records = await Promise.all(Array.from({ length: 24 }, () => active(deadline)))
      const cancelled = records.slice(20)
      const answers = records.slice(0, 20).map(async ({ id }, i) => {
        await until(deadline, i - 10)
        return app.step(id, 'completions')
      })
      const cancels = cancelled.map(async ({ id }, i) => {
        await until(deadline, i * 2)
        return app.step(id, 'cancel')
      })
      const rounds = (async () => {
        await until(deadline, -10)
        for (let i = 0; i < 20; i++) await app.expireOverdue()
      })()
      const [completed, , cancelAnswers] = [
        await Promise.all(answers),
        await rounds,
        await Promise.all(cancels),
      ]
      await app.expireOverdue()
      for (const [i, response] of completed.entries()) {
        const kinds = (await kindsOf(app, records[i]!.id)).slice(2)
        if (response.statusCode === 200) {
          assert.deepEqual(kinds, ['completion-submitted'])
          continue
        }
        const { code, state } = response.json()
        assert.ok(
          code === 'deadline_passed' || (code === 'state_conflict' && state === 'EXPIRED'),
          response.body,
        )
        assert.deepEqual(kinds, ['record-expired'])
      }
      for (const [i, response] of cancelAnswers.entries()) {
        const kind = response.statusCode === 200 ? 'record-cancelled' : 'record-expired'
        assert.deepEqual((await kindsOf(app, cancelled[i]!.id)).slice(2), [kind])
      }
    },
  )

  await t.test('the ledger verifies after all expiries', async () => {
    await assertVerifies(app)
  })
})
