import type { DatabaseVariable } from '../../variables.ts'
import { PASSWORD_CACHE_SECONDS_DEFAULT, PASSWORD_CACHE_SECONDS_MAX } from '../limits.ts'
import { ACCEPTABLE, type Acceptable } from './acceptable.ts'
import type { DatabaseOptions } from './connection.ts'
import type { PasswordSource } from './passwords.ts'

type Environment = Readonly<Record<string, string | undefined>>
type ReportIssue = (name: DatabaseVariable, message: string) => void
type Issue = { readonly path: readonly [string]; readonly message: string }

/**
 * Parses the database options. An error names the variable, but never shows its value, because a command may contain a
 * secret.
 */
export function parseDatabaseOptions(env: Environment): {
  readonly options: DatabaseOptions
  readonly issues: readonly Issue[]
} {
  const issues: Issue[] = []
  const report: ReportIssue = (name, message) => issues.push({ path: [name], message })
  const read = (name: DatabaseVariable) => env[name] || undefined
  const file = read('TALLYSTICK_DATABASE_PASSWORD_FILE') ?? null
  const line = read('TALLYSTICK_DATABASE_PASSWORD_COMMAND') ?? null
  const cacheMs = parseSeconds(read('TALLYSTICK_DATABASE_PASSWORD_CACHE_SECONDS'), report)
  const command = line === null ? null : parseCommand(line)
  if (file !== null && line !== null)
    report(
      'TALLYSTICK_DATABASE_PASSWORD_COMMAND',
      'is set, and so is TALLYSTICK_DATABASE_PASSWORD_FILE: remove one',
    )
  if (line !== null && command === null)
    report(
      'TALLYSTICK_DATABASE_PASSWORD_COMMAND',
      'must be words separated by spaces, or a JSON array of strings if a word has quotes or spaces: no shell reads it',
    )
  let password: PasswordSource | null = file === null ? null : { file }
  if (command !== null) password = { command, cacheMs, env: withoutSecrets(env) }
  const accepted = parseAccepted(read('TALLYSTICK_DATABASE_ACCEPT'), report)
  return { options: { caFile: read('TALLYSTICK_DATABASE_CA_FILE') ?? null, password, accepted }, issues }
}

function parseAccepted(text: string | undefined, report: ReportIssue): Acceptable[] {
  const names = text ? text.split(',').map((name) => name.trim()) : []
  const known = names.filter((name): name is Acceptable => (ACCEPTABLE as readonly string[]).includes(name))
  if (known.length < names.length)
    report('TALLYSTICK_DATABASE_ACCEPT', `must be ${ACCEPTABLE.join(' or ')}, or both, separated by a comma`)
  return known
}

function parseSeconds(text: string | undefined, report: ReportIssue): number {
  const seconds = text ? Number(text) : PASSWORD_CACHE_SECONDS_DEFAULT
  if (!(seconds >= 0 && seconds <= PASSWORD_CACHE_SECONDS_MAX)) {
    const message = `must be seconds, from 0 to ${PASSWORD_CACHE_SECONDS_MAX}`
    report('TALLYSTICK_DATABASE_PASSWORD_CACHE_SECONDS', message)
  }
  return seconds * 1_000
}

type Command = readonly [program: string, ...argv: string[]]

/** Returns the words of a command, or null if the line is not a valid command. */
function parseCommand(line: string): Command | null {
  const words = line.trimStart().startsWith('[') ? parseArray(line) : line.trim().split(/\s+/)
  const [program, ...argv] = words
  if (program === undefined || program === '') return null
  return !line.trimStart().startsWith('[') && /["'`$\\]/.test(line) ? null : [program, ...argv]
}

function parseArray(line: string): string[] {
  try {
    const value: unknown = JSON.parse(line)
    return Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : []
  } catch {
    return []
  }
}

/**
 * Returns the environment without secrets. A command that prints the database password needs neither the master key
 * nor the operator's key.
 */
function withoutSecrets(env: Environment): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith('TALLYSTICK_') && entry[0] !== 'DATABASE_URL',
  )
  return Object.fromEntries(entries)
}
