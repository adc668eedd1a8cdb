import type pg from 'pg'
import { toUuid } from './uuid.ts'

/** Which of `agentIds` are agents of the ledger, as lower-case hex. */
export async function findAgents(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  agentIds: Uint8Array[],
): Promise<Set<string>> {
  const { rows } = await pool.query<{ agent_id: string }>({
    name: 'find_agents',
    text: 'select agent_id from tallystick.agents where ledger_id = $1 and agent_id = any ($2::uuid[])',
    values: [toUuid(ledgerId), agentIds.map(toUuid)],
  })
  return new Set(rows.map((row) => row.agent_id.replaceAll('-', '')))
}
