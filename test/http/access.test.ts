import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify, { type RouteOptions } from 'fastify'
import { z } from 'zod'
import { makeProve } from '../../src/http/connections/prove.ts'
import type { Access } from '../../src/http/plugins/authenticate.ts'
import { useAuthentication } from '../../src/http/plugins/authenticate.ts'
import { findLedgerOfKey, makeApiKey } from '../../src/ledgers/api-keys.ts'
import type { NewLedger } from '../../src/ledgers/create-ledger.ts'
import { SCOPES, type Scope } from '../../src/ledgers/scopes.ts'
import { NIL_UUID, parseId } from '../../src/proof/ids.ts'
import {
  buildTestApp,
  expectStatus,
  genericBody,
  OPERATOR_KEY,
  type SendOptions,
  type TestApp,
} from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addAgent, addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { addStatement } from '../helpers/signed-statements.ts'
import { addPeer } from '../helpers/test-peers.ts'
import { makeWebhook } from '../helpers/webhooks.ts'

/**
 * A key that the test sends. `expect` returns the code with which a route of an access class must refuse the key, or
 * null if the route must accept the key.
 */
/** `isKey`: true for a valid or absent key. Invalid keys are refused before the route is known. */
type Presented = { what: string; key: string | null; isKey: boolean; expect(access: Access): string | null }

/**
 * Values of the parameters of all addresses that begin with `begins`: ids of this ledger (which the test may change),
 * ids of another ledger, and ids that do not exist. `foreign` is null if the parameter is not an id. The test fails for
 * a route that is not listed, so that the author of a new route chooses its ids.
 */
type Address = { begins: string; own: Ids; foreign: Ids | null; nowhere: Ids | null }
type Ids = Record<string, string>

const named = (route: RouteOptions) => `${route.method} ${route.url}`
const SECRET_PAYLOAD = 'value-that-must-not-be-logged'

