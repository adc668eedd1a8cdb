/*
 * npm run bench -- floods [--connections 800] [--seconds 8] [--rounds 1] [--embedded]
 *
 * Floods the server with requests without a valid key, while ledgers notarize one record after another. Measures how
 * many of the ledgers' requests are refused, and the latency of the accepted requests. The first flood names no ledger.
 * The other floods are compared with the first.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { crc32 } from 'node:zlib'
import { openDatabase } from '../database.ts'
import type { Target } from '../load/connection.ts'
import { post } from '../load/post.ts'
import { describeCommit } from '../report.ts'
import { deploy, startSystem } from '../system.ts'
import { printTable } from '../table.ts'

const FRESH_KEYS = 150
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

type Flood = 'no header' | 'victim named' | 'other named' | 'new names' | 'right checksum' | 'tlo_'
const FLOODS: readonly Flood[] = [
  'no header',
  'victim named',
  'other named',
  'new names',
  'right checksum',
  'tlo_',
]

type FloodData = {
  readonly target: Target
  readonly flood: Flood
  readonly connections: number
  readonly named: string
}

if (isMainThread) await main()
else runFlood(workerData as FloodData)

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      connections: { type: 'string', default: '800' },
      seconds: { type: 'string', default: '8' },
      rounds: { type: 'string', default: '1' },
      embedded: { type: 'boolean', default: false },
    },
  })
  const database = await openDatabase(
    { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
    console.log,
  )
  const deployment = await deploy(database.ownerUrl)
  const system = await startSystem(deployment, { servers: 1, worker: false, inspect: false })
  try {
    const target = system.targets[0]!
    const makeLedger = async (name: string) => {
      const made = await post(target, deployment.operatorKey, '/v1/ledgers', { name })
      return { ledger: made.ledger.id.slice(4) as string, key: made.key.key as string }
    }
    const [victim, other, named] = [
      await makeLedger('victim'),
      await makeLedger('other'),
      await makeLedger('named'),
    ]
    console.log(`${describeCommit()}, Node ${process.version}, ${values.connections} connections`)
    const rows: string[][] = []
    for (let round = 0; round < Number(values.rounds); round++)
      for (const flood of FLOODS) {
        const keys: string[] = []
        for (let i = 0; i < FRESH_KEYS; i++)
          keys.push(
            (await post(target, victim.key, '/v1/keys', { name: 'fresh', scopes: ['records:write'] })).key,
          )
        const data: FloodData = {
          target,
          flood,
          connections: Number(values.connections),
          named: (flood === 'victim named' ? victim : named).ledger,
        }
        const thread = new Worker(new URL(import.meta.url), { workerData: data })
        await once(thread, 'message')
        const endsAt = performance.now() + Number(values.seconds) * 1_000
        const honest = await Promise.all([
          notarize(target, () => victim.key, endsAt),
          notarize(target, () => other.key, endsAt),
          notarize(target, () => keys.pop() ?? null, endsAt),
        ])
        const answered = once(thread, 'message')
        thread.postMessage('end')
        const [rate] = (await answered) as [number]
        await thread.terminate()
        rows.push([flood, rate.toFixed(0), ...honest])
      }
    const heads = ['flood', 'answers/s', 'victim', 'another ledger', 'keys used for the first time']
    printTable([heads, ...rows])
    console.log('for each: refused / sent (p50, p99 of the answered requests in ms)')
  } finally {
    await system.stop()
    deployment.close()
    await database.close()
  }
}

/** Sends one request after another, each with the next key, until the keys or the time run out. */
async function notarize(target: Target, nextKey: () => string | null, endsAt: number): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const tookMs: number[] = []
  let [sent, refused, failed] = [0, 0, 0]
  for (let key = nextKey(); key !== null && performance.now() < endsAt; key = nextKey()) {
    const startedAt = performance.now()
    const answer = await send(target, agent, key)
    sent++
    if (answer === '201') tookMs.push(performance.now() - startedAt)
    else if (answer === 'overloaded') refused++
    else failed++
  }
  agent.destroy()
  tookMs.sort((a, b) => a - b)
  const at = (share: number) => (tookMs[Math.floor(share * tookMs.length)] ?? Number.NaN).toFixed(0)
  return `${refused} / ${sent}${failed > 0 ? `, ${failed} failed` : ''} (${at(0.5)}, ${at(0.99)})`
}

/** Sends a request. Returns '201' or the code of the problem. */
function send({ host, port }: Target, agent: Agent, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host, port, path: '/v1/records', method: 'POST', agent, headers },
      (response) => {
        text(response).then(
          (body) => resolve(response.statusCode === 201 ? '201' : String(JSON.parse(body).code)),
          reject,
        )
      },
    )
    sent.on('error', reject).end(JSON.stringify({ type: 'generic/1', payload: { text: 'x' } }))
  })
}

/** Floods the server from a separate thread. Each connection sends again as soon as it is answered. */
function runFlood({ target, flood, connections, named }: FloodData): void {
  let answers = 0
  const beganAt = performance.now()
  let left = connections
  for (let i = 0; i < connections; i++) {
    const socket = connect({ ...target, noDelay: true })
    let open = ''
    socket.on('connect', () => {
      socket.write(textOf(flood, named))
      if (--left === 0) parentPort!.postMessage('open')
    })
    socket.on('data', (bytes) => {
      open += bytes.toString('latin1')
      const head = open.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(open)?.[1] ?? Number.NaN)
      if (head < 0 || open.length < head + 4 + length) return
      open = ''
      answers++
      socket.write(textOf(flood, named))
    })
    socket.on('error', () => {})
  }
  parentPort!.on('message', () => parentPort!.postMessage(answers / ((performance.now() - beganAt) / 1_000)))
}

function textOf(flood: Flood, named: string): string {
  const key = keyOf(flood, named)
  const authorization = key === null ? '' : `Authorization: Bearer ${key}\r\n`
  return `POST /v1/records HTTP/1.1\r\nHost: localhost\r\n${authorization}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
}

function keyOf(flood: Flood, named: string): string | null {
  if (flood === 'no header') return null
  if (flood === 'tlo_') return `tlo_${randomBytes(24).toString('hex')}`
  if (flood === 'new names')
    return `tly_0${Array.from(randomBytes(25), (byte) => ALPHABET[byte & 31]).join('')}${'0'.repeat(48)}`
  if (flood !== 'right checksum') return `tly_${named}${'0'.repeat(48)}`
  const body = `tly_${named}${randomBytes(20).toString('hex')}`
  return body + crc32(body).toString(16).padStart(8, '0')
}
