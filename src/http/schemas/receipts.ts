import { z } from 'zod'
import { RECEIPT_WAIT_SECONDS_MAX } from '../limits.ts'
import { sizeText, waitText } from './common.ts'
import { entryProofQuery, recordProofQuery } from './proofs.ts'

const receiptQuery = {
  wait: waitText(RECEIPT_WAIT_SECONDS_MAX)
    .describe(
      `seconds to wait for a checkpoint that covers the entry, at most ${RECEIPT_WAIT_SECONDS_MAX}; absent: 0`,
    )
    .optional(),
  statement: z
    .enum(['true', 'false'])
    .describe(
      '`true`: the entry’s envelope with the receipt in its header, in one file; absent: only the receipt',
    )
    .optional(),
}

export const recordReceiptQuery = recordProofQuery.extend(receiptQuery)
export const entryReceiptQuery = entryProofQuery.extend(receiptQuery)
export const consistencyReceiptQuery = z.strictObject({
  from: sizeText.describe('the size of a checkpoint that the reader has'),
  to: sizeText.describe('the size of a published checkpoint; absent: the newest').optional(),
})

/** A COSE_Sign1, which docs/formats/receipts.md describes. */
export const coseBytes = {
  content: { 'application/cose': { schema: z.string().describe('COSE_Sign1, tagged') } },
}
