import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { LightMyRequestResponse as Response } from 'fastify'
import {
  type AgentName,
  FAILING,
  type GatedApp,
  PASSING,
  STEP_BODIES,
  STEP_NAMES,
  sharedGatedApp,
} from '../helpers/gated-app.ts'
import {
  answer,
  type ModelRecord,
  type ModelRefusal,
  type ModelRequest,
  nextEventsOf,
  verified,
} from '../helpers/gated-model.ts'
import { runs } from '../helpers/runs.ts'
import { assertVerifies } from '../helpers/verify-app.ts'

/** Delay between requests, so that the requests of a round meet the record in several states. */
const STAGGER_MS = 3
const AGENTS = ['principal', 'performer', 'stranger', 'gateway', 'overturner'] as const

const agent = fc.constantFrom<AgentName>(...AGENTS)
const requestArbitrary = fc.record({
  step: fc.constantFrom(...STEP_NAMES),
  by: agent,
  onBehalfOf: fc.option(agent, { freq: 3 }),
  /** The version that the request states is the record's version plus this number. */
  ifVersion: fc.option(fc.constantFrom(0, 0, 0, 1, -1), { freq: 2 }),
  good: fc.boolean(),
  /**
   * True if the step must be valid, lead towards a verdict and be taken by the entitled party. Random steps alone would
   * rarely lead to a verdict.
   */
  guided: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 2, arbitrary: fc.constant(false) }),
  pick: fc.nat({ max: 5 }),
  keyed: fc.boolean(),
})
type Drawn = typeof requestArbitrary extends fc.Arbitrary<infer T> ? T : never

const termsArbitrary = fc.record({
  gate: fc.constantFrom('principal' as const, 'principal' as const, 'auto' as const),
  performer: fc.option(fc.constantFrom<AgentName>('performer', 'stranger', 'overturner')),
  maxRevisions: fc.nat({ max: 2 }),
  onBehalfOf: fc.option(fc.constantFrom<AgentName>('stranger', 'gateway'), { freq: 2 }),
})
type Terms = typeof termsArbitrary extends fc.Arbitrary<infer T> ? T : never

type Tracked = { readonly id: string; model: ModelRecord }

async function create(app: GatedApp, terms: Terms): Promise<Tracked> {
  const { gate, maxRevisions, onBehalfOf } = terms
  const creator = onBehalfOf ? 'gateway' : 'principal'
  const principal = onBehalfOf ?? 'principal'
  const performer = terms.performer === principal ? null : terms.performer
  const body = {
    gate,
    maxRevisions,
    performer: performer ? app.agents[performer].id : undefined,
    ...(onBehalfOf && { onBehalfOf: app.agents[onBehalfOf].id }),
  }
  const { id, state, version } = await app.create(body, { as: creator })
  const model = {
    state,
    version,
    creator,
    principal,
    performer,
    gate,
    maxRevisions,
    revisions: 0,
    passes: false,
  } as const
  assert.deepEqual([state, version], ['CREATED', 1])
  return { id, model }
}

/** Makes the request of a randomly drawn step. The model accepts the request if the step is guided. */
function toRequest(
  { guided, pick, ...drawn }: Drawn,
  model: ModelRecord,
): ModelRequest & { readonly keyed: boolean } {
  const ifVersion = drawn.ifVersion === null ? null : Math.max(1, model.version + drawn.ifVersion)
  const request = { ...drawn, ifVersion }
  if (!guided) return request
  const all = STEP_NAMES.filter((step) => step !== 'cancel' || pick === 0)
    .flatMap((step) => AGENTS.map((by) => ({ ...request, step, by, onBehalfOf: null, ifVersion: null })))
    .filter((one) => 'next' in answer(model, one))
  return all[pick % all.length] ?? request
}

/**
 * Makes a request that runs at the same time as other requests. A guided step is taken by the entitled party, but the
 * record's state may have changed by then.
 */
