import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { buildApp } from '../../../src/http/app.ts'
import { makeApiKey } from '../../../src/ledgers/api-keys.ts'
import { Admission } from '../../../src/load/admission.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { NIL_UUID, parseId } from '../../../src/proof/ids.ts'
import { OPERATOR_KEY, type TestApp } from '../../helpers/app.ts'
import { openSocket, requestText } from '../../helpers/raw-http.ts'
import { sharedApp } from '../../helpers/shared-app.ts'

/*
 * Anybody can write an API key that names a ledger. Before the fix, a flood of false keys that named one ledger made
 * the server refuse three quarters of that ledger's requests. A flood of keys that each named another ledger did this
 * to all ledgers. A flood of keys with the operator's prefix did it to the operator.
 */

const CONNECTIONS = 40
const REQUESTS = 12
/**
 * Limits with few slots and no bursts. With few slots, refusals begin immediately if requests without a valid key count
 * for a ledger. Bursts are off, because the machine's speed decides how much of a burst is used.
 */
const FEW = {
  underWayMax: 4,
  reads: { max: 4, waitMs: 1_000 },
  burstMax: 0,
  burstPerSecond: 0,
  unproven: { underWayMax: 4, burstMax: 0, burstPerSecond: 0 },
  perSliceMax: 2,
  sliceBytesMax: 64 * 1024,
}

const app = await sharedApp()
const other = await app.newLedger()

const FLOODS: readonly [what: string, makeKey: () => string | null][] = [
  ['nothing: the control', () => null],
  ['a ledger', () => nameOf(app.ledger.ledger.id)],
  [
    'ever new ledgers',
    () =>
      nameOf(makeApiKey(parseId('led', `led_0${randomBytes(16).toString('hex').slice(0, 25)}`)).slice(0, 30)),
  ],
  ['a ledger, with the checksum of a key', () => makeApiKey(app.ledgerId)],
  ['ledgers that are none, with the checksum of a key', () => makeApiKey(NIL_UUID)],
  ['the operator', () => `tlo_${randomBytes(24).toString('hex')}`],
]

for (const [what, makeKey] of FLOODS)
  test(`a flood of invalid keys that name ${what} takes no share of valid keys’ requests`, async (t) => {
    const fresh: string[] = []
    for (let i = 0; i < REQUESTS; i++) fresh.push((await app.newLedger()).key.key)
    const { port, admission } = await listen(t, app)
    const flood = startFlood(t, port, makeKey)
    await Promise.all(flood.sockets.map((socket) => once(socket, 'connect')))
    const ask = async (path: string, key: string) => {
      const headers = { authorization: `Bearer ${key}` }
      return (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status
    }
    for (let i = 0; i < REQUESTS; i++) {
      const statuses = await Promise.all([
        ask('/v1/records', app.ledger.key.key),
        ask('/v1/records', other.key.key),
        ask('/v1/ledgers', OPERATOR_KEY),
        ask('/v1/records', fresh[i]!),
      ])
      assert.deepEqual(statuses, [200, 200, 200, 200], `${i} of ${REQUESTS}`)
    }
    assert.ok(flood.answers() > CONNECTIONS, `${flood.answers()} answers`)
    assert.equal(admission.refused, admission.refusedUnproven)
    assert.ok(admission.refusedUnproven > 0)
  })

function nameOf(ledger: string): string {
  return `tly_${ledger.slice(4)}${'0'.repeat(48)}`
}

async function listen(t: TestContext, { deps }: TestApp) {
  const admission = new Admission(() => performance.now(), FEW)
  const server = buildApp({ ...deps, admission, metrics: new Metrics() })
  await server.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    server.server.closeAllConnections()
    await server.close()
  })
  return { port: (server.server.address() as AddressInfo).port, admission }
}

/**
 * Opens connections. Each connection sends its next request as soon as its last request is answered, until the test
 * ends.
 */
function startFlood(t: TestContext, port: number, makeKey: () => string | null) {
  let answers = 0
  const send = (socket: Socket) => {
    const key = makeKey()
    const text = requestText('GET', '/v1/records', key ?? '')
    socket.write(key === null ? text.replace(/Authorization.*\r\n/, '') : text)
  }
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = openSocket(t, port).resume()
    socket.on('connect', () => send(socket))
    // Each answer is a problem document, so it ends with a closing brace.
    socket.on('data', (bytes) => {
      if (bytes.at(-1) !== '}'.charCodeAt(0)) return
      answers++
      send(socket)
    })
    return socket
  })
  return { sockets, answers: () => answers }
}
