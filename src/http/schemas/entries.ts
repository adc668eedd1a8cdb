import { z } from 'zod'

const seq = z.string().regex(/^(0|[1-9][0-9]{0,14})$/)

export const entriesQuery = z.strictObject({
  after: seq.describe('exclusive; absent: from the first entry').optional(),
  limit: seq.describe('at most so many entries; absent: to the head').optional(),
})
