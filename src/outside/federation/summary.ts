import type pg from 'pg'
import type { ReceivedSummary } from '../../db/peers/peer-leases.ts'
import { listSummary } from '../../db/peers/shared-entries.ts'
import { formatId, isId, parseId } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { isObject } from '../../proof/statement/fields.ts'
import { isVersion } from './answer-fields.ts'
import type { PeerRequest } from './authenticate.ts'
import type { Inbox } from './inbox.ts'
import { PEER_SUMMARY_PAGES_MAX, PEER_SUMMARY_RECORDS_MAX } from './limits.ts'
import { inTransaction, type PeerTransactionDeps } from './peer-transaction.ts'
import { type PeerError, unexpectedAnswer } from './post.ts'

/** Newest stored entry of a record. `leaf` is in lower-case hex. */
export type SummaryRecord = { readonly record: string; readonly version: number; readonly leaf: string }
type SummaryPage = { readonly records: readonly SummaryRecord[]; readonly next: string | null }

/**
 * Returns one page of the stored records that are shared with the peer, beginning behind the record `after`. The page
 * contains only data that was sent to the peer.
 */
export async function summarize(
  deps: PeerTransactionDeps & { readonly inbox: Inbox },
  request: PeerRequest,
  after: string | undefined,
): Promise<SummaryPage> {
  const work = async (client: pg.PoolClient) => {
    const page = {
      after: after === undefined ? null : parseId('rec', after),
      limit: PEER_SUMMARY_RECORDS_MAX + 1,
    }
    const rows = await listSummary(client, request, page)
    const records = rows.slice(0, PEER_SUMMARY_RECORDS_MAX).map(({ recordId, version, leaf }) => ({
      record: formatId('rec', recordId),
      version,
      leaf: leaf.toString('hex'),
    }))
    return { records, next: rows.length > PEER_SUMMARY_RECORDS_MAX ? records.at(-1)!.record : null }
  }
  return deps.inbox.run(request, () => inTransaction(deps, request, work))
}

const LEAF = /^[0-9a-f]{64}$/

/**
 * Fetches a peer's summary, page by page. Returns null if `post` returns null, which means that the lease is over. The
 * stored text is `{"whole":…,"records":[[record, version, leaf]…]}`.
 */
export async function fetchSummary(
  post: (path: string, body: string) => Promise<JsonObject | null>,
): Promise<ReceivedSummary | null> {
  const records: [string, number, string][] = []
  let after: string | undefined
  for (let page = 0; page < PEER_SUMMARY_PAGES_MAX; page++) {
    const answer = await post('/v1/federation/summary', JSON.stringify(after === undefined ? {} : { after }))
    if (answer === null) return null
    const read = readPage(answer)
    records.push(...read.records)
    if (read.next === null) return summaryOfPeer(true, records)
    after = read.next
  }
  return summaryOfPeer(false, records)
}

function summaryOfPeer(whole: boolean, records: readonly [string, number, string][]): ReceivedSummary {
  return {
    whole,
    text: JSON.stringify({ whole, records }),
    records: records.map(([record, version]) => ({ recordId: parseId('rec', record), version })),
  }
}

function readPage({ records, next }: JsonObject) {
  if (!Array.isArray(records) || records.length > PEER_SUMMARY_RECORDS_MAX) throw unexpected()
  const read = records.map((one): [string, number, string] => {
    if (!isObject(one)) throw unexpected()
    const { record, version, leaf } = one
    const isRecord = typeof record === 'string' && isId('rec', record)
    if (!isRecord || !isVersion(version) || typeof leaf !== 'string' || !LEAF.test(leaf)) throw unexpected()
    return [record, version, leaf]
  })
  if (next !== null && !(typeof next === 'string' && isId('rec', next) && records.length > 0))
    throw unexpected()
  return { records: read, next }
}

function unexpected(): PeerError {
  return unexpectedAnswer('the summary of the peer is not valid')
}
