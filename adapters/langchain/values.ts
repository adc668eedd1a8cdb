import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import type { Outcome } from '@tallystick/sdk/actions'

/** Outcome by the answer of a tool. A command to the graph is no message, and stays with it. */
export function outcomeOfTool(answer: unknown): Outcome {
  if (!ToolMessage.isInstance(answer)) return typeof answer === 'string' ? { result: answer } : {}
  if (answer.status === 'error') return { status: 'error', result: answer.content }
  return { result: answer.content }
}

export function outcomeOfModel(answer: unknown): Outcome {
  if (!AIMessage.isInstance(answer)) return {}
  const { content, tool_calls: toolCalls } = answer
  const usage = answer.usage_metadata as { input_tokens?: number; output_tokens?: number } | undefined
  return {
    result: { content, toolCalls },
    attributes: { inputTokens: usage?.input_tokens, outputTokens: usage?.output_tokens },
  }
}

/** Messages as values: their classes' own JSON says where the class lies. */
export function valuesOf(messages: readonly BaseMessage[]): object[] {
  return messages.map((message) => ({
    type: message.getType(),
    content: message.content,
    ...(AIMessage.isInstance(message) && message.tool_calls?.length ? { toolCalls: message.tool_calls } : {}),
    ...(ToolMessage.isInstance(message) ? { toolCall: message.tool_call_id } : {}),
  }))
}

/** Its name at its provider, or that of its class. */
export function nameOfModel(model: unknown): string {
  const named = model as { model?: unknown; modelName?: unknown; getName?: () => string }
  const name = [named.model, named.modelName].find((name) => typeof name === 'string')
  return (name as string | undefined) ?? named.getName?.() ?? 'model'
}
