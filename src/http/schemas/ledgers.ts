import { z } from 'zod'
import { NAME_CHARS_MAX } from '../../limits.ts'

const name = z
  .string()
  .min(1)
  .max(NAME_CHARS_MAX)
  .regex(/^\P{Cc}*$/u)

export const createLedgerBody = z.strictObject({
  name,
  agent: name.describe("name of the ledger's first agent").optional(),
})
