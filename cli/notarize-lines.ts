import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, TallystickError, type UnexpectedAnswerError } from '../sdk/errors.ts'
import { operations } from '../sdk/generated/operations.ts'
import type { Transport } from '../sdk/http/transport.ts'
import { makeIdempotencyKey } from '../sdk/idempotency-key.ts'
import { verifyBatch } from '../sdk/notarizer/delivery.ts'
import {
  halve,
  passesWithoutRecords,
  renewKeys,
  SET_ASIDE_IN_A_ROW_MAX,
  sendOrJudge,
  setAside,
  waitsAfter,
} from '../sdk/notarizer/foreign-refusals.ts'
import { bodyOf } from '../sdk/notarizer/handles.ts'
import type { Item } from '../sdk/notarizer/items.ts'
import type { Segment } from '../sdk/notarizer/spool.ts'
import { plain } from '../sdk/plain.ts'
import type { Batch } from '../sdk/resources/batches.ts'
import { type BatchLimits, batchLines, type Line, type LineBatch } from './batch-lines.ts'
import { type Io, write } from './io.ts'
import { jsonLine } from './output.ts'
import { openCounter } from './progress.ts'

type LinesOptions = BatchLimits & {
  readonly files: readonly string[]
  /** Prefix of the batches' keys: `KEY/1`, `KEY/2`, … */
  readonly idempotencyKey: string | undefined
  /** True prints one line for each record, with its id. False prints one line for each batch. */
  readonly ids: boolean
}

/** Pause in ms between attempts to find a line that a firewall or proxy in front of the server refuses. */
const PAUSE_MS = 100

/**
 * Notarizes the lines in order, batch after batch. Returns how many lines were set aside because a firewall or proxy in
 * front of the server refuses them.
 *
 * Throws at a batch that the server does not write. The batches before it are written. The batches after it are not
 * sent. stderr reports this, because the user must know it before repeating the command.
 */
export async function notarizeLines(transport: Transport, io: Io, options: LinesOptions): Promise<number> {
  const counter = openCounter(io.stderr)
  const counts = { written: 0, batches: 0, aside: 0, asideInARow: 0 }
  try {
    for await (const batch of batchLines(options.files, io, options)) {
      await notarizeBatch({ transport, io, counts, options }, batch)
      counter.update(counts.written)
    }
  } catch (error) {
    counter.close()
    io.stderr.write(`tallystick: ${whatIsWritten(counts, options)}\n`)
    throw error
  }
  counter.close()
  const { written, batches, aside } = counts
  const others = aside === 0 ? '' : `; ${aside} lines were skipped, and are not written`
  io.stderr.write(`tallystick: ${written} records in ${batches} batches${others}\n`)
  return aside
}

type Counts = { written: number; batches: number; aside: number; asideInARow: number }

type Run = {
  readonly transport: Transport
  readonly io: Io
  readonly counts: Counts
  readonly options: LinesOptions
}

async function notarizeBatch(run: Run, { index, lines, items }: LineBatch): Promise<void> {
  const { transport, counts } = run
  const key = run.options.idempotencyKey
  const all = items.map(
    (text): Item => ({ text, tag: undefined, handle: undefined, parentHandle: undefined }),
  )
  const lineOf = new Map(all.map((item, i) => [item, lines[i]!]))
  // The idempotency key contains the line's index in the whole batch. A repeated command therefore gives each line the
  // same key, whichever lines are refused.
  const makeKey = ({ items: [first] }: Segment) =>
    key === undefined ? makeIdempotencyKey() : `${key}/${index}/${all.indexOf(first!)}`
  let segments: readonly Segment[] = [
    { idempotencyKey: key === undefined ? makeIdempotencyKey() : `${key}/${index}`, items: all },
  ]
  while (segments.length > 0) {
    const [segment, ...others] = segments as [Segment, ...Segment[]]
    const sent = segment.items.map((item) => lineOf.get(item)!)
    const answer = await sendOrJudge(senderOf(transport, segment), segment)
    if (!(answer instanceof TallystickError)) {
      counts.written += sent.length
      counts.batches++
      counts.asideInARow = 0
      await printBatch(run, answer, sent)
      segments = renewKeys(others, segment.idempotencyKey, makeKey)
    } else if (answer instanceof ApiError) {
      const fault = sent[answer.problem.index ?? -1]
      if (fault !== undefined) run.io.stderr.write(`tallystick: ${fault.place} is refused\n`)
      throw answer
    } else if (segment.items.length > 1) {
      if (!maySplit(segment)) throw answer
      segments = [...halve(segment), ...others]
    } else {
      putAside(run, segment, sent[0]!, answer)
      segments = others
    }
  }
}

function senderOf(transport: Transport, segment: Segment) {
  const { idempotencyKey } = segment
  return {
    send: async () => {
      const call = { text: bodyOf(segment), options: { idempotencyKey } }
      return verifyBatch(await transport.json<Batch>(operations.postRecordsBatch, call), segment)
    },
    passes: () => passesWithoutRecords(transport, {}),
    pause: () => sleep(PAUSE_MS),
  }
}

/**
 * Returns whether a segment may be split. It may not be split if a record names its parent by its position in the
 * batch, because positions change in half a batch.
 */
function maySplit({ items }: Segment): boolean {
  return !items.some(({ text }) => typeof (JSON.parse(text) as { parent?: unknown }).parent === 'number')
}

function putAside({ io, counts }: Run, segment: Segment, line: Line, answer: UnexpectedAnswerError): void {
  if (counts.asideInARow >= SET_ASIDE_IN_A_ROW_MAX) throw waitsAfter(counts.asideInARow, answer)
  counts.aside++
  counts.asideInARow++
  const { message } = setAside(Buffer.byteLength(bodyOf(segment)), answer)
  io.stderr.write(`tallystick: ${line.place}: ${plain(message)}\n`)
}

async function printBatch(
  { io, options }: Run,
  { batch, entry, records }: Batch,
  lines: readonly Line[],
): Promise<void> {
  const range = [lines[0]!.number, lines.at(-1)!.number]
  await write(
    io.stdout,
    options.ids
      ? records.map(({ id }) => `${plain(id)}\n`).join('')
      : jsonLine({ batch, seq: entry.seq, records: records.length, lines: range }, io.stdout),
  )
}

function whatIsWritten({ written, batches }: Counts, { idempotencyKey }: LinesOptions): string {
  const text = written === 0 ? 'nothing is written' : `${written} records are written, in ${batches} batches`
  return idempotencyKey === undefined
    ? `${text}; the error below is about the batch after them`
    : `${text}; repeat the command with the same lines and --batch to write the rest`
}
