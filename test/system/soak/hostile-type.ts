import { runLoad } from '../../../bench/load-process.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger } from '../faults/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { formatLatency, measureBusyPercent, planLoad, requireClean } from './load-on.ts'

const PROBES_PER_SECOND = 50
const HOSTILE_CLIENTS = 16
/** Beside a ledger that does its worst with types, another's p99 stays within so many times its p99 beside none. */
const RATIO_MAX = 2

/**
 * One server. A probe notarizes in one ledger at a low constant rate: alone; beside a ledger whose types make validation as
 * costly as can be, for documents of an ordinary size, while new types are compiled all the time; and, for comparison,
 * beside documents of 60 KB under the same types, and as `generic/1`, which anybody may send. The documents, not the
 * schemas, hold the others up there.
 */
export async function hostileType(durationMs: number): Promise<void> {
  console.log(`hostile-type: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 1, worker: true })
  try {
    const [hostile, quiet] = await deployment.createLedgers(2)
    const url = deployment.urls[0]!
    for (const type of COSTLY) await post(url, hostile!, '/v1/types', type)
    await probe(deployment, quiet!, 3_000, 'warm up')
    const alone = await probe(deployment, quiet!, durationMs, 'alone')
    const measure = (request: (n: number) => Request, name: string) =>
      besides(url, hostile!, request, () => probe(deployment, quiet!, durationMs, name))
    const beside = await measure(hostileRequest(SMALL), 'beside hostile types')
    const large = await measure(hostileRequest(LARGE), 'beside hostile types, 60 KB')
    const plain = await measure(plainRequest, 'beside generic/1, 60 KB')
    const ratio = (p99: number) => (p99 / alone).toFixed(2)
    console.log(
      `hostile-type: p99 / alone = ${ratio(beside)} (at most ${RATIO_MAX}); ` +
        `with documents of 60 KB ${ratio(large)}, as generic/1 ${ratio(plain)}`,
    )
    if (beside > RATIO_MAX * alone) process.exitCode = 1
  } finally {
    await deployment.stop()
  }
}

type Request = { readonly path: string; readonly body: object }

type Documents = { readonly list: { list: number[] }; readonly text: { text: string } }

function makeDocuments(bytes: number): Documents {
  const letters = Array.from({ length: bytes }, (_, i) => ((i * 7_919) % 13 < 6 ? 'a' : 'b'))
  return { list: { list: Array.from({ length: bytes / 2 }, () => 1) }, text: { text: letters.join('') } }
}

const SMALL = makeDocuments(1_000)
const LARGE = makeDocuments(60_000)

const COSTLY = [
  {
    name: 'ways',
    version: 1,
    payloadSchema: { properties: { text: { pattern: '[ab]*a[ab]{400}[^ab][^ab]' } } },
  },
  { name: 'nested', version: 1, payloadSchema: { properties: { text: { pattern: '^(a+)+$' } } } },
  {
    name: 'tower',
    version: 1,
    payloadSchema: {
      $defs: Object.fromEntries(
        Array.from({ length: 8 }, (_, i) => [
          `n${i}`,
          i === 7
            ? { type: 'integer' }
            : { allOf: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] },
        ]),
      ),
      properties: { list: { items: { $ref: '#/$defs/n0' } } },
    },
  },
]

/** As large as compiling can be made; another one each time. */
function costlyDefinition(n: number) {
  const patterns = Array.from({ length: 60 }, (_, i) => [
    `[\\p{L}\\P{Lu}]{${i}}(?:[^a-z]?){${(n % 300) + 100}}`,
    true,
  ])
  return { name: 'new', version: 1, payloadSchema: { patternProperties: Object.fromEntries(patterns) } }
}

function plainRequest(n: number): Request {
  return { path: '/v1/records', body: { type: 'generic/1', payload: n % 2 ? LARGE.list : LARGE.text } }
}

function hostileRequest({ list, text }: Documents): (n: number) => Request {
  return (n) => {
    if (n % 3 === 0) return { path: '/v1/types/preview', body: costlyDefinition(n) }
    if (n % 3 === 1)
      return { path: '/v1/records', body: { type: n % 2 ? 'ways/1' : 'nested/1', payload: text } }
    return { path: '/v1/records', body: { type: 'tower/1', payload: list } }
  }
}

/** Does `work` while clients send what `request` makes, one after another each. */
async function besides<T>(
  url: string,
  ledger: Ledger,
  request: (n: number) => Request,
  work: () => Promise<T>,
): Promise<T> {
  let stop = false
  const statuses: Record<number, number> = {}
  const clients = Array.from({ length: HOSTILE_CLIENTS }, async (_, client) => {
    for (let n = client; !stop; n += HOSTILE_CLIENTS) {
      const { path, body } = request(n)
      const status = await post(url, ledger, path, body)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  })
  try {
    return await work()
  } finally {
    stop = true
    await Promise.all(clients)
    console.log(`hostile-type: meanwhile ${JSON.stringify(statuses)}`)
  }
}

async function post(url: string, { bearer }: Ledger, path: string, body: object): Promise<number> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.arrayBuffer()
  return response.status
}

/** Answers the p99 in nanoseconds. */
async function probe(
  deployment: Deployment,
  ledger: Ledger,
  durationMs: number,
  name: string,
): Promise<number> {
  const pace = { kind: 'arrival', perSecond: PROBES_PER_SECOND, backlogMax: 1_000 } as const
  const plan = planLoad(deployment.urls, [ledger], { connections: 16, pace, durationMs, seed: name.length })
  const result = await runLoad(plan)
  console.log(`hostile-type: ${name}: ${formatLatency(result.latency)}; ${formatLoad()}`)
  requireClean(`hostile-type, ${name}`, result)
  return result.latency.p99
}
