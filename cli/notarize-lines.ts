import { ApiError } from '../sdk/errors.ts'
import type { PostRecordsBatchAnswer } from '../sdk/generated/api.ts'
import { operations } from '../sdk/generated/operations.ts'
import type { Transport } from '../sdk/http/transport.ts'
import { plain } from '../sdk/plain.ts'
import { type BatchLimits, batchLines, type LineBatch } from './batch-lines.ts'
import { type Io, write } from './io.ts'
import { jsonLine } from './output.ts'
import { openCounter } from './progress.ts'

type LinesOptions = BatchLimits & {
  readonly files: readonly string[]
  /** Begins the key of each batch: `KEY/1`, `KEY/2`, … */
  readonly idempotencyKey: string | undefined
  /** A line for each record, with its id, instead of one for each batch. */
  readonly ids: boolean
}

/**
 * Notarizes the lines batch after batch, in their order. One that is not written ends it: those before it are, those after it are
 * not sent, and the message says so, because the user must know it before repeating the command.
 */
export async function notarizeLines(transport: Transport, io: Io, options: LinesOptions): Promise<void> {
  const counter = openCounter(io.stderr)
  let written = 0
  let batches = 0
  try {
    for await (const batch of batchLines(options.files, io, options)) {
      await notarizeBatch(transport, io, batch, options)
      written += batch.lines.length
      batches = batch.index
      counter.update(written)
    }
  } catch (error) {
    counter.close()
    io.stderr.write(`tallystick: ${whatIsWritten(written, batches, options)}\n`)
    throw error
  }
  counter.close()
  io.stderr.write(`tallystick: ${written} records in ${batches} batches\n`)
}

async function notarizeBatch(
  transport: Transport,
  io: Io,
  { index, lines, body }: LineBatch,
  { idempotencyKey, ids }: LinesOptions,
): Promise<void> {
  const options = idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}/${index}` }
  const call = { text: body, options }
  try {
    const answer = await transport.json<PostRecordsBatchAnswer>(operations.postRecordsBatch, call)
    const { batch, entry, records } = answer
    const from = lines[0]!.number
    const to = lines.at(-1)!.number
    await write(
      io.stdout,
      ids
        ? records.map(({ id }) => `${plain(id)}\n`).join('')
        : jsonLine({ batch, seq: entry.seq, records: records.length, lines: [from, to] }, io.stdout),
    )
  } catch (error) {
    const fault = error instanceof ApiError ? lines[error.problem.index ?? -1] : undefined
    if (fault !== undefined) io.stderr.write(`tallystick: ${fault.place} is refused\n`)
    throw error
  }
}

function whatIsWritten(records: number, batches: number, { idempotencyKey }: LinesOptions): string {
  const written =
    records === 0 ? 'nothing is written' : `${records} records are written, in ${batches} batches`
  return idempotencyKey === undefined
    ? `${written}; about the batch after that see below`
    : `${written}; the same command with the same lines and --batch goes on from there`
}
