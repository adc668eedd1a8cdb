import { parseArgs } from 'node:util'
import { Tallystick } from '../../sdk/client.ts'
import { parseAgentKeys as pinnedAgentsOf } from '../../sdk/verify/options.ts'
import type { ArchiveContent } from '../../src/db/connect/archive.ts'
import { RECEIPT_FILE_BYTES_MAX } from '../../src/proof/limits.ts'
import { FILE_KIND_BYTES, fileKindOf } from '../../src/proof/offline/file-kind.ts'
import { readCheckpointFile } from '../../src/verify/checkpoint-file.ts'
import { formatErasure } from '../../src/verify/erasures.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { THREADS_MAX } from '../../src/verify/limits.ts'
import { parseAgentKeys, parseCompromised, parseKid } from '../../src/verify/parse-kid.ts'
import { readBytes } from '../../src/verify/read-text.ts'
import { applyStrict, formatReport, type VerifyReport } from '../../src/verify/report.ts'
import { displayUrl, type LedgerSource, SourceError } from '../../src/verify/source.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { parseCount } from '../arguments.ts'
import { type Command, defineCommand, type ValuesOf } from '../command.ts'
import { findConnection, READER_HELP, SERVER_OPTIONS } from '../connection.ts'
import { environment } from '../environment.ts'
import { EXIT, type ExitCode, HELP_EXIT_CODES } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { pinLedger, readKnownLedgers } from '../known-ledgers.ts'
import { jsonLine, textLine } from '../output.ts'
import { parsePostgresUrl } from '../parse-postgres-url.ts'
import { openProgressBar } from '../progress.ts'
import { asUsage, UsageError } from '../run.ts'
import { serverLedger } from '../server-ledger.ts'
import { parseSpoolMib, SPOOL_HELP, SPOOL_OPTIONS, standardInput } from '../standard-input.ts'
import { parseWitnessOptions, WITNESS_OPTIONS } from '../witness-options.ts'
import { verifyBundle } from './verify-bundle.ts'
import { verifyProofCommand } from './verify-proof.ts'
import { verifyReceipt } from './verify-receipt.ts'
import { verifyStatement } from './verify-statement.ts'

