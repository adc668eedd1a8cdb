/* Formats times and durations. All pages use the same texts for them. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Returns the time distance from now: `3 min ago`, `in 2 h`. */
export function ago(thenMs: number, nowMs: number): string {
  const ms = Math.abs(nowMs - thenMs)
  const [unit, unitMs] = UNITS.find(([, length]) => ms >= length) ?? ['s', 1_000]
  const text = `${Math.floor(ms / unitMs)} ${unit}`
  return thenMs > nowMs + 999 ? `in ${text}` : `${text} ago`
}

/**
 * Returns the clock time with its zone, `14:03:22 GMT+1`. For another day than today, the date comes first. `timeZone`:
 * by default the browser's.
 */
export function clockTime(ms: number, nowMs: number, timeZone?: string): string {
  const format = formatOf(timeZone)
  const { date, time, zone } = partsOf(format, ms)
  return date === partsOf(format, nowMs).date ? `${time} ${zone}` : `${date} ${time} ${zone}`
}

/** Returns a rounded duration: `0.12 ms`, `412 ms`, `1.2 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`
  if (Math.round(ms) < 1_000) return `${Number(ms.toFixed(ms < 10 ? 1 : 0))} ms`
  if (Math.round(ms / 100) < 600) return `${Math.round(ms / 100) / 10} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return both(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return both(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
  const hours = Math.round(minutes / 60)
  return both(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function both(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

const formats = new Map<string | undefined, Intl.DateTimeFormat>()

/** Returns a format from the cache, because creating a format takes longer than using it. */
function formatOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const made = formats.get(timeZone)
  if (made !== undefined) return made
  const format = new Intl.DateTimeFormat('en', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(timeZone && { timeZone }),
  })
  formats.set(timeZone, format)
  return format
}

function partsOf(format: Intl.DateTimeFormat, ms: number) {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const get = (...types: Intl.DateTimeFormatPartTypes[]) => types.map((type) => parts.get(type))
  return {
    date: get('year', 'month', 'day').join('-'),
    time: get('hour', 'minute', 'second').join(':'),
    zone: parts.get('timeZoneName'),
  }
}
