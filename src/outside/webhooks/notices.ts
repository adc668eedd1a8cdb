import { formatId, timeOfUuidv7, type Uuid } from '../../proof/ids.ts'
import { NOTICE_TYPES } from '../events/event-types.ts'

/** The endpoint that a notice is about. If its deliveries have ended, `state` and `reason` say how. */
type NoticeSubject = { readonly id: string; readonly state?: string; readonly reason?: string }

/** Renders the text of a notice that is stored in its row. */
export function noticeOf({ id, state, reason }: NoticeSubject): string {
  return JSON.stringify({ id, state, reason })
}

/**
 * Renders the body of a notice as JSON. Returns null if this server did not write the row. A notice tells an endpoint
 * about another endpoint or about itself; it is not an event of the ledger.
 *
 * The chain does not contain notices. The body is therefore made here and not copied from the row: otherwise an
 * attacker who can write rows could get any event signed.
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
