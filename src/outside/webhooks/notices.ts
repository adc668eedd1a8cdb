import { formatId, timeOfUuidv7, type Uuid } from '../../proof/ids.ts'
import { NOTICE_TYPES } from '../events/event-types.ts'

/** The endpoint that a notice is about; `state` and `reason`: where it is not delivered to any more. */
type About = { readonly id: string; readonly state?: string; readonly reason?: string }

/** As it is stored until it is sent. */
export function noticeAbout({ id, state, reason }: About): string {
  return JSON.stringify({ id, state, reason })
}

/**
 * Body of a notice, which tells an endpoint about another one, or about itself: no event of the ledger. JSON; null if the row
 * is none of ours.
 *
 * No chain says what a notice says, so its text is made here and not read: an attacker who could write it into a row would have
 * it signed as any event.
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

function parseAbout(text: string): About | null {
  try {
    const { id, state, reason } = JSON.parse(text)
    return typeof id === 'string' ? { id, state, reason } : null
  } catch {
    return null
  }
}
