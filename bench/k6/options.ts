import { parseArgs } from 'node:util'
import { isScript, SCRIPTS } from './scenarios.ts'
import type { K6Options, Profile, ScriptName } from './types.ts'

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
    embedded: values.embedded,
    fsyncGateMs: parseNumber('--fsync-gate-ms', values['fsync-gate-ms'], 0, 1e6)!,
    force: values.force,
    keep: values.keep,
  }
}

function parseScripts(names: readonly string[]): readonly ScriptName[] {
  if (names.length === 0) throw new Error(`name a script: ${SCRIPTS.join(', ')}`)
  if (names.length === 1 && names[0] === 'all') return SCRIPTS
  return names.map((name) => {
    if (isScript(name)) return name
    throw new Error(`there is no script ${name}. Scripts: ${SCRIPTS.join(', ')}`)
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