test('every route', async (t) => {
  const app = await sharedApp()
  const { routes } = app
  const elsewhere = await app.newLedger()
  const own = await app.notarize({ type: 'generic/1', payload: { own: SECRET_PAYLOAD } })
  const foreign = await app.notarize(
    { type: 'generic/1', payload: { foreign: SECRET_PAYLOAD } },
    { key: elsewhere.key.key },
  )
  const addresses = await spoilable(app, elsewhere)
  const keys = await presentedKeys(app, elsewhere.key.key)
  const scoped = makeScopedKeys(app)

  await t.test('declares who may call it; only known routes are public or for peers', () => {
    assert.ok(routes.length >= 11)
    for (const route of app.routes) assert.ok(route.config?.access, named(route))
    const open = routes.filter((route) => route.config!.access === 'public').map(named)
    assert.deepEqual(open.sort(), PUBLIC)
    const operator = routes.filter((route) => route.config!.access === 'operator').map((route) => route.url)
    for (const url of operator) assert.match(url, /^\/v1\/ledgers(\/|$)/)
    const ofPeers = routes.filter((route) => isForPeers(route.config!.access!))
    assert.deepEqual(ofPeers.map(named).sort(), FOR_PEERS)
    for (const { schema } of ofPeers) assert.ok(schema!.hide)
  })

  await t.test('without declared access is refused at registration', () => {
    const other = Fastify()
    useAuthentication(other, { ...app.deps, prove: makeProve(app.deps) })
    assert.throws(() => other.get('/open', async () => 'x'), /GET \/open does not say who may call it/)
  })

  const tried = new Set<string>()
  for (const route of routes) {
    const access = route.config!.access!
    // Invalid keys are tested with one route of each access class, because they are refused before the route is known.
    const kind = typeof access === 'object' ? 'key' : access
    const ofKind = tried.has(kind) ? keys.filter(({ isKey }) => isKey) : keys
    tried.add(kind)
    const chosen = [...ofKind, ...(await scoped.of(access))]
    const { own } = addressOf(addresses, route)
    const [refused, taken] = [true, false].map((isRefused) =>
      chosen.filter(({ expect }) => (expect(access) !== null) === isRefused),
    ) as [Presented[], Presented[]]
    await t.test(
      `${named(route)} refuses ${refused.length} kinds of keys and accepts ${taken.length}`,
      async () => {
        const before = await app.written()
        for (const { what, key, expect } of refused) {
          const code = expect(access)!
          const to = `to ${what}`
          const response = await request(app, route, key, own)
          const status = code === 'forbidden' ? 403 : 401
          if (route.config!.otlp) {
            assert.equal(response.statusCode, status, to)
            assert.ok(response.json().message.startsWith(`${code}: `), to)
            continue
          }
          const problem = assertProblem(response, status, code, to)
          assert.equal(response.headers['www-authenticate'], code === 'forbidden' ? undefined : 'Bearer', to)
          if (code !== 'forbidden') continue
          assert.equal(problem['scope'], scopesOf(access)[0], to)
          assert.ok(
            String(problem['detail']).endsWith(` lacks the scope ${scopesOf(access).join(' or ')}`),
            to,
          )
        }
        assert.deepEqual(await app.written(), before)
        for (const { what, key } of taken) {
          const response = await request(app, route, key, own)
          assert.ok(![401, 403].includes(response.statusCode), `to ${what}: ${response.body}`)
        }
      },
    )
  }

  for (const route of routes.filter((r) => r.url.includes(':') && typeof r.config!.access === 'object')) {
    const { foreign: theirs, nowhere } = addressOf(addresses, route)
    if (!theirs || !nowhere) continue
    await t.test(`${named(route)} answers ids of another ledger like unknown ids`, async () => {
      const before = await app.written()
      const answers = await Promise.all(
        [theirs, nowhere].map(async (ids) => ({
          ids,
          response: await request(app, route, app.ledger.key.key, ids),
        })),
      )
      const [other, none] = answers.map(({ ids, response }) => {
        const { requestId, ...problem } = assertProblem(response, 404, 'not_found')
        const { date, 'content-length': _, ...headers } = response.headers
        const text = Object.values(ids).reduce((all, id) => all.replaceAll(id, 'ID'), JSON.stringify(problem))
        return { problem: JSON.parse(text), headers }
      })
      assert.deepEqual(other, none)
      assert.deepEqual(await app.written(), before)
    })
  }

  for (const route of routes.filter((r) => ownScopeOf(r) !== null && r.url.includes(':id'))) {
    await t.test(
      `${named(route)} shows an agent with ${ownScopeOf(route)} only its own records`,
      async () => {
        const agent = await addAgent(app, `own of ${named(route)}`)
        const key = await addKey(app, { agent, scopes: [ownScopeOf(route)!, 'records:write'] })
        const mine = await app.notarize(genericBody(), { key })
        assertProblem(await request(app, route, key, { id: own.id }), 404, 'not_found')
        const shown = await request(app, route, key, { id: mine.id })
        assert.ok(shown.statusCode < 300 || shown.json().code === 'checkpoint_pending', shown.body)
      },
    )
  }

  await t.test('shows a ledger’s key only that ledger', async () => {
    for (const [key, ledger] of [
      [app.ledger.key.key, app.ledger.ledger.id],
      [elsewhere.key.key, elsewhere.ledger.id],
    ] as const) {
      const about = await app.send('GET', '/v1/ledger', { key })
      assert.equal(about.json().id, ledger)
      for (const url of ['/v1/entries', '/v1/export']) {
        const lines = (await app.send('GET', url, { key })).body
        const foreignLedger = ledger === app.ledger.ledger.id ? elsewhere.ledger.id : app.ledger.ledger.id
        assert.ok(!lines.includes(foreignLedger))
        assert.ok(!lines.includes(ledger === app.ledger.ledger.id ? foreign.id : own.id))
      }
    }
  })

  await t.test('logs no key, no payload and no secret of the master key', async () => {
    await app.send('POST', '/v1/records', {
      text: `{"type":"generic/1","payload":{"a":"${SECRET_PAYLOAD}","a":1}}`,
    })
    await app.send('GET', `/v1/records/${own.id}?key=${app.ledger.key.key}`)
    assertNoSecrets(app, [...keys.map(({ key }) => key), ...(await scoped.all()), SECRET_PAYLOAD])
  })
})

