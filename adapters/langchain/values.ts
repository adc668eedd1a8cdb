import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import type { Outcome } from '@tallystick/sdk/actions'

/**
 * Returns the outcome for a tool's answer. It is `error` if any message in the answer is an error. This includes
 * messages in a command to the graph. The command itself is not recorded as a result.
 */
export function outcomeOfTool(answer: unknown): Outcome {
  const failed = toolMessages(answer).find(({ status }) => status === 'error')
  if (failed) return { status: 'error', result: failed.content }
  if (ToolMessage.isInstance(answer)) return { status: 'ok', result: answer.content }
  return typeof answer === 'string' ? { status: 'ok', result: answer } : { status: 'ok' }
}

/** Returns the messages in a tool's answer: a message, a command, or a list of them. */
function toolMessages(answer: unknown): ToolMessage[] {
  const parts: unknown[] = Array.isArray(answer) ? answer : [answer]
  return parts
    .flatMap((part) => (isCommand(part) ? messagesOf(part.update) : part))
    .filter((part) => ToolMessage.isInstance(part))
}

/** Makes the same check as LangGraph, whose package is not a dependency of this adapter. */
function isCommand(value: unknown): value is { readonly update?: unknown } {
  return typeof value === 'object' && value !== null && 'lg_name' in value && value.lg_name === 'Command'
}

/** Returns the messages in a command's update, which is an object or a list of pairs. */
function messagesOf(update: unknown): unknown {
  if (!Array.isArray(update)) return Object(update).messages
  return update.flatMap((pair) => (Array.isArray(pair) && pair[0] === 'messages' ? pair[1] : []))
}

export function outcomeOfModel(answer: unknown): Outcome {
  if (!AIMessage.isInstance(answer)) return { status: 'ok' }
  const { content, tool_calls: toolCalls } = answer
  const usage = answer.usage_metadata as { input_tokens?: number; output_tokens?: number } | undefined
  return {
    status: 'ok',
    result: { content, toolCalls },
    attributes: { inputTokens: usage?.input_tokens, outputTokens: usage?.output_tokens },
  }
}

/** Converts messages to plain values. The JSON of their classes would contain module paths. */
export function valuesOf(messages: readonly BaseMessage[]): object[] {
  return messages.map((message) => ({
    type: message.getType(),
    content: message.content,
    ...(AIMessage.isInstance(message) && message.tool_calls?.length ? { toolCalls: message.tool_calls } : {}),
    ...(ToolMessage.isInstance(message) ? { toolCall: message.tool_call_id } : {}),
  }))
}

/** Returns the provider's name of a model, or the name of its class. */
export function nameOfModel(model: unknown): string {
  const named = model as { model?: unknown; modelName?: unknown; getName?: () => string }
  const name = [named.model, named.modelName].find((name) => typeof name === 'string')
  return (name as string | undefined) ?? named.getName?.() ?? 'model'
}
