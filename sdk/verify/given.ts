import { UsageError } from '../errors.ts'

/** Answer of a server, as text or already parsed. */
export type Answer = object | string

export function textOf(answer: Answer, name: string): string {
  if (typeof answer === 'string') return answer
  if (typeof answer === 'object' && answer !== null) return JSON.stringify(answer)
  throw new UsageError(`${name} is what the server answered: its text, or an object`)
}

/** Throws UsageError for what is no kid: it would be one that nothing is signed with. */
export function parseKids(kids: readonly string[]): string[] {
  return kids.map((kid) => {
    if (typeof kid === 'string' && /^[0-9a-f]{64}$/i.test(kid)) return kid.toLowerCase()
    throw new UsageError('a kid has 64 hex digits, as in /.well-known/tallystick-keys.json')
  })
}

/** Throws UsageError for what is no kid, or no time: it would be passed over. */
export function parseCompromised(keys: Readonly<Record<string, string | null>>): Map<string, number | null> {
  const known = Object.entries(keys).map(([kid, since]): [string, number | null] => {
    const [parsed] = parseKids([kid]) as [string]
    const sinceMs = since === null ? null : Date.parse(since)
    if (Number.isNaN(sinceMs))
      throw new UsageError(`since when a key is compromised is a time such as 2026-11-20T12:00:00Z, or null`)
    return [parsed, sinceMs]
  })
  return new Map(known)
}
