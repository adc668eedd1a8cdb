import type { CallToolResult } from '@modelcontextprotocol/server'
import { TallystickError } from '../../sdk/errors.ts'
import { MCP_ANSWER_BYTES_MAX } from './limits.ts'

/**
 * Returns a tool's answer. It has structured content for programs, and the same content as text for clients that do
 * not support structured content.
 */
export function toResult(value: object, note: string | null): CallToolResult {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > MCP_ANSWER_BYTES_MAX)
    return toError(
      `the answer has ${bytes} bytes, more than the ${MCP_ANSWER_BYTES_MAX} that a tool may return. What to do: request fewer with \`limit\`, ` +
        'or read it over the REST API',
    )
  return { ...toContent(text, note), structuredContent: value as Record<string, unknown> }
}

/** Returns the answer of a tool that failed. `text`: the reason and what to do, for the model. */
export function toError(text: string, note: string | null = null): CallToolResult {
  return { ...toContent(text, note), isError: true }
}

/** Returns the content of an answer: one element for each text. A text that is null is left out. */
function toContent(...texts: readonly (string | null)[]): CallToolResult {
  return { content: texts.filter((text) => text !== null).map((text) => ({ type: 'text', text })) }
}

/**
 * Returns the message of an error for the client. An error that is not a TallystickError is passed to `report`, and
 * the client gets a fixed text.
 */
export function explain(error: unknown, report: (error: unknown) => void): string {
  if (error instanceof TallystickError) return error.message
  report(error)
  return 'this is a fault of the MCP server, not of the call: whether the call was executed is unknown. Check that before you repeat it'
}
