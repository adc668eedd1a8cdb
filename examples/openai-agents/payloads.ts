import type { Span, SpanData, Trace } from '@openai/agents'

/** SHA-256 of the text, or of the value as JSON: its holder can show that it is this one. */
export type Digested = { readonly sha256: string; readonly bytes: number; readonly text?: string }
type Digest = (value: unknown) => Digested | null

export function payloadOfTrace({ traceId, name, groupId, metadata }: Trace, digest: Digest): object {
  return { kind: 'trace', trace: traceId, name, group: groupId, metadata: digest(metadata) }
}

export function payloadOfSpan(span: Span<SpanData>, digest: Digest): object {
  const { traceId, spanId, parentId, startedAt, endedAt, spanData, error } = span
  return {
    kind: spanData.type,
    trace: traceId,
    span: spanId,
    parent: parentId,
    startedAt,
    endedAt,
    ...detailsOf(spanData, digest),
    // Its data can hold what the tool or the model said.
    ...(error && { error: digest(error) }),
  }
}

/** Names and counts as they are; members that can hold people's words, by digest. */
function detailsOf(data: SpanData, digest: Digest): object {
  switch (data.type) {
    case 'agent':
      return { name: data.name, tools: data.tools ?? [], handoffs: data.handoffs ?? [] }
    case 'function':
      return { name: data.name, input: digest(data.input), output: digest(data.output) }
    case 'handoff':
      return { from: data.from_agent ?? null, to: data.to_agent ?? null }
    case 'generation':
      return {
        model: data.model ?? null,
        usage: usageOf(data.usage),
        input: digest(data.input),
        output: digest(data.output),
      }
    case 'response':
      return {
        response: data.response_id ?? null,
        model: data._response?.['model'] ?? null,
        usage: usageOf(data._response?.['usage']),
        input: digest(data._input),
        output: digest(data._response?.['output']),
      }
    case 'turn':
      return { agent: data.agent_name, turn: data.turn, usage: usageOf(data.usage) }
    case 'task':
      return { name: data.name, usage: usageOf(data.usage) }
    case 'guardrail':
      return { name: data.name, triggered: data.triggered }
    case 'mcp_tools':
      return { server: data.server ?? null, tools: data.result ?? [] }
    case 'custom':
      return { name: data.name, data: digest(data.data) }
    default:
      return { data: digest(data) }
  }
}

type Usage = { readonly input_tokens?: unknown; readonly output_tokens?: unknown }

function usageOf(usage: Usage | undefined): object | null {
  if (!usage) return null
  const { input_tokens: inputTokens = null, output_tokens: outputTokens = null } = usage
  return { inputTokens, outputTokens }
}
