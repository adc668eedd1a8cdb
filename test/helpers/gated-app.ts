import { setTimeout as sleep } from 'node:timers/promises'
import type { LightMyRequestResponse as Response } from 'fastify'
import type pg from 'pg'
import type { Scope } from '../../src/ledgers/scopes.ts'
import { type AppOptions, buildTestApp, expectStatus, type Test, type TestApp } from './app.ts'
import { ALL_TESTS } from './at-end.ts'
import { lendApp } from './lent-app.ts'
import { addAgent, addAgentsWithKeys, addKey } from './more-keys.ts'
import { sharedApp } from './shared-app.ts'
import { makeTestWorker, openTestWorker, openWorkerPool } from './test-worker.ts'

export type Agent = { readonly id: string; readonly key: string }

/** Scopes of the agents that take steps. Each agent has its own key. */
const SCOPES = {
  performer: ['records:write', 'records:read:own'],
  stranger: ['records:write', 'records:read:own'],
  gateway: ['records:write', 'records:read', 'agents:act'],
  overturner: ['verdicts:overturn', 'records:read'],
} as const satisfies Record<string, readonly Scope[]>

export type AgentName = 'principal' | keyof typeof SCOPES

/** Maps each step that has a route to a valid body. */
export const STEP_BODIES = {
  activate: {},
  completions: { evidence: { quantity: 100, currency: 'EUR' } },
  verdict: { verdict: 'accept' },
  revision: { reason: 'the labels are missing' },
  cancel: { reason: 'the order was withdrawn' },
  overturn: { reason: 'the appeal was granted' },
} as const

export type StepName = keyof typeof STEP_BODIES
export const STEP_NAMES = Object.keys(STEP_BODIES) as StepName[]

/** Maps each step to the agent that takes it. Any agent except the performer may take `overturn`. */
export const STEP_AGENTS: Readonly<Record<StepName, AgentName>> = {
  activate: 'performer',
  completions: 'performer',
  verdict: 'principal',
  revision: 'principal',
  cancel: 'principal',
  overturn: 'overturner',
}

/** A type with rules: a completion passes with EUR and a quantity from 95 to 105. */
export const DELIVERY = {
  name: 'delivery',
  version: 1,
  payloadSchema: { type: 'object', properties: { quantity: { type: 'integer' } }, required: ['quantity'] },
  evidenceSchema: { type: 'object', properties: { quantity: { type: 'integer' } }, required: ['quantity'] },
  rules: [
    {
      id: 'quantity',
      op: 'within',
      expected: '/quantity',
      actual: '/quantity',
      tolerance: { percent: '5' },
      overridable: { percentMax: '10' },
    },
    { id: 'currency', op: 'equals', value: 'EUR', actual: '/currency' },
  ],
}
export const PAYLOAD = { quantity: 100 }
export const PASSING = STEP_BODIES.completions.evidence
export const FAILING = { quantity: 94, currency: 'EUR' }

