import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { newObject } from './messages.ts'

/** As the schemas of otel-span/1 and otel-log/1 have it. */
type Digest = { readonly sha256: string; readonly of: 'bytes' | 'jcs'; readonly length: number }

type Content = {
  readonly attributes?: Record<string, unknown> | undefined
  readonly digests?: Record<string, Digest> | undefined
}

/**
 * Attributes with what people and models said, and what tools took and gave: of OpenTelemetry's conventions, new and old, of
 * OpenInference, OpenLLMetry, the AI SDK, and of the events of coding agents.
 */
const CONTENT_NAMES = new Set([
  'gen_ai.completion',
  'gen_ai.event.content',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.prompt',
  'gen_ai.system_instructions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'gen_ai.tool.definitions',
  'input.value',
  'output.value',
  'tool.parameters',
  'traceloop.entity.input',
  'traceloop.entity.output',
  'ai.prompt',
  'ai.prompt.messages',
  'ai.prompt.tools',
  'ai.response.object',
  'ai.response.reasoning',
  'ai.response.text',
  'ai.response.toolCalls',
  'ai.toolCall.args',
  'ai.toolCall.result',
  // claude_code.*, codex.*
  'arguments',
  'body',
  'output',
  'prompt',
  'response',
  'tool_input',
  'tool_output',
  'tool_parameters',
])
/** The same, flattened into an attribute for each part. */
const CONTENT_PREFIX =
  /^(?:gen_ai\.(?:prompt|completion)|llm\.(?:input_messages|output_messages|prompts|completions|prompt_template)|retrieval\.documents|embedding\.embeddings)\./

export function contentOf(attributes: Record<string, unknown>, setting: 'digest' | 'keep'): Content {
  const names = Object.keys(attributes)
  if (names.length === 0) return {}
  if (setting === 'keep' || !names.some(isContent)) return { attributes }
  const kept = newObject()
  const digests = newObject() as Record<string, Digest>
  for (const name of names) {
    if (isContent(name)) digests[name] = digestOfValue(attributes[name])
    else kept[name] = attributes[name]
  }
  return { attributes: Object.keys(kept).length === 0 ? undefined : kept, digests }
}

function isContent(name: string): boolean {
  return CONTENT_NAMES.has(name) || CONTENT_PREFIX.test(name)
}

/** A text by its bytes, because who has it has those; anything else in canonical form. */
export function digestOfValue(value: unknown): Digest {
  const isText = typeof value === 'string'
  const bytes = Buffer.from(isText ? value : canonicalize(value as JsonValue))
  return {
    sha256: toHex(nativeProviders.sha256(bytes)),
    of: isText ? 'bytes' : 'jcs',
    length: bytes.length,
  }
}
