import { utf8Encode } from '../bytes.ts'
import type { SignatureAlgorithm } from '../crypto.ts'

/** An agent's key, as the entry that registers the key states it. Ids are TypeIDs. `kid` is in lower-case hex. */
export type NewAgentKey = {
  readonly ledger: string
  readonly agent: string
  readonly kid: string
  /** True if the agent must sign every entry of its own after the registration. This cannot be undone. */
  readonly required: boolean
}

/**
 * Predicate of `agent-key-registered`, without the members that every entry has. Signatures and `spki` are in base64.
 */
export type AgentKeyRegistration = {
  readonly agent: string
  readonly newKey: { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }
  readonly required: boolean
  readonly proof: string
  readonly endorsement?: { readonly kid: string; readonly signature: string }
}

/**
 * Returns the bytes that bind a key to an agent. The new key signs them to prove possession, and a current key of the
 * agent signs them to endorse the new key.
 *
 * The bytes contain ledger, agent and kid. So a signature is not valid for another key, agent or ledger. The signed
 * bytes of envelopes begin with 0x84 (RFC 9052 §4.4), so a signature of these bytes is never valid for an envelope.
 */
export function agentKeyText({ ledger, agent, kid, required }: NewAgentKey): Uint8Array {
  return utf8Encode(
    `tallystick-agent-key-v1\n${ledger}\n${agent}\n${kid}\n${required ? 'required' : 'optional'}\n`,
  )
}
