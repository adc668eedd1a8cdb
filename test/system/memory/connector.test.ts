import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { OUTBOUND_IDLE_CONNECTIONS_MAX } from '../../../src/outside/connector/limits.ts'
import { request, startBytePeer, startConnector, startHttpPeer } from '../../outside/connector/peers.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

async function heapKib(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    collectGarbage()
    await sleep(10)
  }
  return process.memoryUsage().heapUsed / 1024
}

/**
 * Resolves any name. Each different name is a different origin. Of every four names, one does not resolve and one has a
 * refused address.
 */
const anyName = async (name: string) => {
  const n = Number(/\d+/.exec(name)![0])
  if (n % 4 === 0) throw new Error('ENOTFOUND')
  return [{ address: n % 4 === 1 ? '10.0.0.1' : '127.0.0.1', family: 4 }]
}

test('origins that were called once leave no memory behind', { timeout: 60_000 }, async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const connector = startConnector(t, anyName)
  let next = 0
  const call = async (origins: number) => {
    for (const end = next + origins; next < end; ) {
      const wave = Array.from({ length: 50 }, () => request(`http://h${next++}.example:${peer.port}/`))
      await Promise.all(wave.map((one) => connector.post(one).catch(() => {})))
    }
    return await heapKib()
  }
  const before = await call(2 * OUTBOUND_IDLE_CONNECTIONS_MAX + 200)
  const origins = 4_000
  await call(origins)
  // The growth is 125 KiB in total. If an empty list stayed for each origin, the growth would be 540 KiB. If a
  // connection stayed for each origin, it would be 10 MiB. A connection that is closing is gone within seconds, so the
  // check is repeated.
  const check = async () => {
    const grownKib = (await heapKib()) - before
    assert.ok(grownKib < 300, `${grownKib} KiB`)
  }
  await t.waitFor(check, { interval: 500, timeout: 10_000 })
})

test('five hundred hanging peers take little memory', { timeout: 60_000 }, async (t) => {
  const peer = await startBytePeer(t, () => {})
  const connector = startConnector(t)
  const before = await heapKib()
  const giveUp = new AbortController()
  const posts = Array.from({ length: 500 }, () =>
    connector.post(request(peer.url, { signal: giveUp.signal })).catch(({ code }) => code),
  )
  await t.waitFor(() => assert.equal(peer.open.size, 500), { timeout: 5_000 })
  const kibPerPost = ((await heapKib()) - before) / 500
  assert.ok(kibPerPost < 32, `${kibPerPost} KiB`)
  giveUp.abort()
  assert.deepEqual(new Set(await Promise.all(posts)), new Set(['aborted']))
  await t.waitFor(() => assert.equal(peer.open.size, 0))
})
