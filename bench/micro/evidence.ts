import { parseArgs } from 'node:util'
import { operations } from '../../sdk/generated/operations.ts'
import type { Transport } from '../../sdk/http/transport.ts'
import { agentSigner } from '../../sdk/signing/index.ts'
import { ENTRY_BUNDLES_PER_LEDGER_MAX } from '../../src/http/limits.ts'
import { openDatabase } from '../database.ts'
import { LoadConnection } from '../load/connection.ts'
import { get, post } from '../load/post.ts'
import { randomFrom } from '../load/random.ts'
import { formatRequest, makeOrder } from '../load/requests.ts'
import { describeCommit } from '../report.ts'
import { deploy, type System, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { tileName } from '../watchers.ts'

/*
 * npm run bench -- evidence [--rounds 3] [--requests 3000] [--embedded]
 *
 * Measures what evidence costs a server, with 64 connections. Records that the server signs alternate with records that
 * their agent signed. After the records, it measures tiles, entry bundles, tiles that the reader has already, and
 * receipts. The agent signs before the measurement, because in production it signs on another machine.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    requests: { type: 'string', default: '3000' },
    embedded: { type: 'boolean', default: false },
  },
})

const CONNECTIONS = 64
/** Number of connections for entry bundles: as many bundles as a ledger may build at the same time. */
const BUNDLE_CONNECTIONS = ENTRY_BUNDLES_PER_LEDGER_MAX
/** Divisor for the number of bundle requests. A bundle is larger than other answers. */
const BUNDLE_SHARE = 20
const PAYLOAD_BYTES = 400
const TILE = 256
const CHECKPOINT_MS_MAX = 20_000

const log = (line: string) => console.log(line)
const database = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  log,
)
try {
  const deployment = await deploy(database.ownerUrl)
  const system = await startSystem(deployment, { servers: 1, worker: true, inspect: false })
  try {
    log(
      `${describeCommit()}, Node ${process.version}, Postgres ${database.postgres}, ${CONNECTIONS} connections`,
    )
    await measureRecords(system, Number(values.rounds), Number(values.requests))
    await measureReads(system, Number(values.rounds), Number(values.requests))
  } finally {
    await system.stop()
    deployment.close()
  }
} finally {
  await database.close()
}

async function measureRecords(system: System, rounds: number, count: number): Promise<void> {
  const write = (body: object) =>
    formatRequest('POST /v1/records', system.bearer, { body: JSON.stringify(body) })
  const signer = await makeSigner(system)
  const random = randomFrom(1)
  const rows = [['records that the server signs, /s'], ['records that the agent has signed, /s']]
  for (let round = 0; round < rounds; round++) {
    const bodies = Array.from({ length: 2 * count }, () => ({
      type: 'generic/1',
      payload: makeOrder(PAYLOAD_BYTES, random),
    }))
    const plain = bodies.slice(count).map(write)
    rows[0]!.push(await perSecond(system, plain, 201))
    const signed: Buffer[] = []
    for (const body of bodies.slice(0, count)) signed.push(write(await signer(body)))
    rows[1]!.push(await perSecond(system, signed, 201))
  }
  printTable(rows)
}

/** Returns a function that signs a body as the SDK does. */
async function makeSigner({ targets: [target], bearer, ledger }: System) {
  const signer = await agentSigner({ seed: new Uint8Array(32).fill(7) })
  const { key, issuer } = await get(target!, bearer, '/v1/ledger')
  const path = `/v1/agents/${key.agent}/signing-keys`
  await post(target!, bearer, path, await signer.registration({ ledger, agent: key.agent }))
  const type = await get(target!, bearer, '/v1/types/generic/1')
  const json = async (operation: unknown) =>
    operation === operations.getLedger ? { id: ledger, issuer, key } : type
  const http = { json } as unknown as Transport
  return async (body: object) => (await signer.sign(http, operations.postRecords, { body, gated: false }))!
}

