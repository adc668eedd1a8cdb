import { parseArgs } from 'node:util'

import type { Gate } from './lifecycle-requests.ts'

const SCENARIOS = [
  'single',
  'batch',
  'latency',
  'overload',
  'lifecycle',
  'notarizer',
  'calibrate',
  'preflight',
] as const
type Scenario = (typeof SCENARIOS)[number]

export type Options = {
  readonly scenario: Scenario
  /** One round of the scenario for each number of API processes. */
  readonly servers: readonly number[]
  readonly connections: readonly number[]
  /** Shares of the ceiling; null: those of the scenario. */
  readonly shares: readonly number[] | null
  readonly durationMs: number
  readonly warmUpMs: number
  /** Requests/s of the arrival-rate phase, and the ceiling of latency and overload; null: 80 % of the highest closed-loop rate of the round, and the whole. */
  readonly perSecond: number | null
  readonly arrival: boolean
  readonly batchItems: number
  /** Party that judges gated records. */
  readonly gate: Gate
  readonly payloadBytes: number
  readonly idempotencyKeys: boolean
  readonly seed: number
  readonly worker: boolean
  /** A witness cosigns, and a monitor reads the tiles meanwhile. */
  readonly watched: boolean
  readonly reference: boolean
  readonly embedded: boolean
  readonly profile: boolean
  readonly fsyncGateMs: number
  readonly force: boolean
  readonly outDir: string
}

export const USAGE = `npm run bench -- single|batch|latency|overload|lifecycle|notarizer|calibrate|preflight [options]

  single       one record a request: closed loops, then a constant arrival rate at 80 % of what they reached
  batch        many records a request: closed loop
  latency      one record a request: the ceiling, then shares of it, with the time of a request by its steps
  overload     one record a request: the ceiling, multiples of it, and a half of it straight after each
  lifecycle    gated records from creation to verdict: closed loop, one record under way a client
  notarizer    the SDK's notarizer, with and without a spool, beside the load of batch in the same session
  calibrate    the load generator against a server that does nothing: what it costs itself
  preflight    the machine, its fsync and commit latency; no load

  --duration 10          seconds measured, each phase
  --warm-up 2            seconds before that, not measured
  --servers 1            API processes; several rounds: --servers 1,2
  --connections 128,256  closed-loop phases of single (256 also for the arrival rate)
  --shares 0.1,0.5,0.95  of the ceiling, of latency; multiples of it, of overload: --shares 1.5,2,4,10
  --producers 2          connections of batch and of the bare load of notarizer; several phases: --producers 1,2,64
  --clients 64,128       clients of lifecycle, one phase each, each with a connection of its own
  --gate principal       who judges: principal, or auto (the rules alone)
  --batch-size 1000      records in a batch
  --rate N               requests/s of the arrival-rate phase; of latency and overload, the ceiling that shares are of
  --no-arrival           without the arrival-rate phase
  --payload-bytes 400    JSON bytes of a payload
  --idempotency-keys     an Idempotency-Key on every request
  --seed 1               the same seed sends the same payloads
  --no-worker            without the worker process
  --watched              a witness cosigns each checkpoint meanwhile, and a monitor reads each new tile
  --no-reference         without the plain one-row inserts that the ratio is taken against
  --embedded             the embedded Postgres even if the system has one of its own
  --profile              CPU profiles of the API processes, and where their time went
  --fsync-gate-ms 5      refuse to run on a slower disk; --force: run all the same
  --out bench/results    where the JSON goes

  DATABASE_URL           an owner's URL: use this Postgres, in a database made for the run and dropped after it
`

const numbers = (text: string) => text.split(',').map(Number)

/** Throws, with the fault, on anything that is not in the usage. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      duration: { type: 'string', default: '10' },
      'warm-up': { type: 'string', default: '2' },
      servers: { type: 'string', default: '1' },
      connections: { type: 'string', default: '128,256' },
      shares: { type: 'string' },
      producers: { type: 'string', default: '2' },
      clients: { type: 'string', default: '64,128' },
      gate: { type: 'string', default: 'principal' },
      'batch-size': { type: 'string', default: '1000' },
      rate: { type: 'string' },
      arrival: { type: 'boolean', default: true },
      'payload-bytes': { type: 'string', default: '400' },
      'idempotency-keys': { type: 'boolean', default: false },
      seed: { type: 'string', default: '1' },
      worker: { type: 'boolean', default: true },
      watched: { type: 'boolean', default: false },
      reference: { type: 'boolean', default: true },
      embedded: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      'fsync-gate-ms': { type: 'string', default: '5' },
      force: { type: 'boolean', default: false },
      out: { type: 'string', default: 'bench/results' },
    },
  })
  const scenario = positionals[0]
  if (positionals.length !== 1 || !isScenario(scenario)) throw new Error('which scenario?')
  const options: Options = {
    scenario,
    servers: numbers(values.servers),
    connections: numbers(values[CONNECTIONS_OPTION[scenario] ?? 'connections']),
    shares: values.shares === undefined ? null : numbers(values.shares),
    durationMs: Number(values.duration) * 1000,
    warmUpMs: Number(values['warm-up']) * 1000,
    perSecond: values.rate === undefined ? null : Number(values.rate),
    arrival: values.arrival,
    batchItems: Number(values['batch-size']),
    gate: parseGate(values.gate),
    payloadBytes: Number(values['payload-bytes']),
    idempotencyKeys: values['idempotency-keys'],
    seed: Number(values.seed),
    worker: values.worker,
    watched: values.watched,
    reference: values.reference,
    embedded: values.embedded,
    profile: values.profile,
    fsyncGateMs: Number(values['fsync-gate-ms']),
    force: values.force,
    outDir: values.out,
  }
  checkRanges(options)
  return options
}

/** Option for the connections of a scenario; by default `--connections`. */
const CONNECTIONS_OPTION: { readonly [S in Scenario]?: 'producers' | 'clients' } = {
  batch: 'producers',
  notarizer: 'producers',
  lifecycle: 'clients',
}

function isScenario(name: string | undefined): name is Scenario {
  return (SCENARIOS as readonly (string | undefined)[]).includes(name)
}

function parseGate(text: string): Gate {
  if (text === 'principal' || text === 'auto') return text
  throw new Error('--gate must be principal or auto')
}

function checkRanges(options: Options): void {
  const ranges: [string, readonly (number | null)[], number, number][] = [
    ['--servers', options.servers, 1, 64],
    [`--${CONNECTIONS_OPTION[options.scenario] ?? 'connections'}`, options.connections, 1, 4096],
    ['--shares', options.shares ?? [1], 0.01, 100],
    ['--duration', [options.durationMs / 1000], 0.1, 3600],
    ['--warm-up', [options.warmUpMs / 1000], 0, 600],
    ['--rate', [options.perSecond ?? 1], 0.1, 1e6],
    ['--batch-size', [options.batchItems], 1, 2000],
    ['--payload-bytes', [options.payloadBytes], 300, 60_000],
    ['--seed', [options.seed], 0, 1e9],
    ['--fsync-gate-ms', [options.fsyncGateMs], 0, 1e6],
  ]
  for (const [name, given, min, max] of ranges) {
    if (given.some((value) => value === null || !(value >= min && value <= max))) {
      throw new Error(`${name} must be from ${min} to ${max}`)
    }
  }
}
