import { parseId } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { endedIds } from './signed.ts'
import { signedEnds, signedTable } from './table.ts'

export const AGENTS = signedTable(
  'agents',
  'select registered_seq as seq, agent_id, name from tallystick.agents where ledger_id = $1 order by registered_seq',
  ({ kind, predicate }: ParsedStatement) =>
    kind === 'agent-registered'
      ? [{ agentId: parseId('agt', predicate['agent'] as string), name: predicate['name'] as string }]
      : [],
  ({ name }) => ({ name }),
)

export const DISABLED_AGENTS = signedEnds(
  'agents.disabled_seq',
  `select disabled_seq as seq, agent_id as id from tallystick.agents
   where ledger_id = $1 and disabled_seq is not null order by disabled_seq, agent_id`,
  (statement) => endedIds(statement, 'agent-disabled', 'agt'),
  () => ({}),
)
