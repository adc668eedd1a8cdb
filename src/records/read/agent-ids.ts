import { parseId, type Uuid } from '../../proof/ids.ts'
import { parseRemoteAgent, remoteAgentId } from '../../proof/statement/remote-agents.ts'
import { nativeProviders } from '../../signing/native.ts'

/**
 * Under which id an agent is stored: `agt_…` under its own, one of another ledger, `led_…/agt_…`, under what stands for it.
 * Throws ProofError `bad_id` for what is neither.
 */
export function agentIdOf(agent: string): Uuid {
  return parseRemoteAgent(agent) ? remoteAgentId(nativeProviders.sha256, agent) : parseId('agt', agent)
}
