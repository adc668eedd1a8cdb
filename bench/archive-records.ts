import { setTimeout as sleep } from 'node:timers/promises'
import type { Tallystick } from '../sdk/client.ts'

const CLIENTS = 8

export type Writing = {
  readonly records: number
  /** Number of records per request. With 1, each record has its own request. */
  readonly batch: number
  /** Number of records due per second. With null, each client sends its next request after the last answer. */
  readonly rate: number | null
}

/**
 * Writes the records and returns the milliseconds of each request. Without a rate, the time starts when the request is
 * sent. With a rate, it starts when the request is due, so it includes the wait for a free client.
 */
export async function writeRecords(
  client: Tallystick,
  { records, batch, rate }: Writing,
): Promise<Float64Array> {
  const tookMs = new Float64Array(Math.ceil(records / batch))
  const beganAt = performance.now()
  let next = 0
  const sendInOrder = async () => {
    while (next < tookMs.length) {
      const i = next++
      const dueAt = rate === null ? performance.now() : beganAt + (i * batch * 1000) / rate
      if (dueAt > performance.now()) await sleep(dueAt - performance.now())
      if (batch === 1) await client.records.notarize({ payload: payload() })
      else await client.batches.notarize(items(Math.min(batch, records - i * batch)))
      tookMs[i] = performance.now() - dueAt
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, sendInOrder))
  return tookMs
}

function items(count: number) {
  return Array.from({ length: count }, () => ({ type: 'generic/1', payload: payload() }) as const)
}

/** Returns a payload of 400 bytes, the same size as in the other benchmarks (docs/BENCHMARKS.md). */
function payload() {
  return {
    tool: 'search',
    at: Math.random(),
    text: 'the price of copper in the last quarter of the year. '.repeat(6),
  }
}

export function perSecond(count: number, ms: number): number {
  return Math.round((count * 1000) / ms)
}

export function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

/** Formats the median, the 99th percentile and the count. */
export function describeMs(values: ArrayLike<number>): string {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!.toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${sorted.length})`
}

export function printLine(line: string): void {
  console.log(line)
}
