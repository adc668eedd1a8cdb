import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { buildGatedApp } from '../../helpers/gated-app.ts'
import { addTestHome } from '../../helpers/test-home.ts'

const DEFINITION = { name: 'errand', version: 3, payloadSchema: true, evidenceSchema: true, rules: [] }

test('GET /v1/peers/{id}/records lists records that are shared in either direction', async (t) => {
  const app = await buildGatedApp(t)
  const [home, other] = [await addTestHome(app), await addTestHome(app)]
  const { performer } = app.agents
  const share = (documents: 'whole' | 'digests', peer = home.peer) => ({ share: [{ peer, documents }] })
  const list = async (query = '', peer = home.peer) =>
    expectStatus(200, await app.send('GET', `/v1/peers/${peer}/records${query}`)).json()

  const own = await app.create(share('digests'))
  const taken = await home.share({
    performer: performer.id,
    type: { name: 'errand/3', definition: DEFINITION },
  })
  await app.create(share('whole', other.peer))
  const later = await app.create(share('whole'))
  await app.take(later.id, 'cancel')
  const last = await home.share({ performer: performer.id, documents: 'digests' })
  await other.share()
  const { offer } = expectStatus(202, await app.step(taken.id, 'activate')).json().gated
  const expected = [
    {
      id: own.id,
      role: 'home',
      documents: 'digests',
      type: 'delivery/1',
      state: 'CREATED',
      version: 1,
      offer: null,
    },
    {
      id: taken.id,
      role: 'guest',
      documents: 'whole',
      type: 'errand/3',
      state: 'CREATED',
      version: 1,
      offer,
    },
    {
      id: later.id,
      role: 'home',
      documents: 'whole',
      type: 'delivery/1',
      state: 'CANCELLED',
      version: 2,
      offer: null,
    },
    {
      id: last.id,
      role: 'guest',
      documents: 'digests',
      type: 'task/1',
      state: 'CREATED',
      version: 1,
      offer: null,
    },
  ]

  await t.test('in the order of ids, without records of other peers', async () => {
    assert.deepEqual(await list(), { data: expected, nextCursor: null })
    assert.equal((await list('', other.peer)).data.length, 2)
  })

  await t.test('page by page', async () => {
    const found: unknown[] = []
    let cursor: string | null = ''
    for (let pages = 0; cursor !== null; pages++) {
      assert.ok(pages < 5)
      const page: { data: unknown[]; nextCursor: string | null } = await list(
        `?limit=1${cursor && `&cursor=${cursor}`}`,
      )
      assert.equal(page.data.length, 1)
      found.push(...page.data)
      cursor = page.nextCursor
    }
    assert.deepEqual(found, expected)
    assertProblem(await app.send('GET', `/v1/peers/${home.peer}/records?cursor=e30`), 422, 'invalid_request')
  })

  await t.test('a single record comes with the definition of the peer’s type', async () => {
    const one = async (id: string) =>
      expectStatus(200, await app.send('GET', `/v1/peers/${home.peer}/records/${id}`)).json()
    assert.deepEqual(await one(taken.id), { ...expected[1], typeDefinition: DEFINITION })
    // The answer has no definition if the type is built-in or belongs to this ledger.
    assert.deepEqual(await one(last.id), { ...expected[3], typeDefinition: null })
    assert.deepEqual(await one(own.id), { ...expected[0], typeDefinition: null })
  })

  await t.test('both records are listed if both sides have a record of one id', async () => {
    await home.share({ id: own.id })
    const { data } = await list()
    const roles = data
      .filter(({ id }: { id: string }) => id === own.id)
      .map(({ role }: { role: string }) => role)
    assert.deepEqual(roles, ['guest', 'home'])
    const seen: string[] = []
    const first = await list('?limit=1')
    const second = await list(`?limit=1&cursor=${first.nextCursor}`)
    for (const { data } of [first, second]) seen.push(data[0].role)
    assert.deepEqual(seen, ['guest', 'home'])
    const shown = await app.send('GET', `/v1/peers/${home.peer}/records/${own.id}`)
    assert.equal(shown.json().role, 'home')
  })

  await t.test('an unknown peer or record answers 404', async () => {
    const nobody = 'peer_01jegv5gyme05800000000000a'
    for (const url of [
      `/v1/peers/${nobody}/records`,
      `/v1/peers/${nobody}/records/${own.id}`,
      `/v1/peers/${other.peer}/records/${own.id}`,
      `/v1/peers/${home.peer}/records/rec_01jegv5gyme05800000000000a`,
    ])
      assertProblem(await app.send('GET', url), 404, 'not_found')
  })
})
