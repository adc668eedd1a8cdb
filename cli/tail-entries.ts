import type { Tallystick } from '../sdk/client.ts'
import type { EntryLine } from '../sdk/generated/api.ts'
import { plain } from '../sdk/plain.ts'
import { fromBase64 } from '../src/proof/bytes.ts'
import { parseEnvelope } from '../src/proof/envelope/parse-envelope.ts'
import { parseRegisteredStatement } from '../src/proof/scitt/signed-statement.ts'
import { STATEMENT } from '../src/proof/statement/kinds.ts'
import { parseStatement } from '../src/proof/statement/statement.ts'
import { parseCount } from './arguments.ts'
import { follow } from './follow.ts'
import type { Io } from './io.ts'
import { jsonLine } from './output.ts'

const ENTRIES_DEFAULT = 10

type Values = {
  readonly lines?: string | undefined
  readonly after?: string | undefined
  readonly json?: boolean | undefined
}

/** Prints the entries of the chain in their signed form, and follows new ones. */
export async function tailEntries(client: Tallystick, values: Values, io: Io): Promise<void> {
  const lines = parseCount(values.lines, '-n', { min: 0 }) ?? ENTRIES_DEFAULT
  const afterSeq = parseCount(values.after, '--after', { min: 0 })
  // This request is always sent. It fails if the server is not reachable, while `follow` tolerates a server that is not
  // reachable for a while.
  const { size } = await client.ledger.get()
  const begin = afterSeq ?? size - lines - 1
  const isTable = io.stdout.isTTY && !values.json
  await follow<EntryLine>(
    io,
    (last, signal) => {
      const after = last?.seq ?? begin
      return client.entries.stream({ ...(after >= 0 && { after }), follow: true, signal })
    },
    (line) => {
      const entry = summaryOf(line)
      return isTable ? `${rowOf(entry)}\n` : jsonLine(entry, io.stdout)
    },
  )
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
  if (kind === STATEMENT) {
    const { issuer, subject } = parseRegisteredStatement(fromBase64(envelope))
    return { seq, recordedAt, kind, subjects: [subject], actor: issuer, onBehalfOf: null }
  }
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
