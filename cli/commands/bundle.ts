import { API_VERSION } from '../../sdk/generated/operations.ts'
import { bundle as verifyBundle } from '../../sdk/verify/bundle.ts'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { announce } from '../announce.ts'
import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { UNTIL_COVERED } from '../entry-argument.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { openPieces } from '../open-pieces.ts'
import { type Output, refuseTerminal, withOutput } from '../output-file.ts'
import { parseType } from '../record-options.ts'
import { RefusedError, UsageError } from '../run.ts'
import { type End, parseEnd, seqsOfPeriod } from '../seq-of-time.ts'

const HELP = `tallystick bundle RECORD -o FILE
tallystick bundle --run RECORD -o FILE
tallystick bundle --from TIME|SEQ --to TIME|SEQ [--type TYPE] [--agent AGENT] [--trace TRACE] -o FILE

Saves one file that can be verified with only a key of the ledger: entries with their documents, proofs, a checkpoint,
and the entries that name the keys (docs/formats/bundles.md). Waits about half a minute for a checkpoint that covers them.
Needs a key with the scopes audit:read and records:read; for a range without documents only audit:read. An entry of
the ledger (export-made) names who made the bundle.

  RECORD           a record, with all of its entries so far: a selection
  --run RECORD     a record and all records below it by parent, so far, at most 10,000: a selection
  --from, --to     the entries of a period, both ends inclusive: provably complete. A day (2027-03-31, in UTC), a
                   time, or a seq
  --type NAME/VERSION, --agent AGENT, --trace TRACE
                   only records of the period that match all given options, with their steps: a selection. AGENT made
                   or performs the record, or it was made in AGENT's name; TRACE has 32 hex digits
  --size N         prove the entries in the checkpoint of this size, such as a stored one. Default: the newest
  --no-documents   without payloads, evidence, values and reasons: only ids, codes, times and digests
  -o, --out FILE   where to write. Default, and for -: standard output, unless that is a terminal. FILE is verified
                   before it gets its name, and only you can read it; a pipe or a device is written at once
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick bundle rec_01kd2m3n4p5q6r7s8t9v0w1x2y -o record.bundle
  tallystick bundle --run rec_01kd2m3n4p5q6r7s8t9v0w1x2y --no-documents -o run.bundle
  tallystick bundle --from 2027-01-01 --to 2027-03-31 -o quarter.bundle
  tallystick bundle --from 2027-01-01 --to 2027-03-31 --agent agt_01kd2m3n4p5q6r7s8t9v0w1x2y -o agent.bundle
  tallystick bundle --from 1000 --to 1999 -o thousand.bundle
  tallystick verify bundle thousand.bundle --note-key "$NOTE_KEY"
`

const OPTIONS = {
  run: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  type: { type: 'string' },
  agent: { type: 'string' },
  trace: { type: 'string' },
  size: { type: 'string' },
  'no-documents': { type: 'boolean' },
  out: { type: 'string', short: 'o' },
  ...CONNECTION_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>

export const bundle = defineCommand({ help: HELP, options: OPTIONS, run: save })

async function save(values: Values, positionals: readonly string[], io: Io): Promise<ExitCode> {
  const subject = parseSubject(values, positionals)
  return withOutput(values.out, { io, isPrivate: true }, (output) => saveTo(output, subject, values, io))
}

async function saveTo(output: Output, of: BundleSubject, values: Values, io: Io): Promise<ExitCode> {
  refuseTerminal('a bundle', output)
  const client = await connect(values)
  const documents = values['no-documents'] !== true
  const request = {
    size: parseCount(values.size, '--size'),
    documents,
    tool: `tallystick ${API_VERSION}`,
    ...UNTIL_COVERED,
  }
  const { bundles } = client
  if (!('from' in of)) {
    await announce(client, { of, from: 0, documents }, io)
    const lines = 'run' in of ? bundles.run(of.run, request) : bundles.record(of.record, request)
    await output.save(lines, refuseFaulty)
    return EXIT.ok
  }
  const { filter } = of
  const { from, to } = await seqsOfPeriod(client, await sizeOf(client, of), of.from, of.to)
  await announce(client, { of: filter ?? {}, from, to, documents }, io)
  const lines = filter ? bundles.filter({ from, to, ...filter }, request) : bundles.range(from, to, request)
  await output.save(lines, refuseFaulty)
  return EXIT.ok
}

type Client = Awaited<ReturnType<typeof connect>>

/**
 * Returns the size of the newest checkpoint, which limits the search for a time. Returns 0 if the period is given by
 * two seqs, because no search is needed then.
 */
async function sizeOf({ checkpoints }: Client, { from, to }: Period): Promise<number> {
  if ('seq' in from && 'seq' in to) return 0
  const [newest] = await checkpoints.list({ limit: 1 }).toArray(1)
  if (newest) return newest.size
  throw new RefusedError('the ledger has no checkpoint yet: try again in a few seconds')
}

type Filter = { readonly type?: string; readonly agent?: string; readonly trace?: string }
type Period = { readonly from: End; readonly to: End; readonly filter: Filter | null }
type BundleSubject = { record: string } | { run: string } | Period

function parseSubject(
  { run, from, to, type, agent, trace }: Values,
  positionals: readonly string[],
): BundleSubject {
  const isPeriod = from !== undefined || to !== undefined
  const filter = {
    ...(type !== undefined && { type: parseType(type) }),
    ...(agent !== undefined && { agent }),
    ...(trace !== undefined && { trace }),
  }
  const isFiltered = Object.keys(filter).length > 0
  if (isFiltered && !isPeriod)
    throw new UsageError('--type, --agent and --trace select records from a period: add --from and --to')
  if (isPeriod || run !== undefined) {
    if (positionals.length > 0 || (isPeriod && run !== undefined))
      throw new UsageError('bundle needs exactly one of these: RECORD, --run RECORD, or --from with --to')
    if (run !== undefined) return { run }
    if (from === undefined || to === undefined) throw new UsageError('--from and --to must both be given')
    return { from: parseEnd(from, '--from'), to: parseEnd(to, '--to'), filter: isFiltered ? filter : null }
  }
  return { record: onlyArgument(positionals, 'bundle RECORD, --run RECORD, or --from and --to') }
}

/**
 * Verifies the bundle before its file gets the final name. Entries were read one by one, so a document may have been
 * erased, or a record may have got a new step, between two requests.
 */
async function refuseFaulty(path: string): Promise<void> {
  try {
    await verifyBundle(openPieces(path))
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    throw new RefusedError(
      `the server's answer does not verify (${error.message}): try again, because the records may have changed meanwhile`,
    )
  }
}
