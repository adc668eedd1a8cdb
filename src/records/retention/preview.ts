import type pg from 'pg'
import type { Selector } from '../../db/chain/entry-details.ts'
import { readRetentionPage } from '../../db/records/retention-records.ts'
import type { Uuid } from '../../proof/ids.ts'
import { MS_PER_DAY, PREVIEW_PAGES_MAX } from '../limits.ts'
import { readRetention } from './read-retention.ts'
import { applies, isHeld, isOver, retentionOf } from './rules.ts'

export type Preview = {
  readonly records: number
  /** Number of records that would be erased if no legal hold covered them. */
  readonly held: number
  /** Time at which the oldest of the counted records ended. */
  readonly oldest: Date | null
  readonly byType: Readonly<Record<string, number>>
  /** Seq at which the next page begins; null if the end was reached. */
  readonly nextSeq: number | null
}

/**
 * Counts the records whose payload would be erased now if the rule were set. Begins at the entry `from`, and reads as
 * many pages as one request may read. The caller adds up the results of several calls.
 */
export async function previewRule(
  { readPool, now }: { readonly readPool: pg.Pool; readonly now: () => number },
  ledgerId: Uuid,
  rule: Selector & { readonly days: number },
  from: number,
): Promise<Preview> {
  const { rules, holds } = await readRetention(readPool, ledgerId)
  const nowMs = now()
  const before = new Date(nowMs - rule.days * MS_PER_DAY)
  const byType: Record<string, number> = Object.create(null)
  let [records, held, next, oldest] = [0, 0, from as number | null, null as Date | null]
  for (let page = 0; page < PREVIEW_PAGES_MAX && next !== null; page++) {
    next = await readRetentionPage(readPool, ledgerId, { from: next, before }, (record) => {
      const { since, hasPayload, type } = record
      if (since === null || !hasPayload || !applies(rule, record)) return
      const retention = retentionOf(rules, record)
      if (retention?.days === null) return
      if (!isOver(since, Math.max(rule.days, retention?.days ?? 0), nowMs)) return
      if (isHeld(holds, record)) {
        held++
        return
      }
      records++
      byType[type] = (byType[type] ?? 0) + 1
      if (oldest === null || since < oldest) oldest = since
    })
  }
  return { records, held, oldest, byType, nextSeq: next }
}
