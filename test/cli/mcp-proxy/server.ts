import { McpServer, type McpServerFactory } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

export const makeServer: McpServerFactory = () => {
  const server = new McpServer({ name: 'test-server', version: '1.0.0' })
  const text = z.object({ text: z.string() })
  const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  server.registerTool('echo', { inputSchema: text }, async ({ text }) => answer(text))
  server.registerTool('fail', { inputSchema: text }, async () => ({
    ...answer('no such file'),
    isError: true,
  }))
  server.registerTool('wait', { inputSchema: text }, async (_args, { mcpReq }) => {
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }))
    return answer('aborted')
  })
  server.registerTool('exit', { inputSchema: text }, async () => process.exit(3))
  server.registerTool('keys', { inputSchema: text }, async () =>
    answer(
      Object.keys(process.env)
        .filter((name) => /^(tallystick|otel)_/i.test(name))
        .sort()
        .join(),
    ),
  )
  return server
}

if (import.meta.main) serveStdio(makeServer)
