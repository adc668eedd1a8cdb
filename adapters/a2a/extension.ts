import type { AgentExtension, Message } from '@a2a-js/sdk'
import { type Action, TRACEPARENT } from '@tallystick/sdk/actions'

/** Names the extension in agent cards, in messages and in `A2A-Extensions`. */
export const EXTENSION = 'https://tallystick.dev/a2a/record/v1'

/** Data of the extension, in a message's metadata under its URI: where the sender has written down what it is about to do. */
export type Carried = {
  /** Id of the record in the sender's ledger. Absent, if it was not there in time. */
  readonly record?: string
  /** W3C Trace Context of that record: both sides' records of a call have one trace id. */
  readonly traceparent?: string
  /** Base64 of the record's entry with its COSE receipt, which verifies alone (`verify.receipt`). */
  readonly receipt?: string
}

/** For the `capabilities.extensions` of an agent card: the agent records its calls and says where. */
export function agentExtension(): AgentExtension {
  return {
    uri: EXTENSION,
    description: 'Messages say under which record id their sender has written them down',
    required: false,
    params: undefined,
  }
}

/** The message with the data. */
export function carry(message: Message, carried: Carried): Message {
  const extensions = [...new Set([...message.extensions, EXTENSION])]
  return { ...message, extensions, metadata: { ...message.metadata, [EXTENSION]: carried } }
}

const RECORD = /^rec_[0-9a-z]{26}$/
const RECEIPT_CHARS_MAX = 64 * 1024

/** The data that a message brings, of what has its form. They are the sender's claim: verify the receipt, or ask its ledger. */
export function carriedBy(message: Message | undefined): Carried {
  const found: unknown = message?.metadata?.[EXTENSION]
  if (found === null || typeof found !== 'object') return {}
  const { record, traceparent, receipt } = found as Record<string, unknown>
  return {
    ...(typeof record === 'string' && RECORD.test(record) && { record }),
    ...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) && { traceparent }),
    ...(typeof receipt === 'string' && receipt.length <= RECEIPT_CHARS_MAX && { receipt }),
  }
}

/** A message goes without the record's id if the ledger has not said it by then. */
const RECORD_MS_MAX = 1_000

/** Id of the action's record; null if it is not there in time. */
export async function recordOf(action: Action): Promise<string | null> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, RECORD_MS_MAX, null)
  })
  const record = await Promise.race([action.recorded.catch(() => null), late])
  clearTimeout(timer)
  return record
}
