import type { LatencySummary } from './latencies.ts'

/** Formats milliseconds with three digits, because that is the precision of the histogram. */
export function msOf(nanoseconds: number): string {
  const ms = nanoseconds / 1e6
  return `${ms >= 100 ? ms.toFixed(0) : ms.toPrecision(3)} ms`
}

export function latencyText({ p50, p99, max }: LatencySummary): string {
  return `p50 ${msOf(p50)}, p99 ${msOf(p99)}, max ${msOf(max)}`
}

export function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let unit = 0
  let size = bytes
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toPrecision(3)} ${units[unit]}`
}

/** Joins items with commas and "and". */
export function listText(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}
