import { parseId, type Uuid } from '../../proof/ids.ts'
import type { AgentKeyRegistration } from '../../proof/statement/agent-key.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { signedEnds, signedTable } from './table.ts'

/** A signing key of an agent. `kid` is hex, and `spki` is base64. */
export type SigningKeyColumns = {
  readonly agentId: Uuid
  readonly kid: string
  readonly alg: string
  readonly spki: string
  readonly required: boolean
}

export const AGENT_SIGNING_KEYS = signedTable<SigningKeyColumns>(
  'agent_signing_keys',
  `select registered_seq as seq, agent_id, encode(kid, 'hex') as kid, alg,
     translate(encode(spki, 'base64'), E'\\n', '') as spki, required
   from tallystick.agent_signing_keys where ledger_id = $1 order by registered_seq`,
  ({ kind, predicate }: ParsedStatement) => {
    if (kind !== 'agent-key-registered') return []
    const { agent, newKey, required } = predicate as unknown as AgentKeyRegistration
    return [{ agentId: parseId('agt', agent), ...newKey, required }]
  },
  ({ agentId: _, ...key }, { predicate }) => {
    const { endorsement } = predicate as unknown as AgentKeyRegistration
    return { ...key, endorsedBy: endorsement?.kid ?? null }
  },
)

export const REVOKED_SIGNING_KEYS = signedEnds(
  'agent_signing_keys.revoked_seq',
  `select revoked_seq as seq, encode(kid, 'hex') as id from tallystick.agent_signing_keys
   where ledger_id = $1 and revoked_seq is not null order by revoked_seq`,
  ({ kind, predicate }) => (kind === 'agent-key-revoked' ? [predicate['kid'] as string] : []),
  (kid) => ({ kid }),
)