async function measureReads(system: System, rounds: number, count: number): Promise<void> {
  const { targets, bearer, ledger } = system
  const size = await untilCovered(system)
  const tiles = Array.from({ length: Math.floor(size / TILE) }, (_, i) => tileName(i))
  const address = ({ kind }: { kind: string }, i: number) =>
    `/tlog/${ledger}/tile/${kind}/${tiles[i % tiles.length]}`
  const { host, port } = targets[0]!
  const answer = await fetch(`http://${host}:${port}${address({ kind: '0' }, 0)}`, {
    headers: { authorization: `Bearer ${bearer}` },
  })
  await answer.arrayBuffer()
  log(`tiles: cache-control: ${answer.headers.get('cache-control')}; etag: ${answer.headers.get('etag')}`)
  const etags = await Promise.all(
    tiles.map(async (_, i) => {
      const found = await fetch(`http://${host}:${port}${address({ kind: '0' }, i)}`, {
        headers: { authorization: `Bearer ${bearer}` },
      })
      await found.arrayBuffer()
      return found.headers.get('etag')!
    }),
  )
  const readOf = (path: string, more = {}) => formatRequest(`GET ${path}`, bearer, more)
  const reads: [string, number, (i: number) => Buffer][] = [
    ['tiles of hashes (8 KiB), /s', 200, (i) => readOf(address({ kind: '0' }, i))],
    [
      'the same with If-None-Match (304), /s',
      304,
      (i) => readOf(address({ kind: '0' }, i), { headers: { 'If-None-Match': etags[i % tiles.length]! } }),
    ],
    [
      `bundles of ${TILE} entries, by ${BUNDLE_CONNECTIONS} connections, /s`,
      200,
      (i) => readOf(address({ kind: 'entries' }, i)),
    ],
    ['receipts, /s', 200, (i) => readOf(`/v1/entries/${(i * 7) % size}/receipt`)],
  ]
  for (const [name, status, make] of reads) {
    const row = [name]
    const requests = Array.from({ length: count }, (_, i) => make(i))
    const isBundle = name.startsWith('bundles')
    const many = isBundle ? BUNDLE_CONNECTIONS : CONNECTIONS
    const asked = isBundle ? requests.slice(0, count / BUNDLE_SHARE) : requests
    for (let round = 0; round < rounds; round++) row.push(await perSecond(system, asked, status, many))
    printTable([row])
  }
}

async function untilCovered({ targets: [target], bearer }: System): Promise<number> {
  const { data } = await get(target!, bearer, '/v1/records?limit=1')
  const { seq } = data[0].entry
  for (const giveUpAt = performance.now() + CHECKPOINT_MS_MAX; performance.now() < giveUpAt; ) {
    const answer = await fetch(`http://${target!.host}:${target!.port}/v1/checkpoints/latest`, {
      headers: { authorization: `Bearer ${bearer}` },
    })
    const size = Number((await answer.text()).split('\n')[1])
    if (size > seq) return size
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('no checkpoint covers the newest entry')
}

/** Sends each request once, as soon as a connection is free. Returns requests per second. */
async function perSecond(
  { targets: [target] }: System,
  requests: readonly Buffer[],
  status: number,
  many = CONNECTIONS,
) {
  let [sent, answered] = [0, 0]
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const connections = Array.from({ length: many }, () => {
    const connection: LoadConnection = new LoadConnection(
      target!,
      { next: () => requests[sent++]! },
      {
        onAnswer(answer) {
          if (answer.status !== status) reject(new Error(`answered ${answer.status}: ${answer.body}`))
          else if (++answered === requests.length) resolve()
          else send(connection)
        },
        onLost: (_, code) => reject(new Error(`a connection was lost: ${code}`)),
      },
    )
    return connection
  })
  const send = (connection: LoadConnection) => {
    if (sent < requests.length) connection.send(0, 0, false)
  }
  await Promise.all(connections.map((connection) => connection.open()))
  const beganAt = performance.now()
  for (const connection of connections) send(connection)
  try {
    await promise
  } finally {
    for (const connection of connections) connection.close()
  }
  return ((requests.length / (performance.now() - beganAt)) * 1_000).toFixed(0)
}
