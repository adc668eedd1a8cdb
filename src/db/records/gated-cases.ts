import type pg from 'pg'
import { toHex } from '../../proof/bytes.ts'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import type { KnownStatements } from '../../signing/known-statements.ts'
import { useSnapshot } from '../audit/audit-cursors.ts'
import { type SignedColumns, toSignedLine } from '../chain/signed-entries.ts'
import {
  hasOpenFault,
  joinVerifiedSize,
  VERIFIED_SIZE_COLUMNS,
  type VerifiedSizeColumns,
  verifiedSizeOf,
} from '../chain/verified-size.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'
import { withPooledTransaction } from '../connect/transaction.ts'
import { EVERY_VERSION, listNewestLeaves, type StepLeaf } from './read-steps.ts'

export type GatedRecordKey = { readonly ledgerId: Uuid; readonly recordId: Uuid }

/** All data that the worker verifies before it appends an entry about a gated record. */
export type GatedCase = GatedRecordKey & {
  readonly state: string
  readonly version: number
  readonly gate: 'principal' | 'auto'
  readonly deadline: Date | null
  /** Reason why the ledger accepts no entries. null if it accepts entries. */
  readonly closed: 'frozen' | 'restored' | 'moving' | 'moved' | null
  /** True if the ledger has an open fault. In this case the worker appends no entry about the ledger's records. */
  readonly isFaulty: boolean
  /**
   * True if the record's newest entry is below the ledger's verified size. In this case the follower has verified this
   * entry and everything on which the entry depends.
   *
   * Erasures after that entry are verified separately.
   */
  readonly isVerified: boolean
  /** Kid of the key that signs the ledger's next entry, in lower-case hex. */
  readonly envelopeKid: string
  readonly firstSeq: number
  readonly created: SignedLine
  readonly payload: CaseDocument
  /** The newest step of each kind. Each item also has the number of all the record's steps. */
  readonly steps: readonly CaseStep[]
}

/** A step with its envelope. `envelope` is null unless the step is the record's newest step or the completion. */
export type CaseStep = StepLeaf & { readonly envelope: Uint8Array | null }

/** A stored document. Salt and content are null as soon as the entry at `erasedSeq` erases the document. */
export type CaseDocument = {
  readonly salt: Uint8Array | null
  readonly content: Buffer | null
  readonly erasedSeq: number | null
}

type CaseColumns = Omit<SignedColumns, 'envelope'> &
  VerifiedSizeColumns & {
    ix: number
    ledgerId: Uuid
    recordId: Uuid
    state: string
    version: number
    gate: 'principal' | 'auto'
    deadline: Date | null
    closed: 'frozen' | 'restored' | 'moving' | 'moved' | null
    faulty: boolean
    envelopeKid: Buffer
    firstSeq: number
    lastSeq: number
    salt: Buffer | null
    payload: Buffer | null
    erasedSeq: number | null
  }

/**
 * Returns the cases in the order of `names`. The result has null for a record that does not exist. All cases are from
 * one snapshot, so a concurrent step is either completely visible or not at all.
 *
 * Envelopes in `known` are not read from the database. If this process's follower has just verified a record's entries,
 * this saves reading three envelopes (3,600 bytes).
 */
export async function readGatedCases(
  pool: pg.Pool,
  {
    cursorMac,
    known,
  }: { readonly cursorMac: CursorMac; readonly known: Pick<KnownStatements, 'findEnvelope'> },
  names: readonly GatedRecordKey[],
): Promise<(GatedCase | null)[]> {
  const cases = await withPooledTransaction(pool, async (client) => {
    await useSnapshot(client)
    const rows = await readCases(client, names)
    const whole = rows.map((row) => ({
      ledgerId: row.ledgerId,
      recordId: row.recordId,
      version: EVERY_VERSION,
    }))
    const steps = await listNewestLeaves(client, whole)
    const envelopes = await readEnvelopes(
      client,
      known,
      rows.flatMap((row, i) => wantedOf(row, steps[i]!)),
    )
    return new Map(rows.map((row, i) => [row.ix, toCase(cursorMac, row, steps[i]!, envelopes)]))
  })
  return names.map((_, i) => cases.get(i + 1) ?? null)
}

