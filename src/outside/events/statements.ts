import type { EventRow } from '../../db/events/read-events.ts'
import { toHex } from '../../proof/bytes.ts'
import { type FindKey, verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { ENTRY_KINDS } from '../../proof/statement/kinds.ts'
import { type ParsedStatement, parseStatement } from '../../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { StatementReader } from './read-events.ts'

/** Reads statements without verification. A server uses this reader to show its own database. */
export const storedStatements: StatementReader = async () => (row) =>
  parseStatement(parseEnvelope(row.envelope).payload)

/**
 * Makes a reader that verifies each entry's position and its signature by a key of this deployment. Verification is
 * needed because receivers act on the events that the worker sends. Otherwise the owner of the database could forge an
 * entry.
 */
export function verifiedStatements(ledgerId: Uuid, keys: EnvelopeKeys): StatementReader {
  const ledger = formatId('led', ledgerId)
  return async (rows) => {
    const findKey = await keys.finderFor(rows.flatMap(kidOf), ledgerId)
    return (row) => verifyRow(row, ledger, findKey)
  }
}

/**
 * Returns the kid of an envelope in a list. The list is empty if the envelope can't be parsed. verifyRow reports that
 * error later.
 */
function kidOf({ envelope }: EventRow): string[] {
  try {
    return [toHex(parseEnvelope(envelope).kid)]
  } catch {
    return []
  }
}

function verifyRow(row: EventRow, ledger: string, findKey: FindKey): ParsedStatement {
  const line = {
    kind: row.kind,
    recordedAt: row.recordedAt.toISOString(),
    leaf: toHex(row.leaf),
    envelope: row.envelope,
  }
  const { statement } = verifySignedEntry(line, findKey, nativeProviders)
  if (statement.ledger !== ledger)
    throw new ProofError('ledger_foreign', `the entry belongs to ${statement.ledger}, not to ${ledger}`)
  const { movesRecord } = ENTRY_KINDS[statement.kind]
  const record = row.recordId === null ? null : formatId('rec', row.recordId)
  if (movesRecord && statement.predicate['record'] !== record)
    throw new ProofError(
      'line_contradicts_envelope',
      `the entry is about ${statement.predicate['record']}, but the row of the entry names ${record}`,
    )
  return statement
}
