import type { KindRule } from '../../src/proof/statement/kinds/rule.ts'

type ServerColumn = 'workerOnly' | 'records' | 'party' | 'events'

/*
 * A copy of those columns of the table of kinds that only the server and the database read. No vector and no second
 * verifier covers these columns, so without the copy no test would notice a change of them. A kind that is not listed
 * here has no value in the column.
 */
const SERVER_COLUMNS: { readonly [Column in ServerColumn]: Readonly<Record<string, KindRule[Column]>> } = {
  workerOnly: { 'server-key-rotated': true, 'completion-verified': true, 'record-expired': true },
  records: {
    'record-notarized': 'makes',
    'batch-notarized': 'makes many',
    'record-created': 'makes',
    'record-activated': 'moves',
    'completion-submitted': 'moves',
    'completion-verified': 'moves',
    'verdict-rendered': 'moves',
    'verdict-overturned': 'moves',
    'revision-requested': 'moves',
    'record-cancelled': 'moves',
    'record-expired': 'moves',
  },
  party: {
    'record-activated': 'performer',
    'completion-submitted': 'performer',
    'completion-verified': 'worker',
    'verdict-rendered': 'principal',
    'verdict-overturned': 'other than the performer',
    'revision-requested': 'principal',
    'record-cancelled': 'principal',
    'record-expired': 'worker',
  },
  events: {
    'record-notarized': ['record.recorded'],
    'batch-notarized': ['batch.recorded'],
    'record-created': ['record.created'],
    'record-activated': ['record.activated'],
    'completion-submitted': ['completion.submitted'],
    'completion-verified': ['completion.verified'],
    'verdict-rendered': ['verdict.rendered', 'signal.emitted'],
    'verdict-overturned': ['verdict.overturned', 'signal.emitted'],
    'revision-requested': ['revision.requested'],
    'record-cancelled': ['record.cancelled'],
    'record-expired': ['record.expired'],
    'payload-erased': ['payload.erased'],
    'peer-key-rotated': ['entry.received'],
    'entry-received': ['entry.received'],
    'offer-refused': ['entry.received'],
    'statement-registered': ['statement.registered'],
  },
}

export function serverDifferencesOf(kind: string, row: Pick<KindRule, ServerColumn>): ServerColumn[] {
  const columns = Object.keys(SERVER_COLUMNS) as ServerColumn[]
  return columns.filter(
    (column) => JSON.stringify(row[column]) !== JSON.stringify(SERVER_COLUMNS[column][kind]),
  )
}
