import type { AgentExtension, Message } from '@a2a-js/sdk'
import { type Action, TRACEPARENT } from '@tallystick/sdk/actions'

/** URI of the extension in agent cards, in messages and in `A2A-Extensions`. */
export const EXTENSION = 'https://tallystick.dev/a2a/record/v1'

/**
 * Data of the extension, which a message's metadata contains under the URI of the extension. It says where the sender
 * recorded the message.
 */
export type Carried = {
  /** Id of the record in the sender's ledger. Absent if the ledger did not store the record in time. */
  readonly record?: string
  /** W3C Trace Context of the sender's record. The records of sender and receiver have the same trace id. */
  readonly traceparent?: string
  /** Base64 of the record's entry with its COSE receipt, for `verify.receipt`. */
  readonly receipt?: string
}

/**
 * Returns the extension for `capabilities.extensions` of an agent card. It states that the agent records its calls and
 * sends the ids of the records.
 */
export function agentExtension(): AgentExtension {
  return {
    uri: EXTENSION,
    description: 'Messages name the record under which their sender has notarized them',
    required: false,
    params: undefined,
  }
}

/** Returns the message with `carried` added to its metadata. */
export function carry(message: Message, carried: Carried): Message {
  const extensions = [...new Set([...message.extensions, EXTENSION])]
  return { ...message, extensions, metadata: { ...message.metadata, [EXTENSION]: carried } }
}

const RECORD = /^rec_[0-9a-z]{26}$/
const RECEIPT_CHARS_MAX = 64 * 1024

/**
 * Returns the valid parts of the extension data of a message. They are only claims of the sender. To check them, verify
 * the receipt or read the sender's ledger.
 */
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

/** Maximum time in ms that a message waits for its record's id. After this time the message is sent without the id. */
const RECORD_MS_MAX = 1_000

/** Returns the id of the action's record, or null if the ledger did not store the record in time. */
export async function recordOf(action: Action): Promise<string | null> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, RECORD_MS_MAX, null)
  })
  const record = await Promise.race([action.recorded.catch(() => null), late])
  clearTimeout(timer)
  return record
}
