import { valueAt } from '../calls/message.ts'
import { PROXY_HEADER_TOOLS_MAX } from './limits.ts'
import { VERSION_META } from './names.ts'

/*
 * Builds request headers for an MCP server. The headers repeat parts of the body (MCP 2026-07-28, Streamable HTTP,
 * "Request Metadata").
 */

const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

type Param = { readonly header: string; readonly path: readonly string[] }

/** Learns from the server's lists of tools which parameters the server requires in headers. */
export class RequestHeaders {
  readonly #tools = new Map<string, readonly Param[]>()
  #negotiated: string | null = null

  /** Protocol version from the server's answer to `initialize`, or null before that answer. */
  get negotiated(): string | null {
    return this.#negotiated
  }

  headersOf(message: unknown): Record<string, string> {
    const method = valueAt(message, ['method'])
    const version = valueAt(message, ['params', '_meta', VERSION_META]) ?? this.#negotiated
    const headers: Record<string, string> = {}
    if (typeof version === 'string') headers['mcp-protocol-version'] = encode(version)
    if (typeof method !== 'string') return headers
    headers['mcp-method'] = encode(method)
    const name = valueAt(message, ['params', NAMED_BY[method] ?? ''])
    if (typeof name !== 'string') return headers
    headers['mcp-name'] = encode(name)
    for (const { header, path } of (method === 'tools/call' && this.#tools.get(name)) || []) {
      const value = valueAt(message, ['params', 'arguments', ...path])
      if (['string', 'boolean', 'number'].includes(typeof value)) headers[header] = encode(`${value}`)
    }
    return headers
  }

  /** Stores the protocol version and the tools from an answer of the server. */
  learn(message: unknown): void {
    const version = valueAt(message, ['result', 'protocolVersion'])
    if (typeof version === 'string' && valueAt(message, ['result', 'serverInfo']) !== undefined)
      this.#negotiated = version
    const tools = valueAt(message, ['result', 'tools'])
    if (!Array.isArray(tools)) return
    for (const tool of tools) {
      const name = valueAt(tool, ['name'])
      if (typeof name !== 'string' || this.#tools.size >= PROXY_HEADER_TOOLS_MAX) continue
      const params = [...paramsOf(valueAt(tool, ['inputSchema']), [])]
      if (params.length > 0) this.#tools.set(name, params)
      else this.#tools.delete(name)
    }
  }
}

const PATH_MAX = 16
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Yields the properties with `x-mcp-header` that are reachable only through `properties`. */
function* paramsOf(schema: unknown, path: readonly string[]): Generator<Param> {
  const properties = valueAt(schema, ['properties'])
  if (properties === null || typeof properties !== 'object' || path.length === PATH_MAX) return
  for (const [name, property] of Object.entries(properties)) {
    const header = valueAt(property, ['x-mcp-header'])
    const here = [...path, name]
    if (typeof header === 'string' && TOKEN.test(header))
      yield { header: `mcp-param-${header.toLowerCase()}`, path: here }
    else yield* paramsOf(property, here)
  }
}

function encode(value: string): string {
  const isPlain =
    /^[\x20-\x7e\t]*$/.test(value) && value.trim() === value && !/^=\?base64\?.*\?=$/.test(value)
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}
