import { UsageError } from '../errors.ts'

/** What a server answered, as it came or already parsed. */
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
