import type { ApiKey, OtlpSettings } from '../../sdk/generated/api.ts'
import type { ValuesOf } from '../command.ts'
import { findAgent } from '../find-agent.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'
import { UsageError } from '../run.ts'

export const keysList = listItems({
  usage: 'keys list',
  flags: '[--agent AGENT] [--limit N]',
  about: `Lists the ledger's API keys, oldest first, without their secrets. Needs a key with one of the scopes keys:manage,
audit:read.`,
  options: { agent: { type: 'string' } },
  optionsHelp: '  --agent AGENT    only keys of this agent (agt_…, or its name)',
  examples: ['keys list --agent buyer', `keys list | jq -r 'select(.revokedAt == null) | .id'`],
  columns: [
    ['ID', ({ id }) => id],
    ['NAME', ({ name }) => name],
    ['AGENT', ({ agent }) => agent],
    ['SCOPES', ({ scopes }) => scopes.join(',')],
    ['EXPIRES', ({ expiresAt }) => expiresAt],
    ['REVOKED', ({ revokedAt }) => revokedAt],
  ] satisfies readonly Column<ApiKey>[],
  request: async (client, _, { agent }) =>
    client.keys.list({ agent: agent === undefined ? undefined : (await findAgent(client, agent)).id }),
})

export const keysGet = showItem({
  usage: 'keys get KEY',
  about: `Shows an API key, without its secret. Needs a key with one of the scopes keys:manage, audit:read.`,
  examples: ['keys get key_01kd2m3n4p5q6r7s8t9v0w1x2y'],
  request: (client, id) => client.keys.get(id),
})

const LIMITS = {
  'per-second': { type: 'string' },
  burst: { type: 'string' },
  none: { type: 'boolean' },
} as const

export const keysLimit = showItem({
  usage: 'keys limit KEY',
  flags: `--per-second N --burst N
tallystick keys limit KEY --none`,
  about: `Limits the rate of an API key's requests, on each server. A request counts as one, and one more for each 64 KiB of its
body. A batch counts as one more for each 100 records, if that is more. Needs a key with the scope keys:manage.`,
  options: LIMITS,
  optionsHelp: `  --per-second N   requests a second; may be a fraction, from 0.001
  --burst N        requests at once after a pause
  --none           remove the limit`,
  examples: [
    'keys limit key_01kd2m3n4p5q6r7s8t9v0w1x2y --per-second 100 --burst 200',
    'keys limit key_01kd2m3n4p5q6r7s8t9v0w1x2y --none',
  ],
  parse: parseLimit,
  request: (client, id, limit) => client.keys.setRateLimit(id, limit),
})

const OTLP = {
  take: { type: 'string' },
  content: { type: 'string' },
  rest: { type: 'string' },
  default: { type: 'boolean' },
} as const

export const keysOtlp = showItem({
  usage: 'keys otlp KEY',
  flags: `[--take agents|all] [--content digest|keep] [--rest reject|drop]
tallystick keys otlp KEY --default`,
  about: `Sets which spans and logs the server accepts from an API key by OTLP, and what it stores of them. Options that are not
given get their defaults: agents, digest, reject. Needs a key with the scope keys:manage.`,
  options: OTLP,
  optionsHelp: `  --take WHICH     agents: only spans and logs of agents' actions; all: everything
  --content HOW    digest: store only digests of prompts, answers, arguments and results; keep: store them
  --rest HOW       reject: tell the exporter how many spans and logs were not accepted; drop: tell it nothing
  --default        use the default of every option`,
  examples: [
    'keys otlp key_01kd2m3n4p5q6r7s8t9v0w1x2y --rest drop',
    'keys otlp key_01kd2m3n4p5q6r7s8t9v0w1x2y --take all --content keep',
  ],
  parse: parseOtlp,
  request: (client, id, settings) => client.keys.setOtlp(id, settings),
})

/**
 * Parses the limit. Returns null for `--none`. Throws UsageError if only one of the two numbers is given, because a
 * default for the other number would be a guess.
 */
function parseLimit({ 'per-second': perSecond, burst, none }: ValuesOf<typeof LIMITS>) {
  if (none && perSecond === undefined && burst === undefined) return null
  if (none || perSecond === undefined || burst === undefined)
    throw new UsageError('keys limit needs both --per-second N and --burst N, or only --none')
  return { requestsPerSecond: parseNumber(perSecond), burst: parseNumber(burst) }
}

function parseNumber(text: string): number {
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Number(text)
  throw new UsageError(
    `--per-second and --burst take a number of requests, such as 100 or 0.5, not ${JSON.stringify(text)}`,
  )
}

function parseOtlp({ take, content, rest, default: all }: ValuesOf<typeof OTLP>): OtlpSettings | null {
  const given = [take, content, rest].some((value) => value !== undefined)
  if ((all ?? false) === given)
    throw new UsageError('keys otlp needs one or more of --take, --content and --rest, or only --default')
  if (all) return null
  return {
    take: oneOf('--take', take ?? 'agents', ['agents', 'all']),
    content: oneOf('--content', content ?? 'digest', ['digest', 'keep']),
    rest: oneOf('--rest', rest ?? 'reject', ['reject', 'drop']),
  }
}

function oneOf<Value extends string>(option: string, given: string, values: readonly Value[]): Value {
  const found = values.find((value) => value === given)
  if (found === undefined)
    throw new UsageError(`${option} takes ${values.join(' or ')}, not ${JSON.stringify(given)}`)
  return found
}
