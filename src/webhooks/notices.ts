import type { NoticeType } from '../events/event-types.ts'

/** What an endpoint is told of another one, or of itself: no event of the ledger. JSON. */
export function noticeBody(
  type: NoticeType,
  about: { readonly ledger: string; readonly webhook: object; readonly atMs: number },
): string {
  const { ledger, webhook, atMs } = about
  return JSON.stringify({
    type,
    timestamp: new Date(atMs).toISOString(),
    data: { ledger, record: null, entry: null, webhook },
  })
}
