/*
 * node tools/run.mjs tools/example-answers.ts
 *
 * Writes the example answers of /openapi.json, from a temporary ledger. Run this script when members of answers change.
 * A test checks each example against its schema. Ids, times and signatures differ from run to run.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHere } from '../test/system/deployment/deployment.ts'
import { ROOT } from './bundle.ts'

const FILE = join(ROOT, 'src', 'http', 'openapi', 'example-answers.json')
const WAIT_MS_MAX = 30_000
const LISTED_MAX = 2

type Params = Readonly<Record<string, string>>
// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, of which a few members are read
type Answer = any
type Call = {
  readonly params?: Params
  readonly query?: string
  readonly body?: object
  readonly key?: string
}

const examples: Record<string, unknown> = {}
const deployment = await startHere({ TALLYSTICK_PUBLIC_URL: 'https://ledger.example' })
const { url, operatorKey } = deployment
let apiKey = ''
try {
  await tellStory()
} finally {
  await deployment.stop()
}
const sorted = Object.fromEntries(Object.entries(examples).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(FILE, `${JSON.stringify(sorted, null, 1)}\n`)
console.log(`${Object.keys(sorted).length} examples in ${FILE}`)
process.exit(0)

/** Calls an operation, and stores the answer as the operation's example. Throws if the call fails. */
async function call(method: string, path: string, given: Call = {}): Promise<Answer> {
  const { params = {}, query = '', body, key = apiKey } = given
  const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => params[name]!)
  const response = await fetch(`${url}${address}${query}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  const answer = JSON.parse(text) as Answer
  examples[`${method} ${path} ${response.status}`] ??= shorten(answer)
  return answer
}

function shorten(answer: Answer): unknown {
  return Array.isArray(answer.data) ? { ...answer, data: answer.data.slice(0, LISTED_MAX) } : answer
}

async function until(get: () => Promise<Answer>, isSo: (answer: Answer) => boolean): Promise<Answer> {
  for (const giveUpAtMs = Date.now() + WAIT_MS_MAX; Date.now() < giveUpAtMs; await sleep(100)) {
    const answer = await get().catch(() => null)
    if (answer !== null && isSo(answer)) return answer
  }
  throw new Error(`no such answer after ${WAIT_MS_MAX} ms`)
}

async function tellStory(): Promise<void> {
  const operator = { key: operatorKey }
  const made = await call('POST', '/v1/ledgers', { ...operator, body: { name: 'Harbour Freight' } })
  apiKey = made.key.key
  const ledger = { params: { id: made.ledger.id } }
  const supplier = await call('POST', '/v1/agents', { body: { name: 'supplier' } })
  const suppliers = await call('POST', '/v1/keys', {
    body: { name: 'supplier', agent: supplier.id, scopes: ['records:write', 'records:read:own'] },
  })
  const record = await call('POST', '/v1/records', {
    body: { type: 'generic/1', payload: { tool: 'search', query: 'price of copper' } },
  })
  const items = ['copper', 'tin'].map((metal) => ({
    type: 'generic/1',
    payload: { tool: 'search', query: `price of ${metal}` },
  }))
  await call('POST', '/v1/records/batch', { body: { records: items } })
  const step = async (id: string, name: string, body: object, key = apiKey) =>
    call('POST', `/v1/records/{id}/${name}`, { params: { id }, body, key })
  const order = () =>
    call('POST', '/v1/records', {
      body: { type: 'task/1', payload: { deliver: '100 boxes' }, performer: supplier.id },
    })
  const getRecord = (id: string) => call('GET', '/v1/records/{id}', { params: { id } })
  const deliver = async () => {
    const { id } = await order()
    await step(id, 'activate', {}, suppliers.key)
    await step(id, 'completions', { evidence: { delivered: 100 } }, suppliers.key)
    delete examples['GET /v1/records/{id} 200']
    await until(
      () => getRecord(id),
      ({ state }) => state === 'VERIFIED',
    )
    return id
  }
  const accepted = await deliver()
  await step(accepted, 'verdict', { verdict: 'accept' })
  const rejected = await deliver()
  await step(rejected, 'verdict', { verdict: 'reject', reason: 'two boxes are broken' })
  await step(rejected, 'overturn', { reason: 'they were packed twice' })
  await step(await deliver(), 'revision', { reason: 'two boxes are missing' })
  await step((await order()).id, 'cancel', { reason: 'ordered twice' })
  delete examples['GET /v1/records/{id} 200']
  await getRecord(accepted)
  await call('GET', '/v1/records', { query: '?limit=2' })
  await call('GET', '/v1/records/{id}/entries', { params: { id: record.id } })
  await call('GET', '/v1/records/{id}/tree', { params: { id: record.id } })
  await until(
    () => call('GET', '/v1/records/{id}/proof', { params: { id: record.id } }),
    () => true,
  )
  await call('GET', '/v1/entries/{seq}/proof', { params: { seq: '1' } })
  await call('GET', '/v1/events', { query: '?limit=2' })

  await call('GET', '/v1/ledger')
  await call('GET', '/v1/agents')
  await call('GET', '/v1/agents/{id}', { params: { id: supplier.id } })
  await call('GET', '/v1/agents/{id}/signing-keys', { params: { id: supplier.id } })
  await call('GET', '/v1/keys')
  const key = { params: { id: suppliers.id } }
  await call('GET', '/v1/keys/{id}', key)
  await call('PUT', '/v1/keys/{id}/rate-limit', {
    ...key,
    body: { rateLimit: { requestsPerSecond: 100, burst: 200 } },
  })
  await call('GET', '/v1/types')
  await call('GET', '/v1/types/{name}/{version}', { params: { name: 'task', version: '1' } })

  const webhook = await call('POST', '/v1/webhooks', {
    body: { url: 'https://receiver.example/', events: ['signal.emitted'] },
  })
  const hook = { params: { id: webhook.id } }
  await call('GET', '/v1/webhooks')
  await call('GET', '/v1/webhooks/{id}', hook)
  await call('POST', '/v1/webhooks/{id}/pause', hook)
  await call('GET', '/v1/webhooks/{id}/deliveries', hook)

  await call('POST', '/v1/holds', { body: { case: '2027/4711', agent: supplier.id } })
  await call('GET', '/v1/holds')
  await call('POST', '/v1/retention/rules', { body: { type: 'generic/1', days: 365, basis: 'policy_7' } })
  await call('GET', '/v1/retention/rules')
  await call('DELETE', '/v1/records/{id}/payload', {
    params: { id: record.id },
    body: { code: 'data_subject_request', reason: 'ticket 4711' },
  })
  await call('POST', '/v1/exports', { body: { of: {}, from: 0, documents: 'all' } })
  await call('GET', '/v1/checkpoints', { query: '?limit=2' })
  const audit = await call('POST', '/v1/audits', { body: {} })
  await until(
    async () => {
      delete examples['GET /v1/audits/{id} 200']
      return call('GET', '/v1/audits/{id}', { params: { id: audit.id } })
    },
    ({ state }) => state !== 'queued' && state !== 'running',
  )
  await call('GET', '/v1/audits')

  await call('GET', '/v1/ledgers', operator)
  await call('GET', '/v1/ledgers/{id}', { ...operator, ...ledger })
  await call('PUT', '/v1/ledgers/{id}/rate-limit', {
    ...operator,
    ...ledger,
    body: { rateLimit: { requestsPerSecond: 1000, burst: 2000 } },
  })
  await call('GET', '/.well-known/tallystick-keys.json')
  await call('GET', '/livez')
  await call('GET', '/readyz')
}
