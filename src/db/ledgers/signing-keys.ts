import type pg from 'pg'
import type { SignatureAlgorithm } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

export type SigningKeyRow = {
  readonly kid: Buffer
  readonly alg: SignatureAlgorithm
  readonly spki: Buffer
  readonly required: boolean
  readonly registeredAt: Date
  readonly revokedAt: Date | null
  readonly registeredSeq: number
  readonly revokedSeq: number | null
}

const SELECT_KEYS = `select k.kid, k.alg, k.spki, k.required, k.registered_seq, k.revoked_seq, r.recorded_at as registered_at,
    x.recorded_at as revoked_at
  from tallystick.agent_signing_keys k
  join tallystick.entries r on r.ledger_id = k.ledger_id and r.seq = k.registered_seq
  left join tallystick.entries x on x.ledger_id = k.ledger_id and x.seq = k.revoked_seq`

/** Returns the agent's key, or null if the agent has no key with that kid. `kid` may be any text. */
export async function findSigningKey(
  pool: Db,
  ledgerId: Uuid,
  agentId: Uuid,
  kid: string,
): Promise<SigningKeyRow | null> {
  const { rows } = await pool.query<SigningKeyRow>({
    name: 'find_signing_key',
    text: `${SELECT_KEYS} where k.ledger_id = $1 and k.agent_id = $2 and encode(k.kid, 'hex') = $3`,
    values: [ledgerId, agentId, kid],
  })
  return rows[0] ?? null
}

/** Lists the agent's keys that were registered after the entry `after`, oldest first. Includes revoked keys. */
export async function listSigningKeys(
  pool: Db,
  ledgerId: Uuid,
  agentId: Uuid,
  page: { readonly after: number; readonly limit: number },
): Promise<SigningKeyRow[]> {
  const { rows } = await pool.query<SigningKeyRow>({
    name: 'list_signing_keys',
    text: `${SELECT_KEYS} where k.ledger_id = $1 and k.agent_id = $2 and k.registered_seq > $3
      order by k.registered_seq limit $4`,
    values: [ledgerId, agentId, page.after, page.limit],
  })
  return rows
}

type EarlierKey = Pick<SigningKeyRow, 'kid' | 'alg' | 'spki' | 'required'> & {
  readonly agentId: Uuid
  readonly registeredSeq: number
  readonly revokedSeq: number | null
}

/**
 * Lists the keys of all agents that were registered by entries before `seq`. Each key has the state that it had at
 * `seq`.
 */
export async function listKeysBefore(
  client: pg.ClientBase,
  ledgerId: Uuid,
  seq: number,
): Promise<EarlierKey[]> {
  const { rows } = await client.query<EarlierKey>({
    name: 'list_keys_before',
    text: `select kid, alg, spki, required, agent_id, registered_seq,
        case when revoked_seq < $2 then revoked_seq end as revoked_seq
      from tallystick.agent_signing_keys where ledger_id = $1 and registered_seq < $2 order by registered_seq`,
    values: [ledgerId, seq],
  })
  return rows
}
