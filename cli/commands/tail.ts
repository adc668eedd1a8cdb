import { setTimeout as sleep } from 'node:timers/promises'
import type { Tallystick } from '../../sdk/client.ts'
import { TallystickError } from '../../sdk/errors.ts'
import type { EntryLine } from '../../sdk/generated/api.ts'
import { plain } from '../../sdk/plain.ts'
import { fromBase64 } from '../../src/proof/bytes.ts'
import { parseEnvelope } from '../../src/proof/parse-envelope.ts'
import { parseStatement } from '../../src/proof/statement.ts'
import { noArguments, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { type Io, write } from '../io.ts'
import { jsonLine, OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { UsageError } from '../run.ts'

const ENTRIES_DEFAULT = 10
/** Besides the seconds for which the client tries by itself. */
const AWAY_MS = 1_000

const HELP = `tallystick tail [-n N | --after SEQ]

Follows the chain: a line for each entry, with its seq, time, kind, subjects and who did it, and each new one as it comes.
Ctrl-C ends it; a server that is away for a while does not. Shows what the server says; \`tallystick verify\` checks it. Needs the scope audit:read.

  -n, --lines N    begin with the last N entries (default ${ENTRIES_DEFAULT}; 0: only what is new)
  --after SEQ      begin after that entry: nothing is missed between two runs
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick tail
  tallystick tail --after 4711 | jq -c 'select(.kind == "verdict-rendered")'
`

export const tail = defineCommand({
  help: HELP,
  options: {
    lines: { type: 'string', short: 'n' },
    after: { type: 'string' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    noArguments(positionals, 'tail [-n N | --after SEQ]')
    if (values.lines !== undefined && values.after !== undefined)
      throw new UsageError('tail takes -n or --after, not both')
    const lines = parseCount(values.lines, '-n', { min: 0 }) ?? ENTRIES_DEFAULT
    const client = await connect(values)
    // Asked in any case: a server that was never there is no server that is away for a while.
    const { size } = await client.ledger.get()
    const after = parseCount(values.after, '--after', { min: 0 }) ?? size - lines - 1
    const isTable = io.stdout.isTTY && !values.json
    const stop = new AbortController()
    const end = () => stop.abort()
    for (const signal of ENDS) process.once(signal, end)
    try {
      for await (const line of follow(client, after, stop.signal, io)) {
        const entry = summaryOf(line)
        await write(io.stdout, isTable ? `${rowOf(entry)}\n` : jsonLine(entry, io.stdout))
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error
    } finally {
      for (const signal of ENDS) process.off(signal, end)
    }
    return EXIT.ok
  },
})

const ENDS = ['SIGINT', 'SIGTERM'] as const

/** Each entry once, over restarts of the server: one that is away is said, and waited for. */
async function* follow(client: Tallystick, after: number, signal: AbortSignal, io: Io) {
  let said: string | null = null
  for (let last = after; ; ) {
    try {
      const from = last < 0 ? {} : { after: last }
      for await (const line of client.entries.stream({ ...from, follow: true, signal })) {
        yield line
        last = line.seq
        said = null
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof TallystickError && error.retryable)) throw error
      if (error.name !== said) io.stderr.write(`tallystick: ${plain(error.message)}\n`)
      said = error.name
      await sleep(AWAY_MS, undefined, { signal })
    }
  }
}

type Summary = {
  readonly seq: number
  readonly recordedAt: string
  readonly kind: string
  readonly subjects: readonly string[]
  readonly actor: string
  readonly onBehalfOf: string | null
}

function summaryOf({ seq, recordedAt, kind, envelope }: EntryLine): Summary {
  const { subjects, actor, onBehalfOf } = parseStatement(parseEnvelope(fromBase64(envelope)).payload)
  return { seq, recordedAt, kind, subjects: subjects.map(({ name }) => name), actor, onBehalfOf }
}

const SEQ_WIDTH = 7
const KIND_WIDTH = 20

function rowOf({ seq, recordedAt, kind, subjects, actor, onBehalfOf }: Summary): string {
  const who = onBehalfOf === null ? actor : `${actor} for ${onBehalfOf}`
  const cells = [
    String(seq).padStart(SEQ_WIDTH),
    recordedAt,
    kind.padEnd(KIND_WIDTH),
    subjects.join(' '),
    who,
  ]
  return plain(cells.join('  '))
}
