import type { ModelMessage } from 'ai'

/** A person's answer to the approval request for a tool call. It comes with the messages of the next generation. */
export type ApprovalAnswer = {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly isApproved: boolean
  readonly reason: string | undefined
}

/** Returns the answers in the last message. */
export function answersIn(messages: readonly ModelMessage[] = []): ApprovalAnswer[] {
  const last = messages.at(-1)
  if (last?.role !== 'tool') return []
  const assistantParts = messages.flatMap(({ role, content }) =>
    role === 'assistant' && typeof content !== 'string' ? content : [],
  )
  return last.content.flatMap((part) => {
    if (part.type !== 'tool-approval-response') return []
    const { approvalId, approved, reason } = part
    const request = assistantParts.find(
      (part) => part.type === 'tool-approval-request' && part.approvalId === approvalId,
    )
    if (request?.type !== 'tool-approval-request') return []
    const calls = assistantParts.filter(
      (part) => part.type === 'tool-call' && part.toolCallId === request.toolCallId,
    )
    const [call] = calls
    if (call?.type !== 'tool-call') return []
    const { toolCallId, toolName } = call
    // An approval request contains only the id of its tool call. If two calls have this id, the requested call is
    // unknown.
    const input = calls.length === 1 ? call.input : undefined
    return [{ toolCallId, toolName, input, isApproved: approved, reason }]
  })
}