test('a key with only audit:read gets entries and proofs, but no documents', async () => {
  const app = await sharedApp()
  const record = await app.notarize(genericBody({ private: 'to the agents' }))
  const batch = await app.send('POST', '/v1/records/batch', {
    body: { records: [genericBody({ private: 2 })] },
  })
  const auditor = await addKey(app, { scopes: ['audit:read'] })
  for (const url of ['/v1/entries', '/v1/export']) {
    const { body } = await app.send('GET', url, { key: auditor })
    assert.ok(body.includes(record.digest))
    assert.ok(body.includes(batch.json().records[0].digest))
    assert.doesNotMatch(body, /private/)
    assert.ok(!body.includes(record.salt))
    assert.ok(!body.includes(batch.json().records[0].salt))
  }
  const both = await addKey(app, { scopes: ['audit:read', 'records:read'] })
  assert.match((await app.send('GET', '/v1/entries', { key: both })).body, /to the agents/)
})

test('onBehalfOf without the scope agents:act is refused with 403 forbidden', async () => {
  const app = await sharedApp()
  const writer = await addKey(app, { scopes: ['records:write'] })
  const before = await app.written()
  const body = { ...genericBody(), onBehalfOf: app.ledger.agent.id }
  const alone = assertProblem(await app.send('POST', '/v1/records', { key: writer, body }), 403, 'forbidden')
  assert.equal(alone['scope'], 'agents:act')
  const records = [genericBody(), body]
  const batch = await app.send('POST', '/v1/records/batch', { key: writer, body: { records } })
  assert.equal(assertProblem(batch, 403, 'forbidden')['index'], 1)
  assert.deepEqual(await app.written(), before)
})

test('onBehalfOf with an agent of another ledger is refused with 422 unknown_agent', async () => {
  const app = await sharedApp()
  const elsewhere = await app.newLedger()
  const before = await app.written()
  const body = { ...genericBody(), onBehalfOf: elsewhere.agent.id }
  assertProblem(await app.send('POST', '/v1/records', { body }), 422, 'unknown_agent')
  assert.deepEqual(await app.written(), before)
})

test('an internal error shows no details to the client, and logs no values', async (t) => {
  const app = await buildTestApp(t)
  await app.sql(
    `alter table tallystick.records add constraint a_fault check (length(payload) < 10) not valid;
     alter table tallystick.batch_chunks add constraint a_fault check (count < 1) not valid`,
  )
  const body = { type: 'generic/1', payload: { text: SECRET_PAYLOAD }, metadata: { text: SECRET_PAYLOAD } }
  for (const [url, sent] of [
    ['/v1/records', body],
    ['/v1/records/batch', { records: [body] }],
  ] as const) {
    const response = await app.send('POST', url, { body: sent })
    const problem = assertProblem(response, 500, 'internal_error')
    assert.equal(problem['retryable'], false)
    assert.doesNotMatch(response.body, /a_fault|constraint|records/)
    assert.ok(app.logs().includes(problem['requestId'] as string) || app.logs().includes('a_fault'))
  }
  assert.match(app.logs(), /a_fault/)
  assert.doesNotMatch(app.logs(), /Failing row/)
  assertNoSecrets(app, [SECRET_PAYLOAD, Buffer.from(SECRET_PAYLOAD).toString('hex'), app.ledger.key.key])
})

test('the answer to a new ledger has Cache-Control: no-store', async () => {
  const app = await sharedApp()
  const response = await app.send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body: { name: 'x' } })
  assert.equal(response.headers['cache-control'], 'no-store')
})

