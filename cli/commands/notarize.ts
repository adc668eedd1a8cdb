import { plain } from '../../sdk/plain.ts'
import { OTHER_MEMBERS } from '../../src/proof/statement/record-members.ts'
import { parseCount } from '../arguments.ts'
import { BATCH_LINES_DEFAULT, BATCH_LINES_MAX } from '../batch-lines.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect, openTransport } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Io, write } from '../io.ts'
import { parseObject, readObject } from '../json-input.ts'
import { notarizeLines } from '../notarize-lines.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { parseType, RECORD_HELP, RECORD_OPTIONS, recordMembers } from '../record-options.ts'
import { UsageError } from '../run.ts'

const TYPE_DEFAULT = 'generic/1'

const HELP = `tallystick notarize [FILE… | -] [--payload JSON] [--type TYPE]

Notarizes what happened: a JSON object from each file, or from standard input. Duplicate names, and numbers that a
double can't represent, are refused before anything is sent, because something else would be signed.

  --payload JSON         the object itself, instead of a file
  --type TYPE            name/version of a type that is not gated (default ${TYPE_DEFAULT})
${RECORD_HELP}
                         (with several files: KEY/1, KEY/2, …)
Many records:
  --ndjson               one object a line, sent in batches while they are read; files and pipes of any size
  --items                lines are whole items instead: {"type","payload","metadata"?,"occurredAt"?,"onBehalfOf"?,
                         "parent"?,"references"?,"subject"?,"traceparent"?${OTHER_MEMBERS.map(([name]) => `,"${name}"?`).join('')}}. A parent is an id, or the position
                         (from 0) of an earlier line of the same batch
  --batch N              lines in a batch (default ${BATCH_LINES_DEFAULT}, at most ${BATCH_LINES_MAX}; large lines end it earlier)
                         With --idempotency-key KEY batch i has KEY/i: after a failure repeat the command with the
                         same lines and the same --batch, and nothing is written twice
                         If a firewall or a proxy in front of the server refuses a batch, it is sent in halves. A line
                         that is refused alone is named and skipped, the others are written, and the command ends
                         with 1: correct that line, and write it with a new command. A batch in which parents are
                         positions is not halved

  --ids                  print only ids, one a line. Default: records; with --ndjson one line a batch
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick notarize --payload '{"tool":"search","query":"price of copper"}'
  tallystick notarize call.json --type tool-call/1 --reference order:4711
  tallystick notarize --ndjson --idempotency-key import-2026-11-22 calls.ndjson
  jq -c '.events[]' log.json | tallystick notarize --ndjson --ids > ids.txt
`

const OPTIONS = {
  ...RECORD_OPTIONS,
  ndjson: { type: 'boolean' },
  items: { type: 'boolean' },
  batch: { type: 'string' },
  ids: { type: 'boolean' },
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>

export const notarize = defineCommand({ help: HELP, options: OPTIONS, run })

async function run(values: Values, positionals: readonly string[], io: Io): Promise<ExitCode> {
  refuseMixture(values, positionals)
  const files = positionals.length === 0 ? ['-'] : positionals
  if (values.ndjson) return notarizeNdjson(values, files, io)
  await notarizeEach(values, files, io)
  return EXIT.ok
}

const WITHOUT_NDJSON = ['items', 'batch'] as const
const WITH_NDJSON_NOT = ['payload', 'json'] as const
/**
 * Options that can't be combined with items, because they are members of an item: all of `RECORD_OPTIONS` except the
 * request's idempotency key.
 */
const WITH_ITEMS_NOT = (Object.keys(RECORD_OPTIONS) as (keyof typeof RECORD_OPTIONS)[]).filter(
  (name) => name !== 'idempotency-key',
)

/** Throws UsageError for options that would be ignored, because the user may rely on them. */
function refuseMixture(values: Values, files: readonly string[]): void {
  const given = (names: readonly (keyof Values)[]) => names.find((name) => values[name] !== undefined)
  const misplaced = values.ndjson ? given(WITH_NDJSON_NOT) : given(WITHOUT_NDJSON)
  if (misplaced !== undefined)
    throw new UsageError(`--${misplaced} ${values.ndjson ? 'cannot' : 'can only'} be used with --ndjson`)
  const twice = values.items && given(WITH_ITEMS_NOT)
  if (twice)
    throw new UsageError(`--${twice} cannot be used with --items: give this value in each item instead`)
  if (values.payload !== undefined && files.length > 0)
    throw new UsageError('notarize takes either files or --payload, not both')
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError('standard input can only be read once: name - only once')
}

/**
 * Notarizes one file after another. Prints each record immediately, so that after a failure it is clear which files
 * were notarized.
 */
async function notarizeEach(values: Values, files: readonly string[], io: Io): Promise<void> {
  const { payload, 'idempotency-key': key } = values
  const type = parseType(values.type ?? TYPE_DEFAULT)
  const members = recordMembers(values)
  const client = await connect(values)
  for (const [i, file] of files.entries()) {
    const object = payload === undefined ? await readObject(file, io) : parseObject(payload, '--payload')
    const request = { type, payload: object, ...members }
    const options = key === undefined ? {} : { idempotencyKey: files.length > 1 ? `${key}/${i + 1}` : key }
    const record = await client.records.notarize(request, options)
    if (values.ids) await write(io.stdout, `${plain(record.id)}\n`)
    else printItem(record, values.json, io.stdout)
  }
}

async function notarizeNdjson(values: Values, files: readonly string[], io: Io): Promise<ExitCode> {
  const type = parseType(values.type ?? TYPE_DEFAULT)
  const linesMax = parseCount(values.batch, '--batch', { max: BATCH_LINES_MAX }) ?? BATCH_LINES_DEFAULT
  const members = JSON.stringify({ type, ...recordMembers(values) }).slice(1, -1)
  const aside = await notarizeLines(await openTransport(values), io, {
    files,
    linesMax,
    idempotencyKey: values['idempotency-key'],
    toItem: (line) => (values.items ? line : `{${members},"payload":${line}}`),
    ids: values.ids ?? false,
  })
  return aside === 0 ? EXIT.ok : EXIT.refused
}