function toConcurrent(drawn: Drawn, model: ModelRecord): ModelRequest {
  if (!drawn.guided) return toRequest(drawn, model)
  const { step } = drawn
  const performs = step === 'activate' || step === 'completions'
  const by = performs
    ? (model.performer ?? 'performer')
    : step === 'overturn'
      ? 'overturner'
      : model.principal
  return { ...drawn, by, onBehalfOf: null, ifVersion: null }
}

function send(app: GatedApp, id: string, request: ModelRequest, key: string | null): Promise<Response> {
  const { step, by, onBehalfOf, ifVersion, good } = request
  const body = {
    ...STEP_BODIES[step],
    ...(step === 'completions' && { evidence: good ? PASSING : FAILING }),
    ...(step === 'verdict' && { verdict: good ? 'accept' : 'reject' }),
    ...(onBehalfOf && { onBehalfOf: app.agents[onBehalfOf].id }),
  }
  const headers: Record<string, string> = {
    ...(ifVersion !== null && { 'if-match': `"${ifVersion}"` }),
    ...(key && { 'idempotency-key': key }),
  }
  return app.step(id, step, { as: by, body, headers })
}

function assertRecord(app: GatedApp, json: string, model: ModelRecord): void {
  const { state, version, nextEvents, gated } = JSON.parse(json)
  const shown = { state, version, nextEvents, revisions: gated.revisions, performer: gated.performer }
  const { performer, revisions } = model
  assert.deepEqual(shown, {
    state: model.state,
    version: model.version,
    nextEvents: nextEventsOf(model),
    revisions,
    performer: performer && app.agents[performer].id,
  })
}

function isRefusedAs(response: Response, { status, code, members }: ModelRefusal): boolean {
  const problem = response.json()
  const same = Object.entries(members).every(
    ([name, value]) => JSON.stringify(problem[name]) === JSON.stringify(value),
  )
  return response.statusCode === status && problem.code === code && same
}

/**
 * Returns true if the request was refused because the state has changed since. Such a refusal is retryable and names
 * the current state.
 */
function isOvertaken(response: Response, { state, version }: ModelRecord): boolean {
  const problem = response.json()
  const said = [problem.code, problem.retryable, problem.state, problem.version]
  return said.join() === ['state_conflict', true, state, version].join()
}

test('random requests, one after another, get the model’s answers', async () => {
  const app = await sharedGatedApp()
  const seen = new Set<string>()
  const drawn = fc.array(
    fc.tuple(
      fc.nat({ max: 1 }),
      fc.oneof(
        { weight: 4, arbitrary: requestArbitrary },
        { weight: 1, arbitrary: fc.constant('replay' as const) },
      ),
    ),
    { minLength: 30, maxLength: 40 },
  )
  await fc.assert(
    fc.asyncProperty(fc.tuple(termsArbitrary, termsArbitrary), drawn, async (terms, actions) => {
      const records = [await create(app, terms[0]), await create(app, terms[1])]
      const keyed: [first: Response, again: () => Promise<Response>][] = []
      for (const [which, action] of actions) {
        const record = records[which]!
        if (action === 'replay') {
          const [first, again] = keyed[which * (keyed.length - 1)] ?? []
          const replayed = await again?.()
          assert.deepEqual(
            [replayed?.body, replayed?.headers['idempotency-replayed']],
            [first?.body, first && 'true'],
          )
        } else if (action.guided && record.model.state === 'SUBMITTED') {
          record.model = verified(record.model).at(-1)!
          assertRecord(app, JSON.stringify(await app.verify(record.id)), record.model)
        } else {
          const request = toRequest(action, record.model)
          const key = request.keyed ? randomUUID() : null
          const response = await send(app, record.id, request, key)
          const expected = answer(record.model, request)
          if ('next' in expected) {
            assert.equal(response.statusCode, 200, response.body)
            record.model = expected.next
            assertRecord(app, response.body, record.model)
            if (key) keyed.push([response, () => send(app, record.id, request, key)])
            seen.add(`${request.step} to ${record.model.state}`)
          } else {
            assert.ok(isRefusedAs(response, expected), `${JSON.stringify(expected)}: ${response.body}`)
            seen.add(expected.code)
          }
        }
      }
    }),
    { numRuns: runs(50), endOnFailure: true },
  )
  await assertVerifies(app)
  const wanted = [
    'not_entitled',
    'not_found',
    'forbidden',
    'version_mismatch',
    'state_conflict',
    'overturn to ACCEPTED',
    'revision to ACTIVE',
    'cancel to CANCELLED',
  ]
  // The steps are random, so up to three of the wanted results may be missing, and more after the few runs outside CI.
  const missingMax = process.env['CI'] === undefined ? 5 : 3
  const reached = wanted.filter((one) => seen.has(one))
  assert.ok(reached.length >= wanted.length - missingMax, `came only to ${[...seen].sort().join(', ')}`)
})