async function presentedKeys(app: TestApp, foreign: string): Promise<Presented[]> {
  const good = app.ledger.key.key
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const lastDigit = good.at(-1) === '0' ? '1' : '0'
  // Servers of peers sign their requests instead of using keys. So a request with a key is refused like a request of an
  // unknown peer.
  const asNoKey = (access: Access) =>
    access === 'public' ? null : isForPeers(access) ? 'peer_unknown' : 'unauthenticated'
  const asKey = (code: string | null) => (access: Access) =>
    typeof access === 'object' ? code : asNoKey(access)
  const expired = await addKey(app, { scopes: SCOPES, expiresAtMs: Date.now() - 1 })
  const refused: [string, string | null][] = [
    ['no key', null],
    ['an empty key', ''],
    ['two words', `${good} ${good}`],
    ['a key cut short', good.slice(0, -1)],
    ['a key with a wrong checksum', good.slice(0, -1) + lastDigit],
    ['a key in capitals', good.toUpperCase()],
    ['a well-formed key that nobody made', makeApiKey(ledgerId)],
    ['a well-formed key of a ledger that is nowhere', makeApiKey(NIL_UUID)],
    ['a key with 300 characters', `tly_${'a'.repeat(300)}`],
    ['an operator key that is not the operator’s', `${OPERATOR_KEY.slice(0, -1)}0`],
  ]
  assert.ok(findLedgerOfKey(good))
  // A mistyped key is refused without a database query.
  for (const [what, key] of refused.slice(2, 6)) assert.equal(findLedgerOfKey(key!), null, what)
  return [
    ...refused.map(([what, key]) => ({ what, key, expect: asNoKey, isKey: what === 'no key' })),
    { what: 'an expired key', key: expired, expect: asKey('key_expired'), isKey: true },
    { what: 'a key with all scopes', key: good, expect: asKey(null), isKey: true },
    { what: 'a key of another ledger', key: foreign, expect: asKey(null), isKey: true },
    {
      what: 'the operator’s key',
      key: OPERATOR_KEY,
      expect: (a: Access) => (a === 'operator' ? null : asNoKey(a)),
      isKey: true,
    },
    {
      isKey: true,
      what: 'a key without scopes',
      key: await addKey(app, { scopes: [] }),
      expect: asKey('forbidden'),
    },
  ]
}

/**
 * Makes keys for an access class. The first key has all scopes except those that the route accepts, and must be
 * refused. Each of the other keys has one accepted scope.
 */
function makeScopedKeys(app: TestApp) {
  const made = new Map<string, Promise<string>>()
  const keyWith = (scopes: readonly Scope[]): Promise<string> => {
    const name = scopes.join()
    const key = made.get(name) ?? addKey(app, { scopes })
    made.set(name, key)
    return key
  }
  return {
    all: () => Promise.all(made.values()),
    async of(access: Access): Promise<Presented[]> {
      const needed = scopesOf(access)
      if (needed.length === 0) return []
      const others = SCOPES.filter((scope) => !needed.includes(scope))
      const refused = {
        what: `a key with all scopes but ${needed.join(' and ')}`,
        key: await keyWith(others),
        isKey: true,
        expect: () => 'forbidden',
      }
      const taken = needed.map(async (scope) => ({
        what: `a key with ${scope} only`,
        key: await keyWith([scope]),
        isKey: true,
        expect: () => null,
      }))
      return [refused, ...(await Promise.all(taken))]
    },
  }
}

const PUBLIC = [
  'GET /',
  'GET /.well-known/scitt-keys',
  'GET /.well-known/scitt-keys/:kid',
  'GET /.well-known/tallystick-keys.json',
  'GET /console',
  'GET /console/',
  'GET /console/*',
  'GET /docs',
  'GET /docs/base.js',
  'GET /docs/scalar.js',
  'GET /livez',
  'GET /openapi.json',
  'GET /predicates/:kind/v1',
  'GET /readyz',
]

const FOR_PEERS = [
  'POST /v1/federation/checkpoint',
  'POST /v1/federation/entries',
  'POST /v1/federation/peerings',
  'POST /v1/federation/rotations',
  'POST /v1/federation/summary',
]

function isForPeers(access: Access): boolean {
  return access === 'peer' || access === 'introduction'
}

/** Returns the scopes of which a key needs one. The error names the first of these scopes. */
function scopesOf(access: Access): readonly Scope[] {
  if (typeof access !== 'object') return []
  return [access.scope, access.own ?? []].flat()
}

function ownScopeOf(route: RouteOptions): Scope | null {
  const access = route.config!.access!
  return (typeof access === 'object' && access.own) || null
}

