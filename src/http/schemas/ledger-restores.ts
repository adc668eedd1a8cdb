import { z } from 'zod'
import { hash, idOf, instant, seq } from './common.ts'

const head = z.strictObject({ size: z.int().min(1).describe('number of entries'), chain: hash })

export const acknowledgeBody = z.strictObject({
  known: head.describe(
    '`known` of the GET answer: acknowledges that the entries of it that were not found are lost',
  ),
})

export const restoreAnswer = z
  .strictObject({
    ledger: idOf('led'),
    known: head.describe('the newest checkpoint stored outside the database'),
    found: head.describe('what the database has, or had when the ledger was reopened'),
    closedAt: instant,
    entry: z
      .strictObject({ seq, kind: z.literal('ledger-restored'), leaf: hash, chain: hash })
      .nullable()
      .describe('the entry that reopened it; null: it is closed'),
  })
  .meta({ id: 'LedgerRestore' })
