import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { expectStatus } from '../helpers/app.ts'
import { samplesOfItem } from '../helpers/every-member.ts'
import { FAILING, type GatedApp, STEP_NAMES, type StepName, sharedGatedApp } from '../helpers/gated-app.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { ERASE, erase } from '../helpers/personal-records.ts'
import { runs } from '../helpers/runs.ts'

/** Sequences of steps. Together they take every transition that has a route. `verify` is a step of the worker. */
const WAYS: readonly (readonly (StepName | 'verify' | 'fail' | 'reject')[])[] = [
  ['cancel'],
  ['activate', 'cancel'],
  ['activate', 'completions', 'verify', 'revision', 'completions', 'verify', 'verdict'],
  ['activate', 'fail', 'verify', 'reject', 'overturn'],
]

test('the answer of a write equals the record of the next read, with any members', async () => {
  const app = await sharedGatedApp()
  const samples = await samplesOf(app)
  const full = fullBody(samples)
  const taken = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      bodies(samples),
      bodies(samples),
      fc.constantFrom(...WAYS),
      terms(app),
      async (one, other, way, agreed) => {
        const id = await assertRead(app, await post(app, one))
        await assertErased(app, id)
        await assertBatch(app, [one, other])
        const created = { ...other, type: 'delivery/1', payload: { quantity: 100 }, ...agreed }
        await assertRead(app, await post(app, created))
        // The record is not on behalf of another agent, so that the key's own agent can take the principal's steps.
        const { onBehalfOf: _, ...body } = created
        const gated = await assertRead(app, await post(app, body))
        for (const step of way) {
          if (step === 'verify') await app.verify(gated)
          else await assertRead(app, await take(app, gated, step), 200)
          taken.add(step)
        }
      },
    ),
    {
      numRuns: runs(12),
      endOnFailure: true,
      examples: WAYS.map((way): [Body, Body, typeof way, object] => [full, full, way, {}]),
    },
  )
  for (const step of STEP_NAMES) assert.ok(taken.has(step), step)
})

type Response = Awaited<ReturnType<GatedApp['send']>>
type Samples = Awaited<ReturnType<typeof samplesOf>>
type Body = { readonly [Name in keyof Samples]?: Samples[Name][number] }

async function samplesOf(app: GatedApp) {
  const agents = [await addAgent(app, 'one'), await addAgent(app, 'other')] as const
  const records = [(await app.notarize()).id, (await app.notarize()).id] as const
  const { type: _, salt: __, ...samples } = samplesOfItem({ agents, records })
  return samples
}

/** Draws bodies with any subset of the members. Each member has any of its sample values. */
function bodies({ payload, ...samples }: Samples): fc.Arbitrary<Body> {
  const members = Object.entries(samples).map(([name, values]) => [name, fc.constantFrom<unknown>(...values)])
  return fc
    .record(Object.fromEntries(members) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] })
    .map((body) => ({ type: 'generic/1', payload: payload[0], ...body }) as Body)
}

function fullBody(samples: Samples): Body {
  const firsts = Object.entries(samples).map(([name, [first]]) => [name, first])
  return { type: 'generic/1', ...Object.fromEntries(firsts) } as Body
}

function terms(app: GatedApp): fc.Arbitrary<object> {
  return fc.record(
    {
      performer: fc.constant(app.agents.performer.id),
      gate: fc.constant('principal'),
      deadline: fc.constant('2040-01-01T00:00:00Z'),
      maxRevisions: fc.integer({ min: 1, max: 3 }),
      tolerances: fc.constant({ quantity: { percent: '7' } }),
    },
    { requiredKeys: [] },
  )
}

function take(app: GatedApp, id: string, step: Exclude<(typeof WAYS)[number][number], 'verify'>) {
  if (step === 'fail') return app.step(id, 'completions', { body: { evidence: FAILING } })
  if (step === 'reject') return app.step(id, 'verdict', { body: { verdict: 'reject' } })
  return app.step(id, step)
}

/** Creates one record. The trace is sent in a header. */
function post(app: GatedApp, { traceparent, ...body }: Body): Promise<Response> {
  return app.send('POST', '/v1/records', { body, ...(traceparent && { headers: { traceparent } }) })
}

async function assertRead(app: GatedApp, response: Response, status = 201): Promise<string> {
  const { id } = expectStatus(status, response).json()
  assert.equal(response.body, expectStatus(200, await app.send('GET', `/v1/records/${id}`)).body)
  return id
}

async function assertErased(app: GatedApp, id: string): Promise<void> {
  const { erasure } = expectStatus(202, await erase(app, id)).json()
  const { code, by, recordedAt, entry } = erasure
  const read = await app.get(id)
  assert.deepEqual(read.erasure, { code, by, recordedAt, seq: entry.seq })
  assert.deepEqual([read.payload, read.salt, read.metadata, read.references], [null, null, null, null])
  assert.equal(code, ERASE.code)
}

async function assertBatch(app: GatedApp, items: readonly Body[]): Promise<void> {
  const answer = expectStatus(
    201,
    await app.send('POST', '/v1/records/batch', { body: { records: items } }),
  ).json()
  for (const { id, digest, salt } of answer.records) {
    const read = await app.get(id)
    assert.deepEqual([read.batch, read.entry], [answer.batch, answer.entry])
    assert.deepEqual([read.digest, read.salt], [digest, salt])
  }
}