async function spoilable(app: TestApp, elsewhere: NewLedger): Promise<Address[]> {
  const own = await app.notarize(genericBody())
  const foreign = await app.notarize(genericBody(), { key: elsewhere.key.key })
  const agent = await addAgent(app, 'to be spoiled')
  const { id: key } = (
    await app.send('POST', '/v1/keys', { body: { name: 'to be spoiled', agent, scopes: [] } })
  ).json()
  const { id: audit } = (await app.send('POST', '/v1/audits', { body: {} })).json()
  const { id: foreignAudit } = (
    await app.send('POST', '/v1/audits', { body: {}, key: elsewhere.key.key })
  ).json()
  const victim = await app.newLedger()
  const digits = '01jegv5gyme05800000000000a'
  const foreignKey = { id: elsewhere.key.id }
  const foreignType = { name: 'foreign-type', version: 777, payloadSchema: true }
  await app.send('POST', '/v1/types', { body: foreignType, key: elsewhere.key.key })
  const [hook, foreignHook] = [await makeHook(app, app.ledger), await makeHook(app, elsewhere)]
  const [ownShared, foreignShared] = [await makeShared(app, app.ledger), await makeShared(app, elsewhere)]
  const [peer, foreignPeer] = [
    { id: await invitePeer(app, app.ledger) },
    { id: await invitePeer(app, elsewhere) },
  ]
  const held = await app.send('POST', '/v1/holds', {
    body: { case: 'theirs', type: 'other/1' },
    key: elsewhere.key.key,
  })
  const foreignHold = String(expectStatus(201, held).json().seq)
  const [statement, foreignStatement] = [await addStatement(app), await addStatement(app, elsewhere)]
  const [ownGated, foreignGated] = [await makeGated(app, app.ledger), await makeGated(app, elsewhere)]
  return [
    {
      begins: '/v1/records/:id/completions/:completion/',
      own: ownGated.completed,
      foreign: foreignGated.completed,
      nowhere: { id: `rec_${digits}`, completion: `cmp_${digits}` },
    },
    {
      begins: '/v1/records/:id/entries/:seq/',
      own: ownGated.cancelled,
      foreign: foreignGated.cancelled,
      nowhere: { ...foreignGated.cancelled, id: `rec_${digits}` },
    },
    {
      begins: '/v1/records/',
      own: { id: own.id },
      foreign: { id: foreign.id },
      nowhere: { id: `rec_${digits}` },
    },
    {
      begins: '/v1/agents/:id/signing-keys/',
      own: { id: agent, kid: 'ab'.repeat(32) },
      foreign: { id: elsewhere.agent.id, kid: 'ab'.repeat(32) },
      nowhere: { id: `agt_${digits}`, kid: 'ab'.repeat(32) },
    },
    {
      begins: '/v1/agents/',
      own: { id: agent },
      foreign: { id: elsewhere.agent.id },
      nowhere: { id: `agt_${digits}` },
    },
    {
      begins: '/v1/types/',
      own: { name: 'generic', version: '1' },
      foreign: { name: 'foreign-type', version: '777' },
      nowhere: { name: 'no-type', version: '888' },
    },
    { begins: '/v1/keys/', own: { id: key }, foreign: foreignKey, nowhere: { id: `key_${digits}` } },
    {
      begins: '/v1/audits/',
      own: { id: audit },
      foreign: { id: foreignAudit },
      nowhere: { id: `aud_${digits}` },
    },
    {
      begins: '/v1/webhooks/:id/deliveries/:event',
      own: hook,
      foreign: foreignHook,
      nowhere: { id: `whk_${digits}`, event: `evt_${digits}` },
    },
    {
      begins: '/v1/webhooks/',
      own: { id: hook.id },
      foreign: { id: foreignHook.id },
      nowhere: { id: `whk_${digits}` },
    },
    {
      begins: '/v1/peers/:id/records/',
      own: ownShared,
      foreign: foreignShared,
      nowhere: { id: `peer_${digits}`, record: `rec_${digits}` },
    },
    { begins: '/v1/peers/', own: peer, foreign: foreignPeer, nowhere: { id: `peer_${digits}` } },
    { begins: '/v1/ledgers/', own: { id: victim.ledger.id }, foreign: null, nowhere: null },
    { begins: '/console/', own: { '*': 'nothing.js' }, foreign: null, nowhere: null },
    { begins: '/predicates/', own: { kind: 'record-notarized' }, foreign: null, nowhere: null },
    ...['/entries/', '/v1/statements/'].map((begins) => ({
      begins,
      own: { id: statement.id },
      foreign: { id: foreignStatement.id },
      nowhere: { id: `stm_${digits}` },
    })),
    { begins: '/.well-known/scitt-keys/', own: { kid: 'AA' }, foreign: null, nowhere: null },
    // The other ledger's hold has a seq that no hold of this ledger has.
    { begins: '/v1/holds/', own: { seq: '0' }, foreign: { seq: foreignHold }, nowhere: { seq: '999999' } },
    { begins: '/v1/entries/', own: { seq: '0' }, foreign: null, nowhere: null },
    {
      begins: '/tlog/',
      own: { ledger: app.ledger.ledger.id, '*': '0/000.p/1' },
      foreign: { ledger: elsewhere.ledger.id, '*': '0/000.p/1' },
      nowhere: { ledger: `led_${digits}`, '*': '0/000.p/1' },
    },
    { begins: '/v1/checkpoints/', own: { size: '1' }, foreign: null, nowhere: null },
  ]
}

