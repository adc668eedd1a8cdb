import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'

/*
 * A ledger's floor: all entries below it were verified by the follower, and with them those that named the keys, agents and peers
 * that they rest on, because these stand before them in the chain. 0 while the ledger has an open fault: then nothing is believed.
 */

/** A cursor as it is stored, where it may be a floor; nulls: there is none. */
export type FloorColumns = {
  floorSeq: number | null
  floorChain: Buffer | null
  floorKid: Buffer | null
  floorAgentKeys: Buffer | null
  floorMac: Buffer | null
}

/**
 * To be joined with anything that has a ledger's id. A cursor counts where it continues this chain: one of a history that a
 * restored backup does not hold was genuine once, and says nothing of what stands in its place.
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

/** SQL over chain_heads `h`: the ledger is not moved to another database, where the work on it is done. */
export const IS_HERE = `coalesce(h.closed, 'frozen') not in ('moving', 'moved')`

export function hasOpenFault(ledgerId: string): string {
  return `exists (select from tallystick.ledger_faults o where o.ledger_id = ${ledgerId} and o.cleared_at is null)`
}

/** 0 where nobody who has the master key wrote the row. */
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
