import type { PublishedKey } from '../../sdk/generated/api.ts'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { type ReceiptReport, receipt } from '../../sdk/verify/receipt.ts'
import { utf8Decode } from '../../src/proof/bytes.ts'
import { parseJsonText } from '../../src/proof/json/json-text.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { isKeyHint } from '../../src/proof/ledger/key-hint.ts'
import { RECEIPT_FILE_BYTES_MAX, RECORD_BYTES_MAX } from '../../src/proof/limits.ts'
import { findNamedKeys } from '../../src/proof/offline/key-hints.ts'
import { quoted } from '../../src/proof/quoted.ts'
import { loadProviders } from '../../src/verify/providers.ts'
import { readBytes } from '../../src/verify/read-text.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT, HELP_EXIT_CODES } from '../exit-codes.ts'
import { jsonLine, textLine } from '../output.ts'
import { UsageError } from '../run.ts'
import { parseNoteKey } from './verify-proof.ts'

const HELP = `tallystick verify receipt FILE --note-key VKEY [--keys FILE] [--record FILE]

Checks one entry with its receipt, offline: the entry is in the ledger of the note key, at its position in a tree that
the key signed. For a record of a batch its position in the batch is checked too. FILE is what \`tallystick receipt\`
wrote (docs/formats/receipts.md).

  --note-key VKEY  the ledger's note verifier key, known from elsewhere (noteVerifierKey of GET /v1/ledger). Needed
  --keys FILE      signing keys, known from elsewhere (/.well-known/tallystick-keys.json): also verifies the signature
                   of the entry
  --record FILE    the record that the entry must be of: an answer of GET /v1/records/{id}
  --json           the report as one JSON object
  -h, --help

The last line:
  RECEIPT_OK ledger=… entry=… kind=… subject=… recorded=… size=… root=… keys=given|not-given
    record=same signal=SETTLE|HOLD|RELEASE version=… (one line; parts that do not apply are absent)
  RECEIPT_FAILED code=… reason="…"

Examples:
  tallystick verify receipt record.cose --note-key "$NOTE_KEY"
  tallystick verify receipt record.cose --note-key "$NOTE_KEY" --keys keys.json --record record.json

${HELP_EXIT_CODES}`

/** Maximum size of a keys document in bytes. A key takes about 300 bytes. */
const KEYS_BYTES_MAX = 1024 * 1024

export const verifyReceipt = defineCommand({
  help: HELP,
  options: {
    'note-key': { type: 'string' },
    keys: { type: 'string' },
    record: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run(values, positionals, io) {
    const path = onlyArgument(positionals, 'verify receipt FILE')
    const noteKey = await parseNoteKey(values['note-key'])
    if (noteKey === null)
      throw new UsageError(
        '--note-key is needed (noteVerifierKey of GET /v1/ledger): without this key, any ledger could have made the receipt',
      )
    const keys =
      values.keys === undefined ? undefined : await parseKeys(await readBytes(values.keys, KEYS_BYTES_MAX))
    const record = values.record === undefined ? undefined : await readBytes(values.record, RECORD_BYTES_MAX)
    const report = await receipt(await readBytes(path, RECEIPT_FILE_BYTES_MAX), {
      noteKey,
      keys,
      record,
    }).catch(toFailure)
    io.stdout.write(values.json ? jsonLine(report, io.stdout) : textLine(formatReport(report), io.stdout))
    return 'code' in report ? EXIT.refused : EXIT.ok
  },
})

/** Parses a keys document and checks that each key matches its kid. Throws UsageError if it is not valid. */
async function parseKeys(bytes: Uint8Array): Promise<PublishedKey[]> {
  const { sha256 } = await loadProviders()
  try {
    const { keys } = parseJsonText(utf8Decode(bytes)) as { keys: JsonValue[] }
    if (keys.every(isKeyHint)) {
      const hints = keys as unknown as PublishedKey[]
      findNamedKeys(hints, sha256)
      return hints.map((hint) => ({ ...hint, compromisedAt: hint.compromisedAt ?? null }))
    }
  } catch {
    // An invalid file is reported by the UsageError below.
  }
  throw new UsageError('--keys takes a file with the answer of /.well-known/tallystick-keys.json')
}

type Failure = { readonly code: string; readonly reason: string }

function toFailure(error: unknown): Failure {
  if (error instanceof VerificationError) return { code: error.code, reason: error.detail }
  throw error
}

/** Formats the report. Keep the format stable, because scripts parse it. */
function formatReport(report: ReceiptReport | Failure): string {
  if ('code' in report) return `RECEIPT_FAILED code=${report.code} reason=${quoted(report.reason)}`
  const { entry, seq, subject, size, root, keys, record } = report
  const parts = [
    `ledger=${entry.ledger}`,
    `entry=${seq}`,
    `kind=${entry.kind}`,
    `subject=${subject}`,
    `recorded=${entry.recordedAt}`,
    `size=${size}`,
    `root=${root}`,
    `keys=${keys.replace(' ', '-')}`,
  ]
  if (record === 'same') parts.push('record=same')
  if (entry.signal !== null) parts.push(`signal=${entry.signal.decision}`)
  if (entry.version !== null) parts.push(`version=${entry.version}`)
  return `RECEIPT_OK ${parts.join(' ')}`
}
