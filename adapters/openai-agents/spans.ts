import type { Span, SpanData } from '@openai/agents'
import type { Call, Outcome } from '@tallystick/sdk/actions'

type Described = Pick<Call, 'kind' | 'name' | 'server' | 'arguments' | 'attributes'>

/** Begins with its span: nobody need wait for the end to know what it is. null: it does not. */
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

/** Told when the span has ended, because only then its name is known. null: no action, but a frame around others. */
export function describeEnd(data: SpanData): (Described & Pick<Outcome, 'result'>) | null {
  switch (data.type) {
    case 'generation':
      return {
        kind: 'model',
        name: data.model ?? 'model',
        arguments: data.input,
        result: data.output,
        attributes: usageOf(data.usage),
      }
    case 'response':
      return {
        kind: 'model',
        name: `${data._response?.['model'] ?? 'model'}`,
        arguments: data._input,
        result: data._response?.['output'],
        attributes: { response: data.response_id, ...usageOf(data._response?.['usage']) },
      }
    case 'handoff':
      return {
        kind: 'agent',
        name: data.to_agent ?? 'agent',
        attributes: { handoff: true, from: data.from_agent },
      }
    case 'mcp_tools':
      return { kind: 'other', name: 'tools/list', server: data.server, result: data.result }
    case 'transcription':
      return { kind: 'model', name: data.model ?? 'transcription', result: data.output }
    case 'speech':
      return { kind: 'model', name: data.model ?? 'speech', arguments: data.input }
    default:
      return null
  }
}

/** How an action ended that began with its span. */
export function outcomeOf({ spanData: data, error }: Span<SpanData>): Outcome {
  const failed = error === null ? {} : { error: errorOf(error) }
  if (data.type === 'function') return { ...failed, result: data.output || undefined }
  if (data.type === 'agent') return { ...failed, attributes: { tools: data.tools, handoffs: data.handoffs } }
  return failed
}

/** Somebody was asked and said no: the library tells it in these words alone. */
export function isRejected({ error }: Span<SpanData>): boolean {
  return /manually rejected by user/.test(`${error?.data?.['error']}`)
}

/** The one that was thrown, where the library kept it; by default it tells neither its type nor its text. */
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