test('simultaneous random requests end as in some sequential order', async () => {
  const app = await sharedGatedApp()
  let contended = 0
  const rounds = fc.array(
    fc.tuple(fc.array(requestArbitrary, { minLength: 2, maxLength: 8 }), fc.boolean()),
    { minLength: 3, maxLength: 8 },
  )
  const property = fc.asyncProperty(termsArbitrary, rounds, async (terms, all) => {
    const record = await create(app, terms)
    for (const [drawn, worker] of all) {
      const requests = drawn.map((one) => toConcurrent(one, record.model))
      const [answers] = await Promise.all([
        Promise.all(
          requests.map(async (request, i) => {
            await sleep(drawn[i]!.pick * STAGGER_MS)
            return send(app, record.id, request, null)
          }),
        ),
        worker ? app.verify(record.id) : null,
      ])
      if (worker) await app.verify(record.id)
      const history = replayInChainOrder(app, record.model, requests, answers, worker)
      contended += answers.filter((one) => one.statusCode === 200).length > 1 ? 1 : 0
      record.model = history.at(-1)!
      assertRecord(app, JSON.stringify(await app.get(record.id)), record.model)
      for (const [i, response] of answers.entries()) {
        if (response.statusCode === 200) continue
        const explained = history.some((then) => {
          const said = answer(then, requests[i]!)
          return !('next' in said) ? isRefusedAs(response, said) : isOvertaken(response, then)
        })
        assert.ok(explained, `no state that the record had explains ${response.body}`)
      }
    }
    const { data } = (await app.send('GET', `/v1/records/${record.id}/entries?limit=200`)).json()
    assert.equal(data.length, record.model.version, 'one entry a version')
  })
  // Requests and their interleaving are random. So in twenty runs there may be no round in which two steps are
  // accepted.
  for (let i = 0; i < CONTENTION_TRIES_MAX && contended === 0; i++)
    await fc.assert(property, { numRuns: runs(20), endOnFailure: true })
  assert.ok(contended > 0, 'no round had two steps that were taken')
  await assertVerifies(app)
})

const CONTENTION_TRIES_MAX = 5

/** Replays the accepted requests in chain order, with the worker's steps. Returns each version of the record. */
function replayInChainOrder(
  app: GatedApp,
  from: ModelRecord,
  requests: readonly ModelRequest[],
  answers: readonly Response[],
  worker: boolean,
): ModelRecord[] {
  const history = [from]
  const taken = answers
    .map((response, i) => ({ response, request: requests[i]! }))
    .filter(({ response }) => response.statusCode === 200)
    .sort((a, b) => a.response.json().version - b.response.json().version)
  const byWorker = () => history.push(...(worker ? verified(history.at(-1)!) : []))
  for (const { response, request } of taken) {
    if (response.json().version > history.at(-1)!.version + 1) byWorker()
    const said = answer(history.at(-1)!, request)
    assert.ok('next' in said, `${request.step} was taken in spite of ${JSON.stringify(said)}`)
    assertRecord(app, response.body, said.next)
    history.push(said.next)
  }
  byWorker()
  return history
}
