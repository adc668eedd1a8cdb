import type { CallToolResult } from '@modelcontextprotocol/server'
import { TallystickError } from '../../sdk/errors.ts'
import { MCP_ANSWER_BYTES_MAX } from './limits.ts'

/** The answer of a tool: structure for programs, and the same as text for clients that know none. */
export function toResult(value: object): CallToolResult {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > MCP_ANSWER_BYTES_MAX)
    return toError(
      `the answer has ${bytes} bytes, more than the ${MCP_ANSWER_BYTES_MAX} that a tool answers. What to do: ask for fewer with \`limit\`, ` +
        'or read it over the REST API',
    )
  return { content: [{ type: 'text', text }], structuredContent: value as Record<string, unknown> }
}

/** A tool that did not do it, and what to do: the model reads this. */
export function toError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Message of an error for whoever asks. One that nobody threw on purpose is told to `report` alone. */
export function explain(error: unknown, report: (error: unknown) => void): string {
  if (error instanceof TallystickError) return error.message
  report(error)
  return 'this is a fault of the MCP server, not of the call: whether it was done is not known. Look before you repeat it'
}