async function makeHook(app: TestApp, { key: { key } }: NewLedger): Promise<{ id: string; event: string }> {
  const { id } = await makeWebhook(app, {}, key)
  const test = await app.send('POST', `/v1/webhooks/${id}/test`, { key })
  return { id, event: expectStatus(202, test).json().id }
}

async function makeShared(app: TestApp, ledger: NewLedger): Promise<{ id: string; record: string }> {
  const { peer } = await addPeer(app, 'active', ledger.ledger.id)
  const share = [{ peer, documents: 'whole' }]
  const { id } = await app.notarize({ type: 'task/1', payload: {}, share }, { key: ledger.key.key })
  return { id: peer, record: id }
}

/** Makes two gated records: one with a completion, and one with an entry that has a reason. */
async function makeGated(app: TestApp, ledger: NewLedger): Promise<{ completed: Ids; cancelled: Ids }> {
  const agent = await addAgent(app, 'performer', ledger)
  const performer = await addKey(app, { agent, scopes: ['records:write'], ledger })
  const create = () => app.notarize({ type: 'task/1', payload: {} }, { key: ledger.key.key })
  const step = async (id: string, name: string, key: string, body: object) =>
    expectStatus(200, await app.send('POST', `/v1/records/${id}/${name}`, { key, body })).json()
  const [{ id }, { id: other }] = [await create(), await create()]
  await step(id, 'activate', performer, {})
  const { gated } = await step(id, 'completions', performer, { evidence: {} })
  const { entry } = await step(other, 'cancel', ledger.key.key, { reason: 'no longer needed' })
  return { completed: { id, completion: gated.completion.id }, cancelled: { id: other, seq: `${entry.seq}` } }
}

function addressOf(addresses: Address[], route: RouteOptions): Address {
  if (!/[:*]/.test(route.url)) return { begins: route.url, own: {}, foreign: null, nowhere: null }
  const found = addresses.find(({ begins }) => route.url.startsWith(begins))
  assert.ok(found, `the route ${route.url} takes ids, and this test has none for it`)
  return found
}

/**
 * Returns the documented example of the body, so that the request passes validation and its ids are checked. Returns {}
 * if there is no example.
 */
function bodyOf(route: RouteOptions): unknown {
  const examples = z.globalRegistry.get(route.schema?.body as z.ZodType)?.['examples'] as
    | unknown[]
    | undefined
  return examples?.[0] ?? {}
}

function request(app: TestApp, route: RouteOptions, key: string | null, ids: Ids) {
  const url = route.url.replace(/:(\w+)|\*/g, (rest, name = rest) => {
    assert.ok(ids[name], `the route ${route.url} has a parameter that this test has no id for`)
    return ids[name]!
  })
  // Without this header, SCRAPI routes answer problems in CBOR.
  const headers: Record<string, string> = route.config!.scrapi ? { accept: 'application/json' } : {}
  const options: SendOptions = { key, headers, ...(route.method !== 'GET' && { body: bodyOf(route) }) }
  return app.send(route.method as string, url, options)
}

async function invitePeer(app: TestApp, { key: { key } }: NewLedger): Promise<string> {
  const made = await app.send('POST', '/v1/peers', { key, body: { name: 'to be spoiled' } })
  return expectStatus(201, made).json().id
}

function assertNoSecrets(app: TestApp, secrets: (string | null)[]): void {
  const logs = app.logs()
  const masterKey = Buffer.alloc(32, 7)
  for (const secret of [...secrets, masterKey.toString('hex'), masterKey.toString('base64'), OPERATOR_KEY]) {
    if (secret) assert.ok(!logs.includes(secret), `the log holds ${secret}`)
  }
  assert.doesNotMatch(logs, /tly_|tlo_|Bearer/i)
}