type WantedEnvelope = { readonly ledgerId: Uuid; readonly seq: number; readonly leaf: Buffer }
/** Maps a leaf in lower-case hex to its envelope. */
type Envelopes = ReadonlyMap<string, Uint8Array>

/** Returns the entries that the worker verifies: the creation, the newest step, and the completion. */
function wantedOf(
  { ledgerId, firstSeq, leaf, version }: CaseColumns,
  steps: readonly StepLeaf[],
): WantedEnvelope[] {
  const acted = steps.filter((step) => step.version === version || step.kind === 'completion-submitted')
  return [
    { ledgerId, seq: firstSeq, leaf },
    ...acted.map((step) => ({ ledgerId, seq: step.seq, leaf: step.leaf })),
  ]
}

async function readEnvelopes(
  client: pg.ClientBase,
  known: Pick<KnownStatements, 'findEnvelope'>,
  wanted: readonly WantedEnvelope[],
): Promise<Envelopes> {
  const envelopes = new Map<string, Uint8Array>()
  const unknown = wanted.filter(({ leaf }) => {
    const envelope = known.findEnvelope(toHex(leaf))
    if (envelope) envelopes.set(toHex(leaf), envelope)
    return envelope === null
  })
  if (unknown.length === 0) return envelopes
  const { rows } = await client.query<{ leaf: Buffer; envelope: Buffer }>({
    name: 'read_case_envelopes',
    text: `select ${asBase64('e.leaf')} as leaf, ${asBase64('e.envelope')} as envelope
      from unnest($1::uuid[], $2::bigint[]) w (ledger_id, seq)
      cross join lateral (
        select e.leaf, e.envelope from tallystick.entries e where e.ledger_id = w.ledger_id and e.seq = w.seq offset 0
      ) e`,
    values: [unknown.map(({ ledgerId }) => ledgerId), unknown.map(({ seq }) => seq)],
    types: PACKED_TYPES,
  })
  for (const { leaf, envelope } of rows) envelopes.set(toHex(leaf), envelope)
  return envelopes
}

async function readCases(client: pg.ClientBase, names: readonly GatedRecordKey[]): Promise<CaseColumns[]> {
  const { rows } = await client.query<CaseColumns>({
    name: 'read_gated_cases',
    text: `select w.ix, w.ledger_id, w.record_id, g.state, g.version, g.gate, g.deadline, h.closed, h.envelope_kid, g.first_seq, g.last_seq,
        ${hasOpenFault('w.ledger_id')} as faulty, ${VERIFIED_SIZE_COLUMNS},
        case when x.seq is null then ${asBase64('r.salt')} end as salt,
        case when x.seq is null then ${asBase64('r.payload')} end as payload,
        x.seq as erased_seq, e.kind, e.recorded_at, ${asBase64('e.leaf')} as leaf
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
      ${joinVerifiedSize('w.ledger_id')}`,
    values: [names.map((n) => n.ledgerId), names.map((n) => n.recordId)],
    types: PACKED_TYPES,
  })
  return rows
}

function toCase(
  cursorMac: CursorMac,
  row: CaseColumns,
  steps: readonly StepLeaf[],
  envelopes: Envelopes,
): GatedCase {
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
    isVerified: row.lastSeq < verifiedSizeOf(cursorMac, ledgerId, row),
    envelopeKid: row.envelopeKid.toString('hex'),
    firstSeq: row.firstSeq,
    created: toSignedLine({ ...row, envelope: envelopes.get(toHex(row.leaf))! }),
    payload: {
      salt: row.salt,
      content: row.payload,
      erasedSeq: row.erasedSeq,
    },
    steps: steps.map((step) => ({ ...step, envelope: envelopes.get(toHex(step.leaf)) ?? null })),
  }
}