export type StepOptions = {
  readonly as?: AgentName | Agent
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export type GatedApp = TestApp & {
  readonly agents: Readonly<Record<AgentName, Agent>>
  addAgent(name: string, scopes: readonly Scope[]): Promise<Agent>
  /** Creates a `delivery/1` by `principal` for `performer`. `body` replaces members. Fails unless the status is 201. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  create(body?: object, options?: Omit<StepOptions, 'body'>): Promise<any>
  /** Takes a step with the step's usual agent and body, unless `options` override them. */
  step(id: string, name: StepName, options?: StepOptions): Promise<Response>
  /** Takes a step and returns the record. Fails unless the status is 200. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  take(id: string, name: StepName, options?: StepOptions): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  get(id: string): Promise<any>
  /** Runs the worker's verification of the completion and returns the record. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  verify(id: string): Promise<any>
  /** Waits for the deadline, runs the worker's expiry and returns the record. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  expire(id: string): Promise<any>
  expireOverdue(): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  reach(state: string, body?: object): Promise<any>
}

export async function buildGatedApp(t: Test, options: AppOptions = {}): Promise<GatedApp> {
  return gateLedger(t, await buildTestApp(t, options))
}

/** Works like `buildGatedApp`, with an application that is reused (lent-app.ts). */
export async function lendGatedApp(t: Test): Promise<GatedApp> {
  return gateLedger(t, await lendApp(t))
}

let workerPool: pg.Pool | null = null

/** Creates a new ledger, with the gated type and its agents, in the application that all tests of the process share. */
export async function sharedGatedApp(): Promise<GatedApp> {
  const app = await sharedApp()
  workerPool ??= openWorkerPool(ALL_TESTS, app)
  return addGates(app, makeTestWorker(workerPool, app))
}

export async function gateLedger(t: Test, app: TestApp): Promise<GatedApp> {
  return addGates(app, openTestWorker(t, app))
}

async function addGates(app: TestApp, worker: ReturnType<typeof makeTestWorker>): Promise<GatedApp> {
  expectStatus(201, await app.send('POST', '/v1/types', { body: DELIVERY }))
  const agents: Record<AgentName, Agent> = {
    principal: { id: app.ledger.agent.id, key: app.ledger.key.key },
    ...(await addAgentsWithKeys(app, SCOPES)),
  }
  const agentOf = (as: AgentName | Agent) => (typeof as === 'string' ? agents[as] : as)

  const gated: Omit<GatedApp, keyof TestApp> = {
    agents,
    async addAgent(name, scopes) {
      const id = await addAgent(app, name)
      return { id, key: await addKey(app, { agent: id, scopes }) }
    },
    create: (body = {}, { as = 'principal', headers = {} } = {}) =>
      app.notarize(
        { type: 'delivery/1', payload: PAYLOAD, performer: agents.performer.id, ...body },
        { key: agentOf(as).key, headers },
      ),
    step: (id, name, { as = STEP_AGENTS[name], body = STEP_BODIES[name], headers = {} } = {}) =>
      app.send('POST', `/v1/records/${id}/${name}`, { key: agentOf(as).key, body, headers }),
    take: async (id, name, options) => expectStatus(200, await gated.step(id, name, options)).json(),
    get: async (id) => expectStatus(200, await app.send('GET', `/v1/records/${id}`)).json(),
    async verify(id) {
      await worker.verify(id)
      return gated.get(id)
    },
    async expire(id) {
      const { deadline } = (await gated.get(id)).gated
      await sleep(Math.max(0, Date.parse(deadline) - Date.now()))
      await worker.expireOverdue()
      return gated.get(id)
    },
    expireOverdue: worker.expireOverdue,
    async reach(state, body) {
      if (state === 'EXPIRED') {
        const deadline = new Date(Date.now() + EXPIRES_IN_MS).toISOString()
        return gated.expire((await gated.create({ deadline, ...body })).id)
      }
      const { id } = await gated.create(body)
      for (const step of WAYS[state]!) {
        if (step === 'verify') await gated.verify(id)
        else await gated.take(id, ...step)
      }
      return gated.get(id)
    },
  }
  return Object.assign(app, gated)
}

/**
 * Time in ms until the deadline of a record. It is long enough to create the record before its deadline, even on a busy
 * machine.
 */
const EXPIRES_IN_MS = 600

type WayStep = 'verify' | [StepName, StepOptions?]
const SUBMITTED: WayStep[] = [['activate'], ['completions']]
const DISCREPANT: WayStep[] = [['activate'], ['completions', { body: { evidence: FAILING } }], 'verify']
const REJECTED: WayStep[] = [...DISCREPANT, ['verdict', { body: { verdict: 'reject' } }]]

const WAYS: Readonly<Record<string, readonly WayStep[]>> = {
  CREATED: [],
  ACTIVE: [['activate']],
  SUBMITTED,
  VERIFIED: [...SUBMITTED, 'verify'],
  DISCREPANT,
  ACCEPTED: [...SUBMITTED, 'verify', ['verdict']],
  REJECTED,
  CANCELLED: [['cancel']],
}
