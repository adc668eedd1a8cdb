import { parseArgs } from 'node:util'
import { isScript, SCRIPTS } from './scenarios.ts'
import type { K6Options, Profile, ScriptName } from './types.ts'

export const USAGE = `npm run k6 -- NAME|all [options]

  NAME                   ${SCRIPTS.slice(0, 5).join(', ')},
                         ${SCRIPTS.slice(5).join(', ')}

  --profile short        short: seconds, on any machine; full: as the figures are measured
  --peak N               of notarize-ramp: up to N requests/s; max: finds the ceiling, and goes to twice it
  --servers N            API processes, instead of as many as the script is about
  --seconds N            seconds of load, where the script's own are too long for this disk
  --seed 1               the same seed sends the same payloads
  --out bench/results    where the reports go, JSON and HTML
  --plots DIR            the plots as SVG files, too
  --embedded             the embedded Postgres even if the system has one of its own
  --fsync-gate-ms 5      of full: refuse to run on a slower disk; --force: run all the same
  --keep                 keep what k6 wrote, beside the report

  DATABASE_URL           an owner's URL: use this Postgres, in databases made for the run and dropped after it
  K6                     the path of a k6, instead of the one that is built and cached
`

/** Throws, with the fault, on anything that is not in the usage. */
export function parseOptions(args: readonly string[]): K6Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      profile: { type: 'string', default: 'short' },
      peak: { type: 'string' },
      servers: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string', default: 'bench/results' },
      plots: { type: 'string' },
      embedded: { type: 'boolean', default: false },
      'fsync-gate-ms': { type: 'string', default: '5' },
      force: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  })
  return {
    scripts: parseScripts(positionals),
    profile: parseProfile(values.profile),
    peak: values.peak === 'max' ? 'max' : parseNumber('--peak', values.peak, 1, 1e6),
    servers: parseNumber('--servers', values.servers, 1, 64),
    seconds: parseNumber('--seconds', values.seconds, 1, 86_400),
    seed: parseNumber('--seed', values.seed, 0, 1e9)!,
    outDir: values.out,
    plotsDir: values.plots ?? null,
    embedded: values.embedded,
    fsyncGateMs: parseNumber('--fsync-gate-ms', values['fsync-gate-ms'], 0, 1e6)!,
    force: values.force,
    keep: values.keep,
  }
}

function parseScripts(names: readonly string[]): readonly ScriptName[] {
  if (names.length === 0) throw new Error('which script?')
  if (names.length === 1 && names[0] === 'all') return SCRIPTS
  return names.map((name) => {
    if (isScript(name)) return name
    throw new Error(`there is no script ${name}`)
  })
}

function parseProfile(text: string): Profile {
  if (text === 'short' || text === 'full') return text
  throw new Error('--profile must be short or full')
}

function parseNumber(name: string, text: string | undefined, min: number, max: number): number | null {
  if (text === undefined) return null
  const value = Number(text)
  if (Number.isFinite(value) && value >= min && value <= max && text.trim() !== '') return value
  throw new Error(`${name} must be from ${min} to ${max}`)
}
