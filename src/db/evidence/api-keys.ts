import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EntryDetail } from '../chain/entry-details.ts'
import { endedIds, microseconds } from './signed.ts'
import { microsecondsOf, signedEnds, signedTable } from './table.ts'

export type ApiKeyColumns = {
  readonly keyId: Uuid
  readonly agentId: Uuid
  readonly scopes: readonly string[]
  readonly expiresAtUs: string | null
}

export const API_KEYS = signedTable<ApiKeyColumns>(
  'api_keys',
  `select created_seq as seq, key_id, agent_id, scopes, ${microsecondsOf('expires_at')} as expires_at_us
   from tallystick.api_keys where ledger_id = $1 order by created_seq`,
  ({ kind, subjects, predicate }: ParsedStatement) => {
    if (kind !== 'key-created') return []
    const { agent, scopes, expiresAt } = predicate as {
      agent: string
      scopes: string[]
      expiresAt: string | null
    }
    return [
      {
        keyId: parseId('key', subjects[0].name),
        agentId: parseId('agt', agent),
        scopes,
        expiresAtUs: expiresAt === null ? null : microseconds(expiresAt),
      },
    ]
  },
  // A restore uses the key's id as its name, because no entry contains the name. The secret cannot be restored, because
  // it is stored nowhere else.
  ({ keyId, agentId, scopes }, { predicate }) =>
    ({ agentId, name: formatId('key', keyId), scopes, expiresAt: predicate['expiresAt'] }) as EntryDetail,
)

export const REVOKED_API_KEYS = signedEnds(
  'api_keys.revoked_seq',
  `select revoked_seq as seq, key_id as id from tallystick.api_keys
   where ledger_id = $1 and revoked_seq is not null order by revoked_seq, key_id`,
  (statement) => endedIds(statement, 'key-revoked', 'key'),
  () => ({}),
)
