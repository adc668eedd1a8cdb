import { isId } from '../proof/ids.ts'
import type { CompromisedKeys } from '../proof/ledger/compromised-keys.ts'
import { isDay } from './is-day.ts'
import { SourceError } from './source.ts'

export function parseKid(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase()
  throw new SourceError('usage', '--key needs a kid: 64 hex digits, as in /.well-known/tallystick-keys.json')
}

/** Parses `--agent-key AGENT=KID` into the SDK's form. Throws SourceError. */
export function parseAgentKeys(texts: readonly string[] = []): Record<string, string[]> | undefined {
  if (texts.length === 0) return undefined
  const keys: Record<string, string[]> = {}
  for (const text of texts) {
    const [, agent, kid] = /^(agt_[0-9a-z]{26})=([0-9a-f]{64})$/i.exec(text) ?? []
    if (agent === undefined || !isId('agt', agent))
      throw new SourceError(
        'usage',
        '--agent-key needs an agent and the kid of its key: agt_…=<64 hex digits>',
      )
    keys[agent] = [...(keys[agent] ?? []), kid!.toLowerCase()]
  }
  return keys
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

function parseTime(text: string): number {
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) || isDay(text.slice(0, 10)) ? ms : Number.NaN
}

/**
 * Parses `--compromised KID[=TIME]`. Throws SourceError for malformed text. If malformed text were ignored, the key's
 * entries would be trusted.
 */
export function parseCompromised(texts: readonly string[] = []): CompromisedKeys {
  return new Map(
    texts.map((text) => {
      const [kid, time] = text.split(/=(.*)/s, 2) as [string, string | undefined]
      const sinceMs = time === undefined ? null : parseTime(time)
      if (/^[0-9a-f]{64}$/i.test(kid) && !Number.isNaN(sinceMs)) return [kid.toLowerCase(), sinceMs] as const
      throw new SourceError(
        'usage',
        '--compromised needs a kid (64 hex digits), or a kid with a time: KID=2026-11-20T12:00:00Z',
      )
    }),
  )
}
