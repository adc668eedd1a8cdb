import { z } from 'zod'
import { AUDIT_ERRORS, type AuditErrorCode } from '../../db/audit/audits.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { hash, idOf, instant, seq } from './common.ts'

export const auditsQuery = z.strictObject(pageQuery)

export const auditsCursor = z.tuple([idOf('aud')])

const count = z.int().min(0)

const report = z
  .strictObject({
    entries: count.describe('number of verified entries'),
    records: count,
    keys: z
      .literal(['self-asserted', 'pinned', 'given'])
      .describe(
        'why the keys are trusted. self-asserted: the ledger names them; pinned: its first key was pinned; given: the verifier named them',
      ),
    firstKid: hash.nullable(),
    checkpoint: z
      .literal(['given', 'own', 'none'])
      .describe(
        'the trusted checkpoint. given: stored by the worker outside the database; own: from the ledger itself',
      ),
    covered: count.describe('size of the largest trusted checkpoint that the ledger continues'),
    failure: z
      .strictObject({
        seq: seq.nullable().describe('seq of the first bad entry; null: the fault is in no single entry'),
        code: z.string(),
        reason: z.string(),
      })
      .nullable(),
    notices: z.array(z.string()).describe('what could not be checked'),
  })
  .meta({ id: 'AuditReport' })

export const auditAnswer = z
  .strictObject({
    id: idOf('aud'),
    requestedBy: idOf('agt')
      .nullable()
      .describe('the agent that requested the audit; null: the daily schedule'),
    requestedAt: instant,
    state: z
      .literal(['queued', 'running', 'done', 'failed'])
      .describe(
        'done: `ok` has the result; failed: the audit could not be completed (`error`), and the ledger may be intact',
      ),
    progress: z.strictObject({ entriesDone: count, entriesTotal: count.nullable() }),
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    ok: z.boolean().nullable().describe('whether the whole ledger verifies; null: unknown yet'),
    report: report.nullable(),
    error: z
      .strictObject({
        code: z.literal(Object.keys(AUDIT_ERRORS) as AuditErrorCode[]),
        reason: z.string(),
      })
      .nullable()
      .describe(
        'why the newest of up to six attempts failed. null: no attempt has failed, or the audit is done',
      ),
  })
  .meta({ id: 'Audit' })

export const auditPage = pageOf(auditAnswer)
