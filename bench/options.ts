import { parseArgs } from 'node:util'

import type { Gate } from './load/requests.ts'

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
  /** Numbers of API processes. The scenario runs one round for each number. */
  readonly servers: readonly number[]
  readonly connections: readonly number[]
  readonly shares: readonly number[] | null
  readonly durationMs: number
  readonly warmUpMs: number
  /**
   * Requests/s of the arrival-rate phase, and the ceiling of the latency and overload scenarios. With null, the ceiling
   * is the round's highest closed-loop rate, and the arrival-rate phase runs at 80 % of the ceiling.
   */
  readonly perSecond: number | null
  readonly arrival: boolean
  readonly batchItems: number
  readonly gate: Gate
  readonly payloadBytes: number
  readonly idempotencyKeys: boolean
  readonly seed: number
  readonly worker: boolean
  /** If true, runs a witness that cosigns, and a monitor that reads the tiles. */
  readonly watched: boolean
  readonly reference: boolean
  readonly embedded: boolean
  readonly profile: boolean
  readonly fsyncGateMs: number
  readonly force: boolean
  readonly outDir: string
}

const numbers = (text: string) => text.split(',').map(Number)

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

/** Name of the option that sets a scenario's number of connections. All other scenarios use `--connections`. */
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
