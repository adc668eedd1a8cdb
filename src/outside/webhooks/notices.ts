import { formatId, timeOfUuidv7, type Uuid } from '../../proof/ids.ts'
import { NOTICE_TYPES } from '../events/event-types.ts'

/** The endpoint that a notice is about. `state` and `reason` are set if its deliveries have ended. */
type NoticeSubject = { readonly id: string; readonly state?: string; readonly reason?: string }

/** Renders a notice for storage. */
export function noticeOf({ id, state, reason }: NoticeSubject): string {
  return JSON.stringify({ id, state, reason })
}

/**
 * Renders the body of a notice as JSON; null if the row is not ours. A notice tells an endpoint about another
 * endpoint or about itself; it is no event of the ledger.
 *
 * The chain does not contain a notice, so its text is made here and not read from the row. An attacker who could
 * write a row would otherwise get any event signed.
 */
export function noticeBody(
  ledgerId: Uuid,
  { eventId, event, notice }: { readonly eventId: Uuid; readonly event: string; readonly notice: string },
): string | null {
  const type = NOTICE_TYPES.find((name) => name === event)
  const webhook = parseAbout(notice)
  if (type === undefined || webhook === null) return null
  return JSON.stringify({
    type,
    timestamp: new Date(timeOfUuidv7(eventId)).toISOString(),
    data: { ledger: formatId('led', ledgerId), record: null, entry: null, webhook },
  })
}

function parseAbout(text: string): NoticeSubject | null {
  try {
    const { id, state, reason } = JSON.parse(text)
    return typeof id === 'string' ? { id, state, reason } : null
  } catch {
    return null
  }
}
