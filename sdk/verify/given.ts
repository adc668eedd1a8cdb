import { utf8Decode } from '../../src/proof/bytes.ts'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import { ProofError } from '../../src/proof/error.ts'
import { isId } from '../../src/proof/ids.ts'
import { parseWitnessPolicy, type WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { UsageError } from '../errors.ts'

/** Answer of a server: its bytes, its text, or already parsed. */
export type Answer = object | string

/** Throws `bad_utf8` for bytes that are no text. */
export function textOf(answer: Answer, name: string): string {
  if (typeof answer === 'string') return answer
  if (answer instanceof Uint8Array) return utf8Decode(answer)
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

/** Throws UsageError for what is no agent or no kid. */
export function parseAgentKeys(
  agentKeys: Readonly<Record<string, string | readonly string[]>> | undefined,
): Map<string, Set<string>> | undefined {
  if (agentKeys === undefined) return undefined
  return new Map(
    Object.entries(agentKeys).map(([agent, kids]) => {
      if (!isId('agt', agent)) throw new UsageError(`an agent is agt_…, not ${agent}`)
      const named = parseKids(typeof kids === 'string' ? [kids] : kids)
      if (named.length === 0) throw new UsageError(`name a key of ${agent}`)
      return [agent, new Set(named)]
    }),
  )
}

/** Witnesses of a ledger, and how many of them must have cosigned. */
export type WitnessOptions = {
  /** Verifier keys (of the type 04), as operators of witnesses publish them. */
  readonly keys: readonly string[]
  /** By default all of them. */
  readonly min?: number | undefined
}

/** Throws UsageError for keys that are none, or a number that they cannot reach. */
export function parseWitnesses(
  witnesses: WitnessOptions | undefined,
  { sha256 }: ProofProviders,
): WitnessPolicy | undefined {
  if (witnesses === undefined) return undefined
  try {
    return parseWitnessPolicy(witnesses.keys, witnesses.min, sha256)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new UsageError(`witnesses: ${error.detail}`)
  }
}

/** Throws `witnesses_too_few`. `cosigned`: how many did. */
export function requireWitnesses(cosigned: number, { min, witnesses }: WitnessPolicy): void {
  if (cosigned < min)
    throw new ProofError(
      'witnesses_too_few',
      `${cosigned} of ${witnesses.length} cosigned it, ${min} are needed`,
    )
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
