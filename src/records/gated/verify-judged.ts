import { toSignedLine } from '../../db/chain/signed-entries.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import type { RecordRowRead } from '../../db/records/read-records.ts'
import type { StepRow } from '../../db/records/read-steps.ts'
import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { type ParsedStatement, partyOf } from '../../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { agentIdOf } from '../read/agent-ids.ts'
import type { Steps } from '../read/step-view.ts'
import { requireOf, verifyClaimedState, verifySigned } from './verify-state.ts'

type Judged = {
  readonly record: string
  readonly row: RecordRowRead
  readonly stepRows: readonly StepRow[]
  readonly steps: Steps
}

/**
 * Verifies that the record's columns agree with its signed entries: state, documents, parties and terms. Returns the
 * statement of the record's newest entry. Throws ProofError if columns and entries differ.
 *
 * Without this check, an attacker who owns the database could change columns and so make the server sign a verdict
 * about another payload or other evidence. The attacker could also replace the principal by an agent of their own, or
 * let a performer overturn the rejection of its own work.
 */
export async function verifyJudged(
  { envelopeKeys, lookups }: { readonly envelopeKeys: EnvelopeKeys; readonly lookups: Lookups },
  { ledger, ledgerId }: { readonly ledger: string; readonly ledgerId: Uuid },
  { record, row, stepRows, steps }: Judged,
): Promise<ParsedStatement> {
  const { state, version, digest } = row
  const [newest, created] = await Promise.all([
    verifyClaimedState(envelopeKeys, { ledger, record, state, version }, stepRows),
    lookups.findCreation(ledgerId, row),
  ])
  const evidence = steps['completion-submitted']?.document
  const signed = newest.subjects.slice(0, 2).map(({ sha256 }) => sha256)
  const found = [digest, evidence?.digest].map((stored) => stored && toHex(stored))
  if (signed.join() !== found.join()) throw contradiction(record, signed, found)
  if (!created)
    throw new ProofError(
      'columns_contradict_entries',
      `the record ${record} is stored, but no entry creates this record`,
    )
  await verifyParties(envelopeKeys, { ledger, record, row }, created, stepRows)
  return newest
}

async function verifyParties(
  keys: EnvelopeKeys,
  record: RecordRef & { readonly row: RecordRowRead },
  line: SignedLine,
  steps: readonly StepRow[],
): Promise<void> {
  const { row } = record
  const created = await verifyOf(keys, record, line, 'record-created')
  const { gate, maxRevisions, performer = await activatorOf(keys, record, steps) } = created.predicate
  const signed = [partyOf(created), performer, gate, maxRevisions]
  const found = [agentOf(row.principalId), performerOf(row), row.gate, row.maxRevisions]
  if (signed.join() !== found.join()) throw contradiction(record.record, signed, found)
}

type RecordRef = { readonly ledger: string; readonly record: string }

/** Returns the agent that activated the record. This agent is the performer if the terms name none. */
async function activatorOf(
  keys: EnvelopeKeys,
  record: RecordRef,
  steps: readonly StepRow[],
): Promise<string> {
  const step = steps.find(({ kind }) => kind === 'record-activated')
  if (!step)
    throw new ProofError(
      'columns_contradict_entries',
      `the record ${record.record} has a step of the performer, but no entry activates this record`,
    )
  return partyOf(await verifyOf(keys, record, toSignedLine(step), 'record-activated'))
}

async function verifyOf(
  keys: EnvelopeKeys,
  record: RecordRef,
  line: SignedLine,
  kind: ParsedStatement['kind'],
): Promise<ParsedStatement> {
  const statement = await verifySigned(keys, line)
  requireOf(statement, kind, record)
  return statement
}

/**
 * Returns the performer. If the performer is a remote agent, its text counts only if the stored id was made from that
 * text, because the id decides whose steps are accepted.
 */
function performerOf({ performerId, performerRemote }: RecordRowRead): string | null {
  const isThat = performerRemote !== null && agentIdOf(performerRemote) === performerId
  return isThat ? performerRemote : agentOf(performerId)
}

function agentOf(id: Uuid | null): string | null {
  return id && formatId('agt', id)
}

function contradiction(record: string, signed: readonly unknown[], found: readonly unknown[]): ProofError {
  const detail = `${record}: signed is ${signed.join(' ')}, not ${found.join(' ')}`
  return new ProofError('columns_contradict_entries', detail)
}
