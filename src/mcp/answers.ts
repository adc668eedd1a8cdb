import type { CallToolResult } from '@modelcontextprotocol/server'
import { TallystickError } from '../../sdk/errors.ts'
import { MCP_ANSWER_BYTES_MAX } from './limits.ts'

/**
 * Returns the answer of a tool. The answer has structured content for programs, and the same content as text for
 * clients that do not support structured content.
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

/** Returns the answer of a tool that failed. `text`: says to the model why the tool failed and what to do. */
export function toError(text: string, note: string | null = null): CallToolResult {
  return { ...toContent(text, note), isError: true }
}

/** Returns the content of an answer: one element for each text. A text that is null is left out. */
function toContent(...texts: readonly (string | null)[]): CallToolResult {
  return { content: texts.filter((text) => text !== null).map((text) => ({ type: 'text', text })) }
}

/**
 * Returns the message of an error for the client. If the error is not a TallystickError, passes it to `report` and
 * returns a fixed text.
 */
export function explain(error: unknown, report: (error: unknown) => void): string {
  if (error instanceof TallystickError) return error.message
  report(error)
  return 'this is a fault of the MCP server, not of the call: whether the call was executed is unknown. Check that before you repeat it'
}
