import type { Tallystick } from '../sdk/client.ts'
import type { Agent } from '../sdk/generated/api.ts'
import { RefusedError } from './run.ts'

/** Returns an agent by its id or name. Throws RefusedError if no agent has this name. */
export async function findAgent(client: Tallystick, idOrName: string): Promise<Agent> {
  if (idOrName.startsWith('agt_')) return client.agents.get(idOrName)
  const [agent] = await client.agents.list({ name: idOrName }).toArray(1)
  if (agent) return agent
  throw new RefusedError(`the ledger has no agent named ${JSON.stringify(idOrName)}`)
}
