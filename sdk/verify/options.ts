import { utf8Decode } from '../../src/proof/bytes.ts'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import { ProofError } from '../../src/proof/error.ts'
import { isId } from '../../src/proof/ids.ts'
import { parseWitnessPolicy, type WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { UsageError } from '../errors.ts'

/** Answer of a server as text, as a parsed object, or as bytes. */
export type Answer = object | string

/** Returns the answer as text. Throws `bad_utf8` for bytes that are not UTF-8, and UsageError for other values. */
export function textOf(answer: Answer, name: string): string {
  if (typeof answer === 'string') return answer
  if (answer instanceof Uint8Array) return utf8Decode(answer)
  if (typeof answer === 'object' && answer !== null) return JSON.stringify(answer)
  throw new UsageError(`${name} must be the server's answer, as text or as an object`)
}

/** Returns the kids in lower case. Throws UsageError for an invalid kid, because no signature could match it. */
export function parseKids(kids: readonly string[]): string[] {
  return kids.map((kid) => {
    if (typeof kid === 'string' && /^[0-9a-f]{64}$/i.test(kid)) return kid.toLowerCase()
    throw new UsageError('a kid must have 64 hex digits, as in /.well-known/tallystick-keys.json')
  })
}

/** Returns a map from an agent's id to its trusted kids. Throws UsageError for an invalid agent or kid. */
export function parseAgentKeys(
  agentKeys: Readonly<Record<string, string | readonly string[]>> | undefined,
): Map<string, Set<string>> | undefined {
  if (agentKeys === undefined) return undefined
  return new Map(
    Object.entries(agentKeys).map(([agent, kids]) => {
      if (!isId('agt', agent))
        throw new UsageError(`each name in \`agentKeys\` must be the id of an agent (agt_…), not ${agent}`)
      const named = parseKids(typeof kids === 'string' ? [kids] : kids)
      if (named.length === 0)
        throw new UsageError(
          `\`agentKeys\` has no key of ${agent}: give the kid of at least one key, or leave the agent out`,
        )
      return [agent, new Set(named)]
    }),
  )
}

/** Witnesses of a ledger, and the number of them that must have cosigned. */
export type WitnessOptions = {
  /** Verifier keys (type 04), as witness operators publish them. */
  readonly keys: readonly string[]
  /** Minimum number of witnesses that must have cosigned. Default: all witnesses. */
  readonly min?: number | undefined
}

/**
 * Returns the policy of these witnesses. Throws UsageError for invalid keys, or for a minimum that is larger than the
 * number of witnesses.
 */
export function parseWitnesses(
  witnesses: WitnessOptions | undefined,
  { sha256 }: ProofProviders,
): WitnessPolicy | undefined {
  if (witnesses === undefined) return undefined
  try {
    return parseWitnessPolicy(witnesses.keys, witnesses.min, sha256)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new UsageError(`the option \`witnesses\` is not valid: ${error.detail}`)
  }
}

/** Throws `witnesses_too_few` if `cosigned`, the number of witnesses that have cosigned, is less than the minimum. */
export function requireWitnesses(cosigned: number, { min, witnesses }: WitnessPolicy): void {
  if (cosigned < min)
    throw new ProofError(
      'witnesses_too_few',
      `${cosigned} of the ${witnesses.length} witnesses cosigned the checkpoint, but ${min} are needed`,
    )
}

/**
 * Maps the kid of each compromised key to the time in ms since when the key is compromised, or to null. Throws
 * UsageError for an invalid kid or time, because such a value would have no effect.
 */
export function parseCompromised(keys: Readonly<Record<string, string | null>>): Map<string, number | null> {
  const known = Object.entries(keys).map(([kid, since]): [string, number | null] => {
    const [parsed] = parseKids([kid]) as [string]
    const sinceMs = since === null ? null : Date.parse(since)
    if (Number.isNaN(sinceMs))
      throw new UsageError(
        `the time since which a key is compromised must be like 2026-11-20T12:00:00Z, or null`,
      )
    return [parsed, sinceMs]
  })
  return new Map(known)
}