const HELP = `tallystick verify [FILE | --server URL | --database URL | --archive PLACE]
tallystick verify --proof FILE [--record FILE]

Checks a whole ledger: every envelope and its signature, the chain, the Merkle root, document digests, batches, keys and
their rotations, actors, the lifecycle of every record, erasures, and checkpoints. With --database, every column too. It
needs only what it reads, and trusts only what you give it.

What to read (one of these; without any, the ledger of your API key on its server):
  FILE               an export (\`tallystick export\`); - is standard input. A bundle, a receipt or a proof is recognized
                     by its first bytes, and verified with the options of \`verify bundle\`, \`verify receipt\` or --proof
${READER_HELP}
    The API key needs the scope audit:read; without records:read the server withholds documents
  --database URL     a Postgres with Tallystick's schema
    --ledger ID      which ledger (led_…); needed if there are several
    --archive PLACE --archive-key FILE  for content that has left Postgres: the archive of all its ledgers, and the
                     keys of this one
  --archive PLACE    an archive, without any server: a directory, s3://bucket/prefix, or a web address (http, https)
    --ledger ID      which ledger (led_…); needed if there are several and PLACE is not that of one ledger
    --archive-key FILE  keys of its documents (\`archive-keys\` prints them); without them documents count as withheld
  --proof FILE       one entry: an answer of GET /v1/records/{id}/proof or /v1/entries/{seq}/proof, without the ledger
    --record FILE    the record that the entry must be of: an answer of GET /v1/records/{id}

What to trust:
  --checkpoint FILE  a checkpoint that you stored: the ledger must extend it. Repeatable
  --receipt FILE     a receipt that you stored (\`tallystick receipt\`): the ledger must have its entry, and extend its
                     tree. Counts as a checkpoint of its size. Repeatable
  --key KID          the kid (64 hex digits) of the ledger's first envelope key, known from elsewhere. Repeatable
  --compromised KID[=TIME]  a stolen key, whatever the export says: its signatures count only as far as a checkpoint
                     that you stored covers them, and not from TIME on. Repeatable
  --agent-key AGENT=KID  a key of an agent that signs for itself, known from elsewhere: each entry of the agent must be
                     signed by it, or by a key that it endorsed. Repeatable
  --witness VKEY     verifier key of a witness of the ledger, as the witness's operator publishes it. Repeatable
  --witnesses-min K  how many of them must have cosigned a checkpoint (default all): the ledger's own, or one of
                     --checkpoint
  --pin              remember this ledger's first key once it has verified; later runs compare
  --strict           fail unless keys and a checkpoint are given, and the ledger's own checkpoint reaches its end, up to
                     the last minute. With --witness the checkpoint may be cosigned instead of given
With --proof:
  --key KID          the kid of the entry's signer, which after a rotation is not the first one. Repeatable: one of
                     them must have signed
  --compromised KID[=TIME]  as above
  --note-key VKEY    the ledger's note verifier key (noteVerifierKey of GET /v1/ledger)
  --checkpoint FILE  a checkpoint that you stored: the proof must have the same one, or a proof that joins the two:
    --consistency FILE   an answer of GET /v1/checkpoints/consistency?from=…&to=…
  --witness VKEY     as above: the proof's own checkpoint must be cosigned (\`tallystick proof --help\` says how to get one)

  --erasures         list what was erased, one line each: when, why, by whom. --json always has the list
${SPOOL_HELP}
  --threads N        verification threads; 0: none. Default: one per core for large ledgers
  --json             the report as one JSON object. \`kids\` has the ledger's envelope keys in order: the last one signs now
  -h, --help

The last line:
  INTEGRITY_OK entries=… records=… keys=given|pinned|self-asserted checkpoint=given|own|none covered=<size>
    own=<size> of <entries> witnessed=<size> of <entries> erased=… documents=withheld (one line; parts that do not
    apply are absent)
  INTEGRITY_FAILED seq=<first bad entry> code=… reason="…"
With --proof:
  PROOF_OK ledger=… entry=… kind=… subject=… recorded=… keys=given|self-asserted note-key=given|self-asserted
    checkpoint=given|own covered=<size> of <size of the proof's> cosigned=<witnesses>
    unknown-cosignatures=<lines of others> record=same signal=SETTLE|HOLD|RELEASE version=… (one line; parts that do
    not apply are absent)
  PROOF_FAILED code=… reason="…"

Examples:
  tallystick verify
  tallystick verify ledger.ndjson --checkpoint kept.ndjson --strict --key "$FIRST_KID"
  tallystick verify --server https://ledger.example --pin
  tallystick verify --proof proof.json --record record.json

${HELP_EXIT_CODES}`

const OPTIONS = {
  ...SERVER_OPTIONS,
  ...SPOOL_OPTIONS,
  database: { type: 'string' },
  archive: { type: 'string' },
  'archive-key': { type: 'string' },
  ledger: { type: 'string' },
  checkpoint: { type: 'string', multiple: true },
  receipt: { type: 'string', multiple: true },
  key: { type: 'string', multiple: true },
  compromised: { type: 'string', multiple: true },
  pin: { type: 'boolean' },
  'agent-key': { type: 'string', multiple: true },
  ...WITNESS_OPTIONS,
  strict: { type: 'boolean' },
  threads: { type: 'string' },
  json: { type: 'boolean' },
  erasures: { type: 'boolean' },
  proof: { type: 'string' },
  record: { type: 'string' },
  consistency: { type: 'string' },
  'note-key': { type: 'string' },
} as const

type Values = ValuesOf<typeof OPTIONS>

const verifyLedgerOrProof = defineCommand({ help: HELP, options: OPTIONS, run: verifyAny })

