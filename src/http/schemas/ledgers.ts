import { z } from 'zod'
import { SCOPES } from '../../ledgers/scopes.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { idOf, instant, ledgerDescription, seq } from './common.ts'
import { name } from './names.ts'
import { rateLimit } from './rate-limits.ts'

export const createLedgerBody = z.strictObject({
  name,
  agent: name.describe("name of the ledger's first agent").optional(),
})

export const newKey = z.strictObject({
  id: idOf('key'),
  key: z.string().describe('the secret, shown only here'),
  agent: idOf('agt'),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  expiresAt: instant.nullable(),
})

export const newLedger = z.strictObject({
  ledger: z.strictObject({ id: idOf('led'), name: z.string(), issuer: z.string(), origin: z.string() }),
  agent: z.strictObject({ id: idOf('agt'), name: z.string() }),
  key: newKey,
})

export const reissueKeyBody = z.strictObject({
  name: name.describe('name of the key').optional(),
  agent: name
    .describe('name of the agent that owns the key; registered if it does not exist; absent: administrator')
    .optional(),
})

export const ledgersQuery = z.strictObject(pageQuery)
export const ledgersCursor = z.tuple([idOf('led')])

const closed = z
  .enum(['frozen', 'restored', 'moving', 'moved'])
  .nullable()
  .describe(
    'why the ledger accepts no entries. frozen: by the operator; restored: from an older backup; moving, moved: to another deployment; null: it is open',
  )

const tiles = z
  .enum(['key', 'public'])
  .describe('who may read the ledger’s tiles. key: only keys with audit:read; public: anybody')
export const tilesBody = z.strictObject({ tiles }).meta({ examples: [{ tiles: 'public' }] })
export const tilesAnswer = z.strictObject({ tiles })

export const ledgerSummary = z
  .strictObject({
    id: idOf('led'),
    name: z.string(),
    issuer: z.string(),
    origin: z.string(),
    size: seq.describe('number of entries'),
    closed,
    rateLimit: rateLimit.nullable(),
    tiles,
    fault: z
      .strictObject({
        seq: seq.nullable().describe('seq of the first bad entry; null: the fault is in no single entry'),
        code: z.string(),
        foundAt: instant,
      })
      .nullable()
      .describe('why the ledger does not verify. It gets no checkpoints until the operator clears the fault'),
  })
  .meta({ id: 'LedgerSummary' })

export const ledgerPage = pageOf(ledgerSummary)

export const ledgerDetails = ledgerDescription.extend({
  size: seq.describe('number of entries'),
  closed,
  key: z
    .strictObject({
      id: idOf('key'),
      name: z.string(),
      agent: idOf('agt'),
      scopes: z.array(z.enum(SCOPES)),
      expiresAt: instant
        .nullable()
        .describe(
          'when the secret that was sent expires; an old secret of a rotated key expires before the key',
        ),
    })
    .describe('the key of this request'),
})
