import type pg from 'pg'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import { useSnapshot } from '../audit/audit-cursors.ts'
import { FLOOR_COLUMNS, type FloorColumns, floorOf, hasOpenFault, joinFloor } from '../chain/floors.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'
import { asBase64, asEscaped, PACKED_TYPES } from '../connect/packed-bytes.ts'
import { withPooledTransaction } from '../connect/transaction.ts'
import { EVERY_VERSION, listNewestSteps, type StepRow } from './read-steps.ts'

/** A gated record, wherever it is. */
export type GatedName = { readonly ledgerId: Uuid; readonly recordId: Uuid }

/** All that the worker looks at before it says something about a gated record. */
export type GatedCase = GatedName & {
  readonly state: string
  readonly version: number
  readonly gate: 'principal' | 'auto'
  readonly deadline: Date | null
  /** Why its ledger takes no entries; null: it does. */
  readonly closed: 'frozen' | 'restored' | null
  /** The ledger has an open fault: nothing is said about its records. */
  readonly isFaulty: boolean
  /**
   * Whether its newest entry lies below the ledger's floor, and so all that it rests on: otherwise the follower has not looked yet.
   * (What was erased since is verified by itself.)
   */
  readonly isSettled: boolean
  /** Kid of the key that signs the ledger's next entry, lower-case hex. */
  readonly envelopeKid: string
  readonly firstSeq: number
  readonly created: SignedLine
  readonly payload: CaseDocument
  /** The newest of each kind, with how many there are in all. */
  readonly steps: readonly StepRow[]
}

/** A document as it is stored; salt and content are null from the moment on that the entry at `erasedSeq` says so. */
export type CaseDocument = {
  readonly salt: Uint8Array | null
  readonly content: Buffer | null
  readonly erasedSeq: number | null
}

type CaseColumns = SignedColumns &
  FloorColumns & {
    ix: number
    ledgerId: Uuid
    recordId: Uuid
    state: string
    version: number
    gate: 'principal' | 'auto'
    deadline: Date | null
    closed: 'frozen' | 'restored' | null
    faulty: boolean
    envelopeKid: Buffer
    firstSeq: number
    lastSeq: number
    salt: Buffer | null
    payload: Buffer | null
    erasedSeq: number | null
  }

/**
 * In the order of `names`; null where there is no such record. One moment's view: it has all of a step that comes
 * meanwhile, or nothing.
 */
export async function readGatedCases(
  pool: pg.Pool,
  cursorMac: CursorMac,
  names: readonly GatedName[],
): Promise<(GatedCase | null)[]> {
  const cases = await withPooledTransaction(pool, async (client) => {
    await useSnapshot(client)
    const rows = await readCases(client, names)
    const whole = rows.map((row) => ({
      ledgerId: row.ledgerId,
      recordId: row.recordId,
      version: EVERY_VERSION,
    }))
    const steps = await listNewestSteps(client, whole)
    return new Map(rows.map((row, i) => [row.ix, toCase(cursorMac, row, steps[i]!)]))
  })
  return names.map((_, i) => cases.get(i + 1) ?? null)
}

async function readCases(client: pg.ClientBase, names: readonly GatedName[]): Promise<CaseColumns[]> {
  const { rows } = await client.query<CaseColumns>({
    name: 'read_gated_cases',
    text: `select w.ix, w.ledger_id, w.record_id, g.state, g.version, g.gate, g.deadline, h.closed, h.envelope_kid, g.first_seq, g.last_seq,
        ${hasOpenFault('w.ledger_id')} as faulty, ${FLOOR_COLUMNS},
        case when x.seq is null then ${asBase64('r.salt')} end as salt,
        case when x.seq is null then ${asBase64('r.payload')} end as payload,
        x.seq as erased_seq, e.kind, e.recorded_at, ${asBase64('e.leaf')} as leaf, ${asEscaped('e.envelope')} as envelope
      from unnest($1::uuid[], $2::uuid[]) with ordinality w (ledger_id, record_id, ix)
      cross join lateral (
        select * from tallystick.gated_records g where g.ledger_id = w.ledger_id and g.record_id = w.record_id offset 0
      ) g
      cross join lateral (
        select h.closed, h.envelope_kid from tallystick.chain_heads h where h.ledger_id = w.ledger_id offset 0
      ) h
      cross join lateral (
        select r.salt, r.payload from tallystick.records r
        where r.ledger_id = w.ledger_id and r.record_id = w.record_id offset 0
      ) r
      cross join lateral (
        select * from tallystick.entries e where e.ledger_id = w.ledger_id and e.seq = g.first_seq offset 0
      ) e
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = w.ledger_id and x.subject_id = w.record_id and x.document = 'payload'
          and x.document_seq = g.first_seq offset 0
      ) x on true
      ${joinFloor('w.ledger_id')}`,
    values: [names.map((n) => n.ledgerId), names.map((n) => n.recordId)],
    types: PACKED_TYPES,
  })
  return rows
}

function toCase(cursorMac: CursorMac, row: CaseColumns, steps: readonly StepRow[]): GatedCase {
  const ledgerId = row.ledgerId
  return {
    ledgerId,
    recordId: row.recordId,
    state: row.state,
    version: row.version,
    gate: row.gate,
    deadline: row.deadline,
    closed: row.closed,
    isFaulty: row.faulty,
    isSettled: row.lastSeq < floorOf(cursorMac, ledgerId, row),
    envelopeKid: row.envelopeKid.toString('hex'),
    firstSeq: row.firstSeq,
    created: toSignedLine(row),
    payload: {
      salt: row.salt,
      content: row.payload,
      erasedSeq: row.erasedSeq,
    },
    steps,
  }
}
