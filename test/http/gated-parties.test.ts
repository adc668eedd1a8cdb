import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { STEP_BODIES, STEP_NAMES, sharedGatedApp } from '../helpers/gated-app.ts'

test('a gateway with agents:act takes steps on behalf of the agent that it names', async (t) => {
  const app = await sharedGatedApp()
  const { performer, stranger, gateway } = app.agents
  const as = 'gateway'
  const forPrincipal = { onBehalfOf: stranger.id }
  const forPerformer = { onBehalfOf: performer.id }

  await t.test('acts for principal and performer of one record', async () => {
    const record = await app.create({ ...forPrincipal, gate: 'principal' }, { as })
    await app.take(record.id, 'activate', { as, body: forPerformer })
    await app.take(record.id, 'completions', { as, body: { ...STEP_BODIES.completions, ...forPerformer } })
    await app.verify(record.id)
    const judged = await app.take(record.id, 'verdict', { as, body: { verdict: 'accept', ...forPrincipal } })
    assert.equal(judged.state, 'ACCEPTED')
    assert.deepEqual(
      [judged.gated.completion.by, judged.gated.verdict.by, judged.gated.principal],
      [performer.id, stranger.id, stranger.id],
    )
  })

  await t.test('the agent itself can take the next step with its own key', async () => {
    const record = await app.create(forPrincipal, { as })
    await app.take(record.id, 'activate')
    const cancelled = await app.take(record.id, 'cancel', { as: 'stranger' })
    assert.deepEqual([cancelled.state, cancelled.gated.cancellation.by], ['CANCELLED', stranger.id])
  })

  await t.test('is refused with not_entitled without onBehalfOf', async () => {
    const record = await app.create(forPrincipal, { as })
    const before = await app.written()
    for (const step of ['activate', 'cancel'] as const)
      assertProblem(await app.step(record.id, step, { as }), 403, 'not_entitled')
    assert.deepEqual(await app.written(), before)
  })

  await t.test('is refused with not_entitled if the named agent is not the step’s party', async () => {
    const record = await app.create(forPrincipal, { as })
    const before = await app.written()
    for (const [step, onBehalfOf, role] of [
      ['activate', stranger.id, 'performer'],
      ['activate', gateway.id, 'performer'],
      ['completions', stranger.id, 'performer'],
      ['verdict', performer.id, 'principal'],
      ['revision', performer.id, 'principal'],
      ['cancel', performer.id, 'principal'],
    ] as const) {
      const body = { ...STEP_BODIES[step], onBehalfOf }
      assert.equal(
        assertProblem(await app.step(record.id, step, { as, body }), 403, 'not_entitled')['role'],
        role,
      )
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('is refused without the scope agents:act', async () => {
    const record = await app.create()
    const before = await app.written()
    for (const step of STEP_NAMES) {
      for (const onBehalfOf of [performer.id, app.agents.principal.id]) {
        const body = { ...STEP_BODIES[step], onBehalfOf }
        const scopes = step === 'overturn' ? ({ as: 'overturner' } as const) : ({ as: 'stranger' } as const)
        const problem = assertProblem(await app.step(record.id, step, { ...scopes, body }), 403, 'forbidden')
        assert.equal(problem['scope'], 'agents:act')
      }
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('is refused for unknown and for disabled agents', async () => {
    const record = await app.create()
    const gone = await app.addAgent('gone', [])
    expectStatus(200, await app.send('POST', `/v1/agents/${gone.id}/disable`, { body: {} }))
    const elsewhere = await app.newLedger()
    const before = await app.written()
    for (const [onBehalfOf, code] of [
      [elsewhere.agent.id, 'unknown_agent'],
      [gone.id, 'agent_disabled'],
    ] as const) {
      const response = await app.step(record.id, 'activate', { as, body: { onBehalfOf } })
      assertProblem(response, 422, code)
    }
    assert.deepEqual(await app.written(), before)
  })

  await t.test('an overturn may be on behalf of any agent but the performer', async () => {
    const both = await app.addAgent('appeals', ['verdicts:overturn', 'agents:act'])
    const { id } = await app.reach('REJECTED')
    const overturn = (onBehalfOf: string) =>
      app.step(id, 'overturn', { as: both, body: { ...STEP_BODIES.overturn, onBehalfOf } })
    assertProblem(await overturn(performer.id), 403, 'not_entitled')
    const overturned = expectStatus(200, await overturn(stranger.id)).json()
    assert.equal(overturned.gated.overturn.by, stranger.id)
  })

  await t.test('a performer may not judge or overturn on behalf of others', async () => {
    const agent = await app.addAgent('both', ['records:write', 'verdicts:overturn', 'agents:act'])
    const { id } = await app.create({ performer: agent.id, gate: 'principal' })
    await app.take(id, 'activate', { as: agent })
    await app.take(id, 'completions', { as: agent })
    await app.verify(id)
    const before = await app.written()
    const judge = { ...STEP_BODIES.verdict, onBehalfOf: app.agents.principal.id }
    const refused = assertProblem(
      await app.step(id, 'verdict', { as: agent, body: judge }),
      403,
      'not_entitled',
    )
    assert.equal(refused['role'], 'other than the performer')
    assert.deepEqual(await app.written(), before)
    await app.take(id, 'verdict', { body: { verdict: 'reject' } })
    for (const onBehalfOf of [app.agents.principal.id, stranger.id]) {
      const body = { ...STEP_BODIES.overturn, onBehalfOf }
      assertProblem(await app.step(id, 'overturn', { as: agent, body }), 403, 'not_entitled')
    }
    assert.equal((await app.get(id)).state, 'REJECTED')
  })
})

test('an open performer', async (t) => {
  const app = await sharedGatedApp()
  const { stranger } = app.agents
  const open = (body = {}, options = {}) => app.create({ performer: undefined, ...body }, options)

  await t.test('cannot be the principal, also not through a gateway', async () => {
    const mine = await open()
    const theirs = await open({ onBehalfOf: stranger.id }, { as: 'gateway' })
    const before = await app.written()
    for (const response of [
      await app.step(mine.id, 'activate', { as: 'principal' }),
      await app.step(theirs.id, 'activate', { as: 'stranger' }),
      await app.step(theirs.id, 'activate', { as: 'gateway', body: { onBehalfOf: stranger.id } }),
    ]) {
      assert.equal(assertProblem(response, 403, 'not_entitled')['role'], 'performer')
    }
    assert.deepEqual(await app.written(), before)
    assert.equal((await app.get(mine.id)).gated.performer, null)
  })

  await t.test('is the first of simultaneous activations, the others get not_entitled', async () => {
    const runners = await Promise.all(
      Array.from({ length: 6 }, (_, i) => app.addAgent(`runner ${i}`, ['records:write', 'records:read'])),
    )
    const { id } = await open()
    const answers = await Promise.all(runners.map((as) => app.step(id, 'activate', { as })))
    const won = answers.findIndex((answer) => answer.statusCode === 200)
    assert.equal(answers.filter((answer) => answer.statusCode === 200).length, 1)
    assert.equal((await app.get(id)).gated.performer, runners[won]!.id)
    for (const [i, answer] of answers.entries()) if (i !== won) assertProblem(answer, 403, 'not_entitled')
    const others = await app.step(id, 'completions', { as: runners[(won + 1) % 6]! })
    assertProblem(others, 403, 'not_entitled')
    await app.take(id, 'completions', { as: runners[won]! })
  })

  await t.test('is the agent on whose behalf a gateway activates', async () => {
    const { id } = await open()
    const record = await app.take(id, 'activate', { as: 'gateway', body: { onBehalfOf: stranger.id } })
    assert.equal(record.gated.performer, stranger.id)
    await app.take(id, 'completions', { as: 'stranger' })
  })
})

test('a disabled agent can take no step, neither itself nor through a gateway', async () => {
  const app = await sharedGatedApp()
  const worker = await app.addAgent('soon gone', ['records:write'])
  const { id } = await app.create({ performer: worker.id })
  await app.take(id, 'activate', { as: worker })
  expectStatus(200, await app.send('POST', `/v1/agents/${worker.id}/disable`, { body: {} }))
  const before = await app.written()
  assertProblem(await app.step(id, 'completions', { as: worker }), 401, 'unauthenticated')
  const body = { ...STEP_BODIES.completions, onBehalfOf: worker.id }
  assertProblem(await app.step(id, 'completions', { as: 'gateway', body }), 422, 'agent_disabled')
  assert.deepEqual(await app.written(), before)
  assert.equal((await app.take(id, 'cancel')).state, 'CANCELLED')
})

test('records:read:own', async (t) => {
  const app = await sharedGatedApp()
  const reads = (id: string) => ['', '/entries', '/tree'].map((what) => `/v1/records/${id}${what}`)

  await t.test('shows a record to its principal and performer only', async () => {
    const { id } = await app.create({ onBehalfOf: app.agents.gateway.id }, { as: 'gateway' })
    const principal = await app.addAgent('principal', ['records:write', 'records:read:own'])
    const theirs = await app.create({}, { as: principal })
    for (const url of [...reads(id), ...reads(theirs.id)])
      expectStatus(200, await app.send('GET', url, { key: app.agents.performer.key }))
    for (const url of reads(theirs.id)) expectStatus(200, await app.send('GET', url, { key: principal.key }))
    for (const url of reads(id))
      assertProblem(await app.send('GET', url, { key: principal.key }), 404, 'not_found')
    for (const url of [...reads(id), ...reads(theirs.id)])
      assertProblem(await app.send('GET', url, { key: app.agents.stranger.key }), 404, 'not_found')
  })

  await t.test(
    'shows a record without a performer to the agent that activates it, from then on',
    async () => {
      const { id } = await app.create({ performer: undefined })
      const read = () => app.send('GET', `/v1/records/${id}`, { key: app.agents.stranger.key })
      assertProblem(await read(), 404, 'not_found')
      const activated = expectStatus(200, await app.step(id, 'activate', { as: 'stranger' }))
      assert.equal(expectStatus(200, await read()).body, activated.body)
      const list = await app.send('GET', '/v1/records?state=ACTIVE', { key: app.agents.stranger.key })
      assert.ok(
        expectStatus(200, list)
          .json()
          .data.some((record: { id: string }) => record.id === id),
      )
    },
  )

  await t.test('lists records of which the agent is performer or principal', async () => {
    const both = await app.addAgent('on both sides', ['records:write', 'records:read:own'])
    const performs = await app.create({ performer: both.id })
    const commissions = await app.create({}, { as: both })
    const list = expectStatus(200, await app.send('GET', '/v1/records', { key: both.key })).json()
    assert.deepEqual(
      list.data.map(({ id }: { id: string }) => id),
      [commissions.id, performs.id],
    )
  })
})