export const verify: Command = {
  ...verifyLedgerOrProof,
  async run(args, io) {
    const other = await otherFile(args)
    return other ? other.command.run(other.args, io) : verifyLedgerOrProof.run(args, io)
  },
}

type OtherFile = { readonly command: Command; readonly args: readonly string[] }

/**
 * Reads the first bytes of FILE. For a bundle, a receipt, a statement or a proof, returns its command and the arguments
 * of that command. The command refuses options that it does not have. Returns null for an export, an unreadable file, a
 * file of an unknown kind, or no file. The code that opens the file later reports errors.
 */
async function otherFile(args: readonly string[]): Promise<OtherFile | null> {
  // Includes the options of the other commands. Otherwise a value of such an option would be parsed as the file.
  const options = { ...verifyReceipt.options, ...verifyStatement.options, ...verifyLedgerOrProof.options }
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const named = tokens.filter(({ kind }) => kind === 'positional')
  const [file] = named
  if (file?.kind !== 'positional' || named.length > 1 || file.value === '-') return null
  const start = await readBytes(file.value, FILE_KIND_BYTES).catch(() => new Uint8Array())
  switch (fileKindOf(start)) {
    case 'bundle':
      return { command: verifyBundle, args }
    case 'receipt': {
      const isStatement = tokens.some((token) => token.kind === 'option' && token.name === 'issuer-key')
      return { command: isStatement ? verifyStatement : verifyReceipt, args }
    }
    case 'proof':
      return { command: verifyLedgerOrProof, args: args.with(file.index, `--proof=${file.value}`) }
    default:
      return null
  }
}

async function verifyAny(values: Values, positionals: readonly string[], io: Io): Promise<ExitCode> {
  const kids = (values.key ?? []).map(parseKid)
  refuseMixture(values, positionals)
  const compromised = parseCompromised(values.compromised)
  const witnesses = await parseWitnessOptions(values)
  if (values.proof !== undefined)
    return verifyProofCommand({ ...values, proof: values.proof }, { kids, compromised, witnesses }, io)
  const source = await chooseSource(values, positionals, io)
  const threads = parseCount(values.threads, '--threads', { min: 0, max: THREADS_MAX })
  const checkpoints = (await Promise.all((values.checkpoint ?? []).map(readCheckpointFile))).flat()
  const receipts = await Promise.all(
    (values.receipt ?? []).map((path) => readBytes(path, RECEIPT_FILE_BYTES_MAX)),
  )
  const bar = openProgressBar(io.stderr)
  try {
    const report = await verifyLedger(source, {
      checkpoints,
      receipts,
      kids,
      compromised,
      witnesses,
      pinnedAgents: pinnedAgentsOf(parseAgentKeys(values['agent-key'])),
      pinned: await readKnownLedgers(),
      onProgress: bar.update,
      ...(threads !== undefined && { threads }),
    })
    bar.close()
    return await conclude(values.strict ? applyStrict(report) : report, values, io)
  } finally {
    bar.close()
  }
}

async function conclude(report: VerifyReport, values: Values, io: Io): Promise<ExitCode> {
  for (const notice of report.notices) io.stderr.write(`tallystick: ${notice}\n`)
  if (values.pin && report.ok && report.ledger !== null) await pinLedger(report.ledger, report.firstKid!)
  if (values.erasures && !values.json)
    for (const erasure of report.erasures) io.stdout.write(`${formatErasure(erasure)}\n`)
  io.stdout.write(values.json ? jsonLine(report, io.stdout) : textLine(formatReport(report), io.stdout))
  return report.ok ? EXIT.ok : EXIT.refused
}

const WITH_PROOF = ['record', 'consistency', 'note-key'] as const
const WITHOUT_PROOF = [
  'receipt',
  'agent-key',
  'server',
  'api-key',
  'database',
  'archive',
  'archive-key',
  'ledger',
  'pin',
  'threads',
  'erasures',
  'spool-mib',
] as const

