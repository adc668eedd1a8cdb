import { createPublicKey } from 'node:crypto'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { type StatementReport, statement } from '../../sdk/verify/statement.ts'
import { RECEIPT_FILE_BYTES_MAX } from '../../src/proof/limits.ts'
import { quoted } from '../../src/proof/quoted.ts'
import { PEM_BYTES_MAX, readBytes, readText } from '../../src/verify/read-text.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT, HELP_EXIT_CODES } from '../exit-codes.ts'
import { jsonLine, textLine } from '../output.ts'
import { UsageError } from '../run.ts'
import { parseNoteKey } from './verify-proof.ts'

const HELP = `tallystick verify statement FILE --note-key VKEY [--issuer-key FILE]

Checks a Transparent Statement (RFC 9943), offline: somebody else's Signed Statement is in the ledger of the note key,
at its position in a tree that the key signed. FILE is what \`tallystick statements register -o\` wrote
(docs/formats/registered-statements.md).

  --note-key VKEY    the ledger's note verifier key, known from elsewhere (noteVerifierKey of GET /v1/ledger). Needed
  --issuer-key FILE  the issuer's public key (PEM, Ed25519 or P-256), known from elsewhere: without it the issuer's
                     signature is not checked
  --json             the report as one JSON object
  -h, --help

The last line:
  STATEMENT_OK entry=… issuer="…" subject="…" type="…" kid=… size=… root=… issuer-key=given|not-given
  STATEMENT_FAILED code=… reason="…"

Examples:
  tallystick verify statement sbom.transparent.cose --note-key "$NOTE_KEY"
  tallystick verify statement sbom.transparent.cose --note-key "$NOTE_KEY" --issuer-key build.pem

${HELP_EXIT_CODES}`

export const verifyStatement = defineCommand({
  help: HELP,
  options: { 'note-key': { type: 'string' }, 'issuer-key': { type: 'string' }, json: { type: 'boolean' } },
  async run(values, positionals, io) {
    const path = onlyArgument(positionals, 'verify statement FILE')
    const noteKey = await parseNoteKey(values['note-key'])
    if (noteKey === null)
      throw new UsageError(
        '--note-key is needed (noteVerifierKey of GET /v1/ledger): without this key, any ledger could have made the receipt',
      )
    const pem = values['issuer-key']
    const issuerKey = pem === undefined ? undefined : parsePem(await readText(pem, PEM_BYTES_MAX))
    const file = await readBytes(path, RECEIPT_FILE_BYTES_MAX)
    const report = await statement(file, { noteKey, issuerKey }).catch(toFailure)
    io.stdout.write(
      values.json ? jsonLine(shown(report), io.stdout) : textLine(formatReport(report), io.stdout),
    )
    return 'code' in report ? EXIT.refused : EXIT.ok
  },
})

function parsePem(text: string) {
  try {
    const key = createPublicKey(text)
    const alg = key.asymmetricKeyType === 'ed25519' ? ('EdDSA' as const) : ('ES256' as const)
    return { alg, spki: key.export({ format: 'der', type: 'spki' }).toString('base64') }
  } catch {
    throw new UsageError('--issuer-key takes a file with a public key in PEM')
  }
}

type Failure = { readonly code: string; readonly reason: string }

function toFailure(error: unknown): Failure {
  if (error instanceof VerificationError) return { code: error.code, reason: error.detail }
  throw error
}

/** Returns the report for JSON, with the bytes of the payload in base64. */
function shown(report: StatementReport | Failure): object {
  return 'code' in report ? report : { ...report, payload: Buffer.from(report.payload).toString('base64') }
}

/** Formats the report. Keep the format stable, because scripts parse it. */
function formatReport(report: StatementReport | Failure): string {
  if ('code' in report) return `STATEMENT_FAILED code=${report.code} reason=${quoted(report.reason)}`
  const { seq, issuer, subject, contentType, kid, size, root, issuerKey } = report
  return `STATEMENT_OK ${[
    `entry=${seq}`,
    `issuer=${quoted(issuer)}`,
    `subject=${quoted(subject)}`,
    `type=${quoted(contentType)}`,
    `kid=${kid}`,
    `size=${size}`,
    `root=${root}`,
    `issuer-key=${issuerKey.replace(' ', '-')}`,
  ].join(' ')}`
}
