import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  OUTBOUND_CONNECT_MS_MAX,
  OUTBOUND_NAME_QUERY_MS,
  OUTBOUND_NAME_QUERY_TRIES,
} from '../../../src/outside/connector/limits.ts'
import { makeResolveName } from '../../../src/outside/connector/resolve-name.ts'
import { startNameServer } from './name-server.ts'

const V6 = '2606:4700:0000:0000:0000:0000:0000:1111'
const OPTIONS = { timeout: OUTBOUND_NAME_QUERY_MS, tries: OUTBOUND_NAME_QUERY_TRIES }

test('resolves a name to its addresses of both families, or of one', async (t) => {
  const server = await startNameServer(t, (type, name) => {
    if (name === 'none.example') return []
    if (type === 'AAAA') return name === 'four.example' ? [] : [V6]
    return name === 'six.example' ? [] : ['192.0.2.1', '192.0.2.2']
  })
  const resolveName = makeResolveName(server.makeResolver(OPTIONS))
  const addressesOf = async (name: string) => (await resolveName(name)).map(({ address }) => address)
  assert.deepEqual(await addressesOf('both.example'), ['2606:4700::1111', '192.0.2.1', '192.0.2.2'])
  assert.deepEqual(await addressesOf('both.example.'), ['2606:4700::1111', '192.0.2.1', '192.0.2.2'])
  assert.deepEqual(await addressesOf('four.example'), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(await addressesOf('six.example'), ['2606:4700::1111'])
  await assert.rejects(addressesOf('none.example'))
})

test('names whose servers never answer delay no other name, and leave time to connect', async (t) => {
  const server = await startNameServer(t, (type, name) => {
    if (name.endsWith('mute.example')) return null
    if (name === 'half.example') return type === 'A' ? ['192.0.2.3'] : null
    return type === 'A' ? ['192.0.2.1'] : []
  })
  const resolveName = makeResolveName(server.makeResolver(OPTIONS))
  const startedAt = performance.now()
  const mute = Array.from({ length: 50 }, (_, n) => assert.rejects(resolveName(`h${n}.mute.example`)))
  await resolveName('other.example')
  assert.ok(performance.now() - startedAt < 500, 'the name of somebody else waited')
  assert.deepEqual(await resolveName('half.example'), [{ address: '192.0.2.3', family: 4 }])
  await Promise.all(mute)
  assert.ok(performance.now() - startedAt < OUTBOUND_CONNECT_MS_MAX - 500)
})

test('resolves local, network and cluster names by the system, without DNS queries', async (t) => {
  const server = await startNameServer(t, (type) => (type === 'A' ? ['192.0.2.66'] : [V6]))
  const resolveName = makeResolveName(server.makeResolver(OPTIONS))
  assert.ok((await resolveName('localhost')).some(({ address }) => address === '127.0.0.1'))
  const local = ['receiver', 'a.b.svc.cluster.local', 'host.docker.internal', 'router.lan', 'a.home.arpa']
  for (const name of local) await resolveName(name).catch(() => {})
  assert.deepEqual(server.questions, [])
  const others = ['local.example', 'host.latest']
  for (const name of others) await resolveName(name)
  assert.deepEqual(
    server.questions.toSorted(),
    ['A', 'AAAA'].flatMap((type) => others.toSorted().map((name) => `${type} ${name}`)),
  )
})
