/*
 * npm run bench -- volume [--records 10000] [--gated 1000] [--embedded]
 *
 * Measures the bytes of each kind of record: in tables and indexes, in the WAL, and on the network to clients and to
 * Postgres. The results do not depend on the machine's speed. docs/operate/capacity.md calculates with them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readFollowerLag } from '../../src/db/audit/audit-cursors.ts'
import { withClient } from '../../src/db/connect/client.ts'
import { openDatabase } from '../database.ts'
import { makeParties } from '../lifecycle.ts'
import { randomFrom } from '../load/random.ts'
import { makeOrder } from '../load/requests.ts'
import { describeCommit } from '../report.ts'
import { deploy, type System, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { type Relay, startRelay } from './relay.ts'

const CLIENTS = 16
const PAYLOAD_BYTES = 400
const SETTLE_MS = 5_000
const LOOK_EVERY_MS = 100
const IDLE_SECONDS = 10
const COLUMNS = [
  'bytes a record',
  'tables and indexes',
  'log',
  'bodies asked',
  'answered',
  'server to Postgres',
  'and back',
  'worker to Postgres',
  'and back',
]

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '10000' },
    gated: { type: 'string', default: '1000' },
    embedded: { type: 'boolean', default: false },
  },
})

type Traffic = { asked: number; answered: number }
type Send = (
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => Promise<Record<string, unknown>>

const random = randomFrom(7)
let counter = 0
const payload = () => ({ ...makeOrder(PAYLOAD_BYTES, random), callId: `call_${counter++}` })

const database = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  console.log,
)
const deployment = await deploy(database.ownerUrl)
const relays = { api: await relayTo('API'), worker: await relayTo('WORKER') }
const system = await startSystem(deployment, { servers: 1, worker: true, inspect: false })
try {
  console.log(
    `${describeCommit()}, Node ${process.version}, Postgres ${database.postgres}, payloads of ${PAYLOAD_BYTES} bytes`,
  )
  const traffic: Traffic = { asked: 0, answered: 0 }
  const send = sender(system.bearer)
  const rows = [
    await measure('single records', Number(values.records), () => send('/v1/records', record())),
    await measure('… with an Idempotency-Key', Number(values.records), () =>
      send('/v1/records', record(), { 'Idempotency-Key': `volume-order-${counter}` }),
    ),
    await measure('batches of 100', Number(values.records), () => batch(100), 100),
    await measure('batches of 1,000', 10 * Number(values.records), () => batch(1_000), 1_000),
    await measure('gated, agreed to accepted', Number(values.gated), await gated(system)),
    await measure('nothing, bytes a second', IDLE_SECONDS, () => sleep(IDLE_SECONDS * 1_000 - SETTLE_MS)),
  ]
  printTable([COLUMNS, ...rows])

  function record() {
    return { type: 'generic/1', payload: payload() }
  }

  function batch(size: number) {
    return send('/v1/records/batch', { records: Array.from({ length: size }, record) })
  }

  function sender(bearer: string): Send {
    const { host, port } = system.targets[0]!
    return async (path, body, headers = {}) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const answer = await fetch(`http://${host}:${port}${path}`, {
        method: path.startsWith('GET ') ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body && { body: text }),
      })
      const answered = await answer.text()
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${answered}`)
      traffic.asked += text.length
      traffic.answered += answered.length
      return JSON.parse(answered)
    }
  }

  async function gated(system: System) {
    const { type, performer, deadline, principalBearer, performerBearer } = await makeParties(system)
    const [principal, supplier] = [sender(principalBearer), sender(performerBearer)]
    const look = poller(principalBearer)
    return async () => {
      const order = payload()
      const made = await principal('/v1/records', {
        type,
        payload: order,
        performer,
        deadline,
        gate: 'principal',
      })
      const path = `/v1/records/${made['id']}`
      await supplier(`${path}/activate`)
      const { quantity, unitPrice } = order.input
      await supplier(`${path}/completions`, {
        evidence: { deliveryNote: `dn_${counter++}`, quantity, unitPrice },
      })
      while ((await look(`${path}?wait=20`)) !== 'VERIFIED');
      return principal(`${path}/verdict`, { verdict: 'accept' })
    }
  }

  /**
   * Returns a function that reads the state of a record. The benchmark does not count these reads, because each
   * client chooses how often it polls.
   */
  function poller(bearer: string) {
    const { host, port } = system.targets[0]!
    return async (path: string): Promise<string> => {
      const answer = await fetch(`http://${host}:${port}${path}`, {
        headers: { authorization: `Bearer ${bearer}` },
      })
      const { state, gated } = (await answer.json()) as { state?: string; gated?: { state: string } }
      return gated?.state ?? state ?? ''
    }
  }

  async function measure(
    name: string,
    count: number,
    one: () => Promise<unknown>,
    perRequest = 1,
  ): Promise<string[]> {
    const before = await figures()
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let done = client; done < count / perRequest; done += CLIENTS) await one()
      }),
    )
    await settle()
    const after = await figures()
    return [name, ...after.map((value, i) => Math.round((value - before[i]!) / count).toLocaleString('en'))]
  }

  async function figures(): Promise<number[]> {
    const ways = [relays.api, relays.worker].flatMap(({ sentBytes, receivedBytes }) => [
      sentBytes(),
      receivedBytes(),
    ])
    return [...(await storedBytes()), traffic.asked, traffic.answered, ...ways]
  }
} finally {
  await system.stop()
  for (const relay of Object.values(relays)) relay.close()
  deployment.close()
  await database.close()
}

/** Returns the bytes of tables and indexes, and of all WAL written so far. */
function storedBytes(): Promise<number[]> {
  return withClient(database.ownerUrl, async (client) => {
    const { rows } = await client.query<{ stored: number; log: number }>(`select
      (select sum(pg_total_relation_size(oid))::float8 from pg_class
       where relnamespace = 'tallystick'::regnamespace and relkind = 'r') as stored,
      pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as log`)
    return [rows[0]!.stored, rows[0]!.log]
  })
}

async function relayTo(login: 'API' | 'WORKER'): Promise<Relay> {
  const name = `TALLYSTICK_${login}_DATABASE_URL`
  const url = new URL(deployment.env[name]!)
  const relay = await startRelay(url.hostname, Number(url.port))
  url.host = `127.0.0.1:${relay.port}`
  deployment.env[name] = url.href
  return relay
}

/** Waits until the worker has verified, published and written everything. */
function settle(): Promise<void> {
  return withClient(database.ownerUrl, async (client) => {
    while ((await readFollowerLag(client)).entries > 0) await sleep(LOOK_EVERY_MS)
    await sleep(SETTLE_MS)
  })
}
