import { utf8Encode } from '../bytes.ts'
import type { SignatureAlgorithm } from '../crypto.ts'

/** An agent's key, as the entry that registers it says. Ids as TypeIDs, `kid` lower-case hex. */
export type NewAgentKey = {
  readonly ledger: string
  readonly agent: string
  readonly kid: string
  /** From its registration on the agent signs every entry of its own, for good. */
  readonly required: boolean
}

/** Predicate of `agent-key-registered`, beyond what every entry says. Signatures and `spki` in base64. */
export type AgentKeyRegistration = {
  readonly agent: string
  readonly newKey: { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }
  readonly required: boolean
  readonly proof: string
  readonly endorsement?: { readonly kid: string; readonly signature: string }
}

/**
 * Bytes that a new key signs to show that somebody holds it, and that a current key of the agent signs to endorse it. They name
 * the key, so neither signature passes for the other, nor for a key of another agent or ledger; and no envelope's signature is over such
 * bytes, because those begin with 0x84 (RFC 9052 §4.4).
 */
export function agentKeyText({ ledger, agent, kid, required }: NewAgentKey): Uint8Array {
  return utf8Encode(
    `tallystick-agent-key-v1\n${ledger}\n${agent}\n${kid}\n${required ? 'required' : 'optional'}\n`,
  )
}
