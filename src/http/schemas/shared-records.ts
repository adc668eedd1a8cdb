import { z } from 'zod'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { idOf, typeName } from './common.ts'
import { offerView } from './gated.ts'

export const sharedRecordParams = z.strictObject({ id: z.string(), record: z.string() })
export const sharedRecordsQuery = z.strictObject(pageQuery)

const roles = z.enum(['home', 'guest']).describe('home: a record of this ledger; guest: a record of the peer')

/**
 * The record after which a page begins, with its role. The role is needed because a home record and a guest record
 * may have the same id.
 */
export const sharedRecordsCursor = z.tuple([idOf('rec'), roles])

const sharedRecord = z
  .strictObject({
    id: idOf('rec'),
    role: roles,
    documents: z.enum(['whole', 'digests']),
    type: typeName,
    state: z.enum(RECORD_STATES),
    version: z.int().min(1).describe('for a record of the peer: the newest version received'),
    offer: offerView
      .nullable()
      .describe('for a record of the peer: the newest step that an agent of this ledger offered'),
  })
  .meta({ id: 'SharedRecord' })

export const sharedRecordPage = pageOf(sharedRecord)

export const sharedRecordView = sharedRecord
  .extend({
    typeDefinition: z
      .looseObject({})
      .nullable()
      .describe(
        'the definition that the peer sent, checked against the signed digest; null for a built-in type',
      ),
  })
  .meta({ id: 'SharedRecordWithType' })
