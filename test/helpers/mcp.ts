import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Test } from './app.ts'

/**
 * Protocol versions. `legacy`: the handshake of 2025-11-25. `auto`: 2026-07-28, where each message identifies its
 * client.
 */
export const ERAS = ['legacy', 'auto'] as const
export type Era = (typeof ERAS)[number]

export async function connectMcp(t: Test, url: string, key: string, era: Era = 'auto'): Promise<Client> {
  const client = makeMcpClient(era)
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }))
  t.after(() => client.close())
  return client
}

export function makeMcpClient(era: Era = 'auto'): Client {
  return new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: era } })
}

/**
 * Returns the structured content of the tool's result. Fails if the tool returns an error, or if the text differs from
 * the structured content.
 */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export async function callTool(client: Client, name: string, args: object, meta?: object): Promise<any> {
  const { isError, structuredContent, content } = await call(client, name, args, meta)
  const [text] = content as unknown as [{ text: string }]
  if (isError) throw new Error(`${name}: ${text.text}`)
  if (JSON.stringify(structuredContent) !== text.text) throw new Error(`${name} says ${text.text} as text`)
  return structuredContent
}

export async function refusedTool(client: Client, name: string, args: object): Promise<string> {
  const { isError, content } = await call(client, name, args)
  const [text] = content as unknown as [{ text: string }]
  if (!isError) throw new Error(`${name} was not refused: ${text.text}`)
  return text.text
}

function call(client: Client, name: string, args: object, meta?: object): Promise<CallToolResult> {
  const params = { name, arguments: args as Record<string, unknown>, ...(meta && { _meta: meta }) }
  return client.callTool(params as never)
}
