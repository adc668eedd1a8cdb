import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { NewLedger } from '../../../src/ledgers/create-ledger.ts'
import { post } from '../../helpers/post.ts'
import { type Deployment, OPERATOR_KEY } from '../deployment/deployment.ts'
import { startTestDeployment } from '../deployment/test-deployment.ts'
import { type Haproxy, isHaproxyThere, type Name, startHaproxy } from './haproxy.ts'

const NAMES = ['a', 'b', 'c'] as const
const skip = !isHaproxyThere && 'haproxy is not installed'

type Route = { readonly method: string; readonly path: string }
/**
 * How a request names its ledger. A request with `none` is about no ledger. If the request has a key, the key still
 * decides which deployment answers.
 */
type Way = 'key' | 'path' | 'peer' | 'named' | 'none'

let deployments: Record<Name, Deployment>
let ledgers: Record<Name, NewLedger>
let haproxy: Haproxy
let routes: Route[]

before(
  async () => {
    if (skip) return
    const context = {
      name: 'three deployments',
      after: (cleanup: () => Promise<void>) => cleanups.push(cleanup),
    }
    const [a, b, c] = await Promise.all(NAMES.map(() => startTestDeployment(context)))
    deployments = { a: a!, b: b!, c: c! }
    const made = await Promise.all(
      NAMES.map((name) =>
        post<NewLedger>(`${deployments[name].url}/v1/ledgers`, OPERATOR_KEY, { name, agent: 'tester' }),
      ),
    )
    ledgers = { a: made[0]!, b: made[1]!, c: made[2]! }
    const urls = { a: deployments.a.url, b: deployments.b.url, c: deployments.c.url }
    haproxy = await startHaproxy(urls, { [ledgers.b.ledger.id]: 'b', [ledgers.c.ledger.id]: 'c' })
    routes = await listRoutes()
  },
  { timeout: 300_000 },
)
const cleanups: (() => Promise<void>)[] = []
test.after(async () => {
  for (const cleanup of cleanups) await cleanup()
})

async function listRoutes(): Promise<Route[]> {
  const { paths } = (await (await fetch(`${haproxy.url}/openapi.json`)).json()) as {
    paths: Record<string, object>
  }
  // These routes are not operations of the REST API, so the OpenAPI document does not list them.
  const others = ['entries', 'checkpoint', 'rotations', 'summary', 'peerings'].map((name) => ({
    method: 'POST',
    path: `/v1/federation/${name}`,
  }))
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => ({ method: method.toUpperCase(), path })),
  )
  return [...described, ...others, { method: 'POST', path: '/mcp' }]
}

/**
 * Implements the table of docs/operate/capacity.md#several-deployments-behind-one-address. A route that matches no
 * line fails the test.
 */
function wayOf({ path }: Route): Way {
  if (path.startsWith('/tlog/{ledger}/') || /^\/v1\/ledgers\/\{id\}/.test(path)) return 'path'
  if (path.startsWith('/v1/federation/')) return 'peer'
  if (path === '/v1/ledgers') return 'named'
  if (/^\/(v1|entries)(\/|$)/.test(path) || path === '/mcp') return 'key'
  if (/^\/(livez|readyz|openapi\.json|\.well-known\/|predicates\/|docs|console|$)/.test(path)) return 'none'
  throw new Error(`nobody has said where ${path} goes`)
}

async function ask({ method, path }: Route, name: Name, way: Way): Promise<Response> {
  const { ledger, key } = ledgers[name]
  const url = path.replace(way === 'path' ? /\{(ledger|id)\}/ : /^$/, ledger.id).replace(/\{[^}]+\}/g, 'x')
  const bearer = way === 'named' || url.startsWith('/v1/ledgers/') ? OPERATOR_KEY : key.key
  return fetch(haproxy.url + url, {
    method,
    headers: {
      ...(way !== 'peer' && { authorization: `Bearer ${bearer}` }),
      ...(way === 'peer' && { 'tallystick-to': ledger.id }),
      ...(way === 'named' && { 'tallystick-deployment': name }),
      ...(method !== 'GET' && method !== 'DELETE' && { 'content-type': 'application/json' }),
    },
    ...(method !== 'GET' && method !== 'DELETE' && { body: '{' }),
    redirect: 'manual',
    signal: AbortSignal.timeout(30_000),
  })
}

test('sends every route of the API to the deployment of its ledger', { skip, timeout: 300_000 }, async () => {
  assert.ok(routes.length > 100, `${routes.length} routes`)
  for (const route of routes) {
    const way = wayOf(route)
    for (const name of NAMES) {
      const response = await ask(route, name, way)
      const where = `${route.method} ${route.path} of ${name} (${way}): ${response.status}`
      assert.equal(response.headers.get('tallystick-deployment'), name, where)
      // The request must have reached the right deployment, because the other deployments know neither the key nor the
      // ledger.
      if (way === 'key') assert.notEqual(response.status, 401, where)
      if (way === 'path' && route.path === '/v1/ledgers/{id}') assert.equal(response.status, 200, where)
      await response.body?.cancel()
    }
  }
})

test('requests without a ledger, or with an unmapped one, go to the deployment of new ledgers', {
  skip,
}, async () => {
  const unknown = ledgers.b.key.key.replace(/^tly_.{6}/, 'tly_01zzzz')
  const requests: [string, Record<string, string>][] = [
    ['/livez', {}],
    ['/console/', {}],
    ['/docs', {}],
    ['/v1/ledgers', { authorization: `Bearer ${OPERATOR_KEY}` }],
    ['/v1/ledger', { authorization: `Bearer ${unknown}` }],
    ['/v1/ledger', {}],
    ['/v1/federation/entries', {}],
  ]
  for (const [path, headers] of requests) {
    const response = await fetch(haproxy.url + path, { headers, redirect: 'manual' })
    assert.equal(response.headers.get('tallystick-deployment'), 'a', path)
    await response.body?.cancel()
  }
  const refused = await fetch(`${haproxy.url}/v1/ledgers`, { headers: { 'tallystick-deployment': 'd' } })
  assert.equal(refused.status, 400)
})

test('the key decides before path and peer header, except on routes that use those', {
  skip,
}, async () => {
  const response = await fetch(`${haproxy.url}/v1/ledger`, {
    headers: {
      authorization: `bearer ${ledgers.c.key.key}`,
      'tallystick-to': ledgers.b.ledger.id,
      'tallystick-deployment': 'b',
    },
  })
  assert.equal(response.headers.get('tallystick-deployment'), 'c')
  assert.equal(((await response.json()) as { id: string }).id, ledgers.c.ledger.id)
})

test('a changed map applies at run time, from the next request on', { skip }, async () => {
  const { command } = haproxy
  const { id } = ledgers.c.ledger
  const whereIsC = async () =>
    (
      await fetch(`${haproxy.url}/v1/ledger`, { headers: { authorization: `Bearer ${ledgers.c.key.key}` } })
    ).headers.get('tallystick-deployment')
  const map = /^\d+ \((.+ledgers\.map)\)/m.exec(await command('show map'))![1]!
  assert.equal((await command(`set map ${map} ${id} b`)).trim(), '')
  assert.equal(await whereIsC(), 'b')
  assert.equal((await command(`set map ${map} ${id} c`)).trim(), '')
  assert.equal(await whereIsC(), 'c')
})
