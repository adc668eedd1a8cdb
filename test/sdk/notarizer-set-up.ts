import type { NotarizerOptions } from '../../sdk/notarizer/options.ts'
import type { TestApp } from '../helpers/app.ts'

/** Retries that lose no time, and no callback that writes to the console. */
export const QUICK: NotarizerOptions = {
  lingerMs: 1,
  delayMsMin: 1,
  delayMsMax: 8,
  blockedDelayMs: 5,
  timeoutMs: 2_000,
  onError: () => {},
}

/** The member `i` of the payloads of a group, in the order of the ledger. */
export async function recordedNumbers(
  { sql, ledgerId }: Pick<TestApp, 'sql' | 'ledgerId'>,
  group: string,
): Promise<number[]> {
  const rows = await sql<{ i: number }>(
    `select (p.payload->>'i')::int as i
     from tallystick.records r, lateral (select convert_from(r.payload, 'utf8')::json as payload) p
     where r.ledger_id = $1 and p.payload->>'group' = $2 order by first_seq, item_index`,
    [ledgerId, group],
  )
  return rows.map(({ i }) => i)
}

export const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, i) => from + i)
