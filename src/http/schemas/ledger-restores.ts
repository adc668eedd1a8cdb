import { z } from 'zod'
import { hash, idOf, instant, seq } from './common.ts'

const head = z.strictObject({ size: z.int().min(1).describe('how many entries'), chain: hash })

export const acknowledgeBody = z.strictObject({
  known: head.describe(
    'what GET answers as known: an acknowledgement that whatever is not found of it is lost',
  ),
})

export const restoreAnswer = z
  .strictObject({
    ledger: idOf('led'),
    known: head.describe('the newest checkpoint kept outside the database'),
    found: head.describe('what the database holds, or held when it was reopened'),
    closedAt: instant,
    entry: z
      .strictObject({ seq, kind: z.literal('ledger-restored'), leaf: hash, chain: hash })
      .nullable()
      .describe('the entry that reopened it; null while it is closed'),
  })
  .meta({ id: 'LedgerRestore' })
