import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'

/*
 * A ledger's verified size is the number of entries, from the first on, that the follower has verified.
 *
 * The keys, agents and peers that these entries use are verified too, because earlier entries have introduced them.
 * While the ledger has an open fault, its verified size is 0 and no entry is trusted.
 */

/**
 * Columns of a stored cursor, from which verifiedSizeOf computes the verified size. They are null if the ledger has no
 * valid cursor.
 */
export type VerifiedSizeColumns = {
  verifiedSize: number | null
  verifiedChain: Buffer | null
  verifiedKid: Buffer | null
  verifiedAgentKeys: Buffer | null
  verifiedMac: Buffer | null
}

/**
 * Returns a SQL join that adds the verified size to any row with a ledger's id.
 *
 * A cursor counts only if its chain hash is in the ledger's chain. After a restore from a backup, a cursor may refer to
 * entries that the backup lacks. Such a cursor is genuine, but says nothing about the entries that have replaced them.
 */
export function joinVerifiedSize(ledgerId: string): string {
  return `left join lateral (
    select c.next_seq as verified_size, c.chain as verified_chain, c.envelope_kid as verified_kid,
      c.agent_keys as verified_agent_keys, c.mac as verified_mac
    from tallystick.audit_cursors c
    where c.ledger_id = ${ledgerId} and not ${hasOpenFault('c.ledger_id')} and exists (
      select from tallystick.entries n
      where n.ledger_id = c.ledger_id and n.seq = c.next_seq - 1 and n.chain = c.chain offset 0)
    offset 0
  ) verified on true`
}

export const VERIFIED_SIZE_COLUMNS =
  'verified.verified_size, verified.verified_chain, verified.verified_kid, verified.verified_agent_keys, verified.verified_mac'

/**
 * SQL condition over chain_heads `h`. It is false if the ledger was moved or is being moved to another database. That
 * database then does the ledger's work.
 */
export const IS_HERE = `coalesce(h.closed, 'frozen') not in ('moving', 'moved')`

export function hasOpenFault(ledgerId: string): string {
  return `exists (select from tallystick.ledger_faults o where o.ledger_id = ${ledgerId} and o.cleared_at is null)`
}

/**
 * Returns the verified size. Returns 0 if the row's MAC is wrong, because such a row was written without the master
 * key.
 */
export function verifiedSizeOf(cursorMac: CursorMac, ledgerId: Uuid, row: VerifiedSizeColumns): number {
  if (row.verifiedSize === null) return 0
  const cursor = {
    ledgerId,
    nextSeq: row.verifiedSize,
    chain: row.verifiedChain!,
    envelopeKid: row.verifiedKid!,
    agentKeys: row.verifiedAgentKeys,
  }
  return cursorMac.isOf(cursor, row.verifiedMac) ? cursor.nextSeq : 0
}
