import type { Tallystick } from '../sdk/client.ts'

/* Records that benchmarks of archives write, and how they say what they found. */

const CLIENTS = 8

/** Writes `records` in batches of `batch` (1: each by itself). Returns the milliseconds of each request. */
export async function writeRecords(client: Tallystick, records: number, batch: number): Promise<number[]> {
  const late: number[] = []
  let left = records
  const lane = async () => {
    while (left > 0) {
      const count = Math.min(batch, left)
      left -= count
      const at = performance.now()
      if (batch === 1) await client.records.notarize({ payload: payload() })
      else
        await client.batches.notarize(
          Array.from({ length: count }, () => ({ type: 'generic/1', payload: payload() }) as const),
        )
      late.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, lane))
  return late
}

/** 400 bytes, as other figures are of (docs/BENCHMARKS.md). */
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

export function percentile(values: readonly number[], share: number): string {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!.toFixed(1)
}

export function say(line: string): void {
  console.log(line)
}
