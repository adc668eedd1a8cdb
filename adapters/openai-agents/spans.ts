import type { Span, SpanData } from '@openai/agents'
import { type Call, type Outcome, outcomeOfThrown } from '@tallystick/sdk/actions'
import { hasStopped, type Node } from './runs.ts'

type Described = Pick<Call, 'kind' | 'name' | 'server' | 'arguments' | 'attributes'>

/**
 * Describes an action at the start of its span. Returns null for kinds of spans whose name is not known at the start.
 */
export function describeStart(data: SpanData): Described | null {
  switch (data.type) {
    case 'agent':
      return { kind: 'agent', name: data.name }
    case 'function':
      return { kind: 'tool', name: data.name, arguments: data.input || undefined }
    case 'custom':
      return { kind: 'other', name: data.name, arguments: data.data }
    default:
      return null
  }
}

/**
 * Describes an action that is recorded at the end of its span, because only then its name is known. `hasAnswer`: false
 * if the span ended without an answer because its reader stopped. Returns null if the span only contains other actions.
 */
export function describeEnd(
  data: SpanData,
): (Described & Pick<Outcome, 'result'> & { readonly hasAnswer: boolean }) | null {
  switch (data.type) {
    case 'generation':
      return {
        kind: 'model',
        name: data.model ?? 'model',
        arguments: data.input,
        result: data.output,
        hasAnswer: data.output !== undefined || data.usage !== undefined,
        attributes: usageOf(data.usage),
      }
    case 'response':
      return {
        kind: 'model',
        name: `${data._response?.['model'] ?? 'model'}`,
        arguments: data._input,
        result: data._response?.['output'],
        hasAnswer: data._response !== undefined || data.response_id !== undefined,
        attributes: { response: data.response_id, ...usageOf(data._response?.['usage']) },
      }
    case 'handoff':
      return {
        kind: 'agent',
        name: data.to_agent ?? 'agent',
        hasAnswer: data.to_agent !== undefined,
        attributes: { handoff: true, from: data.from_agent },
      }
    case 'mcp_tools':
      return {
        kind: 'other',
        name: 'tools/list',
        server: data.server,
        result: data.result,
        hasAnswer: data.result !== undefined,
      }
    case 'transcription':
      return {
        kind: 'model',
        name: data.model ?? 'transcription',
        result: data.output,
        hasAnswer: data.output !== undefined,
      }
    case 'speech':
      return {
        kind: 'model',
        name: data.model ?? 'speech',
        arguments: data.input,
        hasAnswer: data.output !== undefined,
      }
    default:
      return null
  }
}

/** Returns the outcome of an action that began with its span. */
export function outcomeOf(span: Span<SpanData>, node: Node): Outcome {
  const { spanData: data, error } = span
  const more =
    data.type === 'function'
      ? { result: data.output || undefined }
      : data.type === 'agent'
        ? { attributes: { tools: data.tools, handoffs: data.handoffs } }
        : {}
  if (isRejected(span)) return { ...more, status: 'denied', error: error && errorOf(error) }
  if (error !== null) return { ...more, ...outcomeOfThrown(errorOf(error)) }
  const isDone = data.type === 'function' ? node.hasReturned || hasOutput(data.output) : !hasStopped(node)
  return { ...more, status: isDone ? 'ok' : 'unknown' }
}

/**
 * Returns whether the output is that of a finished tool. If the library cancels a tool, it ends the span without an
 * error, with `aborted` or ''.
 */
function hasOutput(output: string): boolean {
  return output !== '' && output !== 'aborted'
}

/**
 * Returns whether a model's answer requests a tool of this process. The provider runs its own tools. An answer is a
 * list of items, of messages, or of completions with a message in each choice.
 */
export function requestsTool(result: unknown): boolean {
  return (
    Array.isArray(result) &&
    result.some((item) => {
      const { type, tool_calls: calls, message, choices } = Object(item) as Record<string, unknown>
      return (
        CALLED_HERE.includes(`${type}`) ||
        (Array.isArray(calls) && calls.length > 0) ||
        (message !== undefined && requestsTool([message])) ||
        requestsTool(choices)
      )
    })
  )
}

const CALLED_HERE: readonly string[] = ['function_call', 'computer_call', 'shell_call', 'apply_patch_call']

/** Returns whether a person rejected the call. The library reports a rejection only by the text of the error. */
export function isRejected({ error }: Span<SpanData>): boolean {
  return /manually rejected by user/.test(`${error?.data?.['error']}`)
}

/**
 * Returns the thrown error if the library stored it. By default the library stores neither the type nor the text of an
 * error.
 */
export function errorOf({ message, data }: NonNullable<Span<SpanData>['error']>): Error | string {
  const thrown = data?.['error']
  if (typeof thrown !== 'string') return message
  const [, name, text] = /^(\w*Error): (.*)$/s.exec(thrown) ?? []
  return name === undefined ? thrown : Object.assign(new Error(text), { name })
}

type Usage = { readonly input_tokens?: unknown; readonly output_tokens?: unknown }

function usageOf(usage: Usage | undefined): Record<string, unknown> {
  return { inputTokens: usage?.input_tokens, outputTokens: usage?.output_tokens }
}
