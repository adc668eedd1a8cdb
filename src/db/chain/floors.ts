import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'

/*
 * A ledger's floor: the follower has verified all entries below it.
 *
 * These include the entries that named the keys, agents and peers on which they depend, because those come earlier in
 * the chain. The floor is 0 while the ledger has an open fault, and then no entry is trusted.
 */

/** Columns of a stored cursor that may be a floor; nulls: no cursor. */
export type FloorColumns = {
  floorSeq: number | null
  floorChain: Buffer | null
  floorKid: Buffer | null
  floorAgentKeys: Buffer | null
  floorMac: Buffer | null
}

/**
 * Returns a SQL join that adds the floor to any row with a ledger's id.
 *
 * A cursor counts only if it continues this chain. A cursor of a history that a restored backup lacks was genuine
 * once, but says nothing about the entries that replaced that history.
 */
export function joinFloor(ledgerId: string): string {
  return `left join lateral (
    select c.next_seq as floor_seq, c.chain as floor_chain, c.envelope_kid as floor_kid,
      c.agent_keys as floor_agent_keys, c.mac as floor_mac
    from tallystick.audit_cursors c
    where c.ledger_id = ${ledgerId} and not ${hasOpenFault('c.ledger_id')} and exists (
      select from tallystick.entries n
      where n.ledger_id = c.ledger_id and n.seq = c.next_seq - 1 and n.chain = c.chain offset 0)
    offset 0
  ) floor on true`
}

export const FLOOR_COLUMNS =
  'floor.floor_seq, floor.floor_chain, floor.floor_kid, floor.floor_agent_keys, floor.floor_mac'

/**
 * SQL over chain_heads `h`: true unless the ledger is being moved, or was moved, to another database, which then does
 * its work.
 */
export const IS_HERE = `coalesce(h.closed, 'frozen') not in ('moving', 'moved')`

export function hasOpenFault(ledgerId: string): string {
  return `exists (select from tallystick.ledger_faults o where o.ledger_id = ${ledgerId} and o.cleared_at is null)`
}

/** Returns the floor; 0 if the row was not written by a holder of the master key. */
export function floorOf(cursorMac: CursorMac, ledgerId: Uuid, row: FloorColumns): number {
  if (row.floorSeq === null) return 0
  const cursor = {
    ledgerId,
    nextSeq: row.floorSeq,
    chain: row.floorChain!,
    envelopeKid: row.floorKid!,
    agentKeys: row.floorAgentKeys,
  }
  return cursorMac.isOf(cursor, row.floorMac) ? cursor.nextSeq : 0
}
