import type { Tallystick } from '../sdk/client.ts'
import { isDay } from '../src/verify/is-day.ts'
import { UsageError } from './run.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/
const TIME = /^\d{4}-\d{2}-\d{2}(T.*(Z|[+-]\d{2}:\d{2}))?$/
const MS_PER_DAY = 86_400_000

/** One end of a period. `ms`: milliseconds since 1970. For `--to`, it is the first millisecond after the period. */
export type End = { readonly seq: number } | { readonly ms: number }

/**
 * Parses `--from` or `--to`: a seq, a day in UTC (the whole day), or a time of RFC 3339. Throws UsageError for any
 * other text.
 */
export function parseEnd(text: string, option: '--from' | '--to'): End {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return { seq: Number(text) }
  const ms = Date.parse(DAY.test(text) ? `${text}T00:00:00Z` : text)
  if (Number.isNaN(ms) || !TIME.test(text) || !isDay(text.slice(0, 10)))
    throw new UsageError(
      `${option} takes a seq, a day such as 2027-03-31, or a time such as 2027-03-31T12:00:00Z`,
    )
  return { ms: option === '--to' ? ms + (DAY.test(text) ? MS_PER_DAY : 1) : ms }
}

/**
 * Returns the first and last seq of a period among the first `size` entries. The command shows these seqs to the user,
 * because clocks differ: an entry at an edge of the period may be on either side. Throws UsageError for a period
 * without entries.
 */
export async function seqsOfPeriod(
  { entries }: Pick<Tallystick, 'entries'>,
  size: number,
  from: End,
  to: End,
): Promise<{ readonly from: number; readonly to: number }> {
  const first = 'seq' in from ? from.seq : await entries.firstSince(from.ms, size)
  const last = 'seq' in to ? to.seq : (await entries.firstSince(to.ms, size)) - 1
  if (first > last) throw new UsageError('the ledger has no entry in the period from --from to --to')
  return { from: first, to: last }
}
