import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouteOptions } from 'fastify'
import { z } from 'zod'
import { formatId } from '../../src/proof/ids.ts'
import { expectStatus, genericBody, OPERATOR_KEY, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { addPeer } from '../helpers/test-peers.ts'
import { makeWebhook } from '../helpers/webhooks.ts'

type List = { readonly method: string; readonly url: string; readonly isInBody: boolean }

function listsOf(app: TestApp): List[] {
  return app.routes.flatMap(({ method, url, schema }: RouteOptions) => {
    const isIn = (part: unknown) => part instanceof z.ZodObject && 'cursor' in part.shape
    const isInBody = isIn(schema?.body)
    if (typeof method !== 'string' || !(isInBody || isIn(schema?.querystring))) return []
    return [{ method, url, isInBody }]
  })
}

/** Ids of existing objects, for the parameters of URLs and for the members of request bodies. */
type There = {
  readonly record: string
  readonly agent: string
  readonly webhook: string
  readonly peer: string
}

test('a cursor is accepted only by the list that made it', async (t) => {
  const app = await sharedApp()
  const elsewhere = await sharedApp()
  const [here, there] = [await fill(app), await fill(elsewhere)]
  const ask = async (of: TestApp, ids: There, list: List, cursor: string | null, query: object = {}) => {
    const known = { limit: '1', ...(cursor !== null && { cursor }), ...query }
    const body = {
      subject: 'customer-1',
      ...(list.url.endsWith('erase') && { code: 'x' }),
      ...known,
      limit: undefined,
    }
    const key = list.url === '/v1/ledgers' ? { key: OPERATOR_KEY } : {}
    return list.isInBody
      ? await of.send(list.method, list.url, { body })
      : await of.send(list.method, `${addressOf(list.url, ids)}?${new URLSearchParams(known)}`, key)
  }
  const lists = listsOf(app)
  const cursors = new Map<string, string>()
  for (const list of lists) {
    // The route is left out because it erases records, which later lists must show.
    if (list.url.endsWith('erase')) continue
    const page = expectStatus(200, await ask(app, here, list, null)).json()
    const { nextCursor } = page.children ?? page
    if (nextCursor !== null) cursors.set(list.url, nextCursor)
  }

  await t.test('every list is covered, and most have a second page', () => {
    assert.ok(lists.length >= 20, `${lists.length} lists`)
    const without = lists.map(({ url }) => url).filter((url) => !cursors.has(url))
    assert.deepEqual(without.sort(), [
      // Lists without a second page. A second page would need a worker, a peer that answers, or a thousand documents.
      '/v1/agents/:id/signing-keys',
      '/v1/audits',
      '/v1/checkpoints',
      '/v1/peers/:id/dead-letters',
      '/v1/peers/:id/forks',
      '/v1/peers/:id/records',
      '/v1/records/:id/entries',
      '/v1/statements',
      '/v1/subjects/erase',
      '/v1/subjects/find',
      '/v1/webhooks/:id/deliveries',
    ])
  })

  for (const list of lists) {
    await t.test(`${list.method} ${list.url}`, async () => {
      const own = cursors.get(list.url)
      if (own) expectStatus(200, await ask(app, here, list, own))
      const others = [...cursors].filter(([url]) => url !== list.url).map(([, cursor]) => cursor)
      for (const cursor of others) await assertForeign(await ask(app, here, list, cursor))
      if (own && list.url !== '/v1/ledgers') await assertForeign(await ask(elsewhere, there, list, own))
    })
  }

  await t.test(
    'a cursor is refused with other filters or another order, and accepted with their defaults',
    async () => {
      const cases: [url: string, query: Record<string, string>][] = [
        ['/v1/records', { order: 'asc' }],
        ['/v1/records', { type: 'generic/1' }],
        ['/v1/keys', { agent: here.agent }],
        ['/v1/types', { name: 'one' }],
        ['/v1/holds', { standing: 'true' }],
      ]
      for (const [url, query] of cases) {
        const list = lists.find((one) => one.url === url)!
        await assertForeign(await ask(app, here, list, cursors.get(url)!, query))
      }
      for (const [url, query] of [
        ['/v1/records', { order: 'desc' }],
        ['/v1/holds', { standing: 'false' }],
      ] as const)
        expectStatus(
          200,
          await ask(app, here, lists.find((one) => one.url === url)!, cursors.get(url)!, query),
        )
      // A cursor of events is a position in the chain, so the next page may use another filter.
      const events = lists.find(({ url }) => url === '/v1/events')!
      expectStatus(
        200,
        await ask(app, here, events, cursors.get('/v1/events')!, { events: 'record.recorded' }),
      )
    },
  )
})

async function assertForeign(response: Parameters<typeof assertProblem>[0]): Promise<void> {
  const problem = assertProblem(response, 422, 'invalid_request')
  assert.equal(problem['path'], '/cursor')
  assert.match(problem['detail'] as string, /the cursor belongs to another list/)
}

function addressOf(url: string, { record, agent, webhook, peer }: There): string {
  const id = url.startsWith('/v1/records') ? record : url.startsWith('/v1/agents') ? agent : null
  return url.replace(':id', id ?? (url.startsWith('/v1/webhooks') ? webhook : peer))
}

/** Makes two objects of each kind that a ledger may have many of. */
async function fill(app: TestApp): Promise<There> {
  const made: There[] = []
  for (const n of [1, 2]) {
    const post = async (url: string, body: object) =>
      expectStatus(201, await app.send('POST', url, { body })).json()
    const { id: agent } = await post('/v1/agents', { name: `agent ${n}` })
    await post('/v1/keys', { name: `key ${n}`, agent, scopes: [] })
    await post('/v1/types', { name: 'one', version: n, payloadSchema: true })
    const { id: record } = await app.notarize({ ...genericBody(), subject: 'customer-1' })
    await post('/v1/holds', { case: `case-${n}`, records: [record] })
    const { id: webhook } = await makeWebhook(app, {
      description: `webhook ${n}`,
      events: n === 1 ? ['*'] : ['record.recorded'],
    })
    const peer = formatId('peer', (await addPeer(app)).peerId)
    made.push({ record, agent, webhook, peer })
  }
  const [first, second] = made as [There, There]
  for (const _ of [1, 2]) await app.notarize({ ...genericBody(), parent: first.record })
  return { ...first, webhook: second.webhook }
}
