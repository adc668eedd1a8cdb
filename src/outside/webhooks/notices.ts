import { formatId, timeOfUuidv7, type Uuid } from '../../proof/ids.ts'
import { NOTICE_TYPES } from '../events/event-types.ts'

/** The endpoint that a notice is about. `state` and `reason` are present if deliveries to this endpoint have ended. */
type NoticeSubject = { readonly id: string; readonly state?: string; readonly reason?: string }

/** Renders the text that is stored in a notice's row. */
export function noticeOf({ id, state, reason }: NoticeSubject): string {
  return JSON.stringify({ id, state, reason })
}

/**
 * Renders the body of a notice as JSON. Returns null if the row is not a notice of a known type. A notice tells an
 * endpoint about another endpoint or about itself. It is not an event of the ledger.
 *
 * The chain does not contain notices. So the body is made here and not copied from the row. Otherwise an attacker who
 * can write rows could get any event signed.
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
