import { bundle as verifyBundle } from '../../sdk/verify/bundle.ts'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { UNTIL_COVERED } from '../entry-argument.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { openPieces } from '../open-pieces.ts'
import { RefusedError, UsageError } from '../run.ts'
import { refuseTerminal, saveStream } from '../save-stream.ts'

const HELP = `tallystick bundle RECORD -o FILE
tallystick bundle --run RECORD -o FILE
tallystick bundle --from SEQ --to SEQ -o FILE

One file for somebody who has nothing but a key of the ledger: entries with their documents, proofs, a checkpoint, and the entries that
name the keys (docs/formats/bundles.md). Waits about half a minute for a checkpoint that covers them. Needs a key with the scopes
audit:read and records:read; for a range without documents audit:read alone.

  RECORD           a record, with all of its entries so far: a selection
  --run RECORD     a record and all that lie below it by parent, so far, 10,000 at most: a selection
  --from SEQ --to SEQ   the entries from one seq to another, both inclusive: provably complete
  --size N         in the checkpoint of this size, such as one that somebody kept; otherwise in the newest
  --no-documents   without payloads, evidence, values and reasons: what remains is ids, codes, times and digests
  -o, --out FILE   where to write; by default, or with -, standard output, if that is no terminal. A FILE is verified before it gets its
                   name, and readable by you alone
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick bundle rec_01kd2m3n4p5q6r7s8t9v0w1x2y -o record.bundle
  tallystick bundle --run rec_01kd2m3n4p5q6r7s8t9v0w1x2y --no-documents -o run.bundle
  tallystick bundle --from 1000 --to 1999 -o thousand.bundle
  tallystick verify bundle thousand.bundle --note-key "$NOTE_KEY"
`

const OPTIONS = {
  run: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  size: { type: 'string' },
  'no-documents': { type: 'boolean' },
  out: { type: 'string', short: 'o' },
  ...CONNECTION_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>

export const bundle = defineCommand({ help: HELP, options: OPTIONS, run: save })

async function save(values: Values, positionals: readonly string[], io: Io): Promise<ExitCode> {
  const of = parseOf(values, positionals)
  refuseTerminal('a bundle', values.out, io)
  const { bundles } = await connect(values)
  const request = {
    size: parseCount(values.size, '--size'),
    documents: values['no-documents'] !== true,
    ...UNTIL_COVERED,
  }
  const lines =
    'from' in of
      ? bundles.range(of.from, of.to, request)
      : 'run' in of
        ? bundles.run(of.run, request)
        : bundles.record(of.record, request)
  await saveStream(lines, values.out, io, refuseFaulty)
  return EXIT.ok
}

type Of = { record: string } | { run: string } | { from: number; to: number }

function parseOf({ run, from, to }: Values, positionals: readonly string[]): Of {
  const isRange = from !== undefined || to !== undefined
  if (isRange || run !== undefined) {
    if (positionals.length > 0 || (isRange && run !== undefined))
      throw new UsageError('bundle takes one of RECORD, --run RECORD, and --from SEQ --to SEQ')
    if (run !== undefined) return { run }
    const [first, last] = [parseCount(from, '--from', { min: 0 }), parseCount(to, '--to', { min: 0 })]
    if (first === undefined || last === undefined) throw new UsageError('--from and --to go together')
    return { from: first, to: last }
  }
  return { record: onlyArgument(positionals, 'bundle RECORD, --run RECORD, or --from SEQ --to SEQ') }
}

/** It was read entry by entry: a document may have been erased, or a step taken, between two requests. */
async function refuseFaulty(path: string): Promise<void> {
  try {
    await verifyBundle(openPieces(path))
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    throw new RefusedError(
      `what the server answered does not verify (${error.message}): if the records moved meanwhile, try again`,
    )
  }
}
