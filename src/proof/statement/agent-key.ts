import { utf8Encode } from '../bytes.ts'
import type { SignatureAlgorithm } from '../crypto.ts'

/** An agent's key, as its registering entry states it. Ids are TypeIDs, `kid` is lower-case hex. */
export type NewAgentKey = {
  readonly ledger: string
  readonly agent: string
  readonly kid: string
  /** From its registration on, the agent must sign every entry of its own, permanently. */
  readonly required: boolean
}

/** Predicate of `agent-key-registered`, without the members of every entry. Signatures and `spki` in base64. */
export type AgentKeyRegistration = {
  readonly agent: string
  readonly newKey: { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }
  readonly required: boolean
  readonly proof: string
  readonly endorsement?: { readonly kid: string; readonly signature: string }
}

/**
 * Returns the bytes that bind a key to an agent. The new key signs them to prove possession, and a current key of the
 * agent to endorse it.
 *
 * They name the key, so neither signature can stand for the other, nor for a key of another agent or ledger. They
 * differ from every envelope's signed bytes, which begin with 0x84 (RFC 9052 §4.4).
 */
export function agentKeyText({ ledger, agent, kid, required }: NewAgentKey): Uint8Array {
  return utf8Encode(
    `tallystick-agent-key-v1\n${ledger}\n${agent}\n${kid}\n${required ? 'required' : 'optional'}\n`,
  )
}
