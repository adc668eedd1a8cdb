import { utf8Decode } from '../proof/bytes.ts'
import { parseEntryLine } from '../proof/entry/entry-line.ts'
import { parseEnvelope } from '../proof/envelope/parse-envelope.ts'
import { ProofError } from '../proof/error.ts'
import { parseStatement } from '../proof/statement/statement.ts'
import type { OpenLedger } from './source.ts'

const KIND = Buffer.from('"record-shared"')
const NEWLINE = 0x0a

/**
 * The records that some entry shares after their creation, found without verifying anything. So the entries that are
 * worth remembering are known before they go by. LedgerExchange finds the shares that this misses.
 */
export async function findSharedLater(opened: OpenLedger): Promise<Set<string>> {
  const records = new Set<string>()
  for await (const { lines } of opened.portions()) {
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

/** null where the line is none of an entry, or of another one: it is for verification to say so. */
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