/** Throws UsageError for options that would be ignored, because the user may rely on their check. */
function refuseMixture(values: Values, positionals: readonly string[]): void {
  const isProof = values.proof !== undefined
  const misplaced = (isProof ? WITHOUT_PROOF : WITH_PROOF).find((name) => values[name] !== undefined)
  if (misplaced !== undefined)
    throw new UsageError(`--${misplaced} ${isProof ? 'cannot' : 'can only'} be used with --proof`)
  if (isProof && positionals.length > 0)
    throw new UsageError(
      'verify checks either a ledger or the FILE of --proof, not both: leave one of them out',
    )
}

async function chooseSource(values: Values, positionals: readonly string[], io: Io): Promise<LedgerSource> {
  const { server, database: databaseUrl, archive, ledger } = values
  // With a database, `--archive` is not the source. It names the place of the content that is no longer in the
  // database.
  const place = databaseUrl === undefined ? archive : undefined
  const named = [...positionals, server, databaseUrl, place].filter((name) => name !== undefined)
  if (named.length > 1) {
    throw new UsageError(
      'verify reads only one source: a FILE (- for standard input), --server URL, --database URL, or --archive PLACE',
    )
  }
  if (ledger !== undefined && databaseUrl === undefined && archive === undefined)
    throw new UsageError('--ledger can only be used with --database or --archive')
  if (values['archive-key'] !== undefined && archive === undefined)
    throw new UsageError('--archive-key can only be used with --archive')
  const [path] = positionals
  if (
    values['api-key'] !== undefined &&
    (path !== undefined || databaseUrl !== undefined || archive !== undefined)
  )
    throw new UsageError('--api-key can only be used if a server is verified: leave --api-key out')
  if (databaseUrl !== undefined) {
    // Loaded on demand, because verifying a file needs no Postgres client.
    const { Database } = await import('../../src/db/connect/connection.ts')
    const { database } = await import('../../src/verify/database.ts')
    const options = environment.databaseOptions()
    const released = archive === undefined ? null : await openContent(archive, values['archive-key'])
    return database(
      asUsage(() => new Database(parsePostgresUrl(databaseUrl, '--database takes'), options, null, released)),
      ledger ?? null,
    )
  }
  if (archive !== undefined) {
    const { openArchiveSource } = await import('../../src/verify/archive/archive-source.ts')
    return openArchiveSource({
      location: archive,
      ledger: ledger ?? null,
      keyFile: values['archive-key'] ?? null,
      s3: environment.s3Settings(),
    })
  }
  if (path === '-') return standardInput(io, values)
  if (path === undefined) return connectedSource(values, io)
  return exportOnly(path)
}

/**
 * Returns an export as a source. If the file is not an export, the error also names the other kinds of files that
 * `verify FILE` accepts.
 */
function exportOnly(path: string): LedgerSource {
  const source = exportFile(path)
  return {
    ...source,
    open: () =>
      source.open().catch((error: unknown) => {
        if (!(error instanceof SourceError) || error.kind !== 'not_a_ledger') throw error
        const message = `${error.message}. The file is no bundle, proof or receipt either`
        throw new SourceError(error.kind, message, { cause: error })
      }),
  }
}

/**
 * Returns the ledger of a server as a source. If no option named the server, prints its address, because the result
 * is about that server.
 */
async function connectedSource(values: Values, io: Io): Promise<LedgerSource> {
  const { url, apiKey, origin } = await findConnection(values)
  const client = new Tallystick({ baseUrl: url, apiKey })
  if (values.server === undefined)
    io.stderr.write(`tallystick: reading the ledger at ${displayUrl(url)} (API key: ${origin})\n`)
  return serverLedger(client, url, { mibMax: parseSpoolMib(values) })
}

async function openContent(place: string, keyFile: string | undefined): Promise<ArchiveContent> {
  if (keyFile === undefined)
    throw new UsageError('--archive together with --database also needs --archive-key')
  const { openContentOfFile } = await import('../../src/verify/archive/archive-source.ts')
  return openContentOfFile(place, keyFile, environment.s3Settings())
}
