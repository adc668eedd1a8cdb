import type { Db } from '../../db/connect/client.ts'
import { listHolds, listRules } from '../../db/records/retention-rules.ts'
import type { Uuid } from '../../proof/ids.ts'
import { HOLDS_STANDING_MAX } from '../limits.ts'

export type RetentionState = Awaited<ReturnType<typeof readRetention>>

export async function readRetention(db: Db, ledgerId: Uuid) {
  const [rules, holds] = await Promise.all([
    listRules(db, ledgerId),
    listHolds(db, ledgerId, { before: Number.MAX_SAFE_INTEGER, standing: true, limit: HOLDS_STANDING_MAX }),
  ])
  return { rules, holds }
}
