import { z } from 'zod'
import { hash, idOf, instant, seq } from './common.ts'

const head = z.strictObject({ size: z.int().min(1).describe('number of entries'), chain: hash })

export const acknowledgeBody = z.strictObject({
  known: head.describe(
    '`known` of the GET answer. Sending it acknowledges that the entries missing from `found` are lost',
  ),
})

export const restoreAnswer = z
  .strictObject({
    ledger: idOf('led'),
    known: head.describe('the newest checkpoint stored outside the database'),
    found: head.describe('head that the database has, or had when the ledger was reopened'),
    closedAt: instant,
    entry: z
      .strictObject({ seq, kind: z.literal('ledger-restored'), leaf: hash, chain: hash })
      .nullable()
      .describe('the entry that reopened the ledger; null: the ledger is closed'),
  })
  .meta({ id: 'LedgerRestore' })
