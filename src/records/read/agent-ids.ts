import { parseId, type Uuid } from '../../proof/ids.ts'
import { parseRemoteAgent, remoteAgentId } from '../../proof/statement/remote-agents.ts'
import { nativeProviders } from '../../signing/native.ts'

/**
 * Returns the id under which an agent is stored. For `agt_…` this is the agent's own id. For an agent of another
 * ledger, `led_…/agt_…`, the id is derived from the text. Throws ProofError `bad_id` for other texts.
 */
export function agentIdOf(agent: string): Uuid {
  return parseRemoteAgent(agent) ? remoteAgentId(nativeProviders.sha256, agent) : parseId('agt', agent)
}
