import { utf8Decode } from '../proof/bytes.ts'
import { parseEntryLine } from '../proof/entry/entry-line.ts'
import { parseEnvelope } from '../proof/envelope/parse-envelope.ts'
import { ProofError } from '../proof/error.ts'
import { parseStatement } from '../proof/statement/statement.ts'
import type { OpenLedger } from './source.ts'

const KIND = Buffer.from('"record-shared"')
const NEWLINE = 0x0a

/**
 * Returns the records that any `record-shared` entry names, without verifying the entries. LedgerExchange needs these
 * records in advance, so that it knows which entries to store. If this function misses a record, LedgerExchange detects
 * this.
 */
export async function findSharedLater(opened: OpenLedger): Promise<Set<string>> {
  const records = new Set<string>()
  for await (const { lines } of opened.ranges()) {
    const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.length)
    for (let at = bytes.indexOf(KIND); at >= 0; ) {
      const end = bytes.indexOf(NEWLINE, at)
      const record = recordOf(bytes.subarray(bytes.lastIndexOf(NEWLINE, at) + 1, end))
      if (record !== null) records.add(record)
      at = bytes.indexOf(KIND, end)
    }
  }
  return records
}

/**
 * Returns the record that the line shares. Returns null if the line shares no record. A malformed line is ignored here,
 * because the verification refuses it.
 */
function recordOf(line: Uint8Array): string | null {
  try {
    const { kind, predicate } = parseStatement(
      parseEnvelope(parseEntryLine(utf8Decode(line)).envelope).payload,
    )
    return kind === 'record-shared' ? (predicate['record'] as string) : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}
