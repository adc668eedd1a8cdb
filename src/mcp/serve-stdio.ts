import { serveStdio as serve } from '@modelcontextprotocol/server/stdio'
import type { McpDeps } from './deps.ts'
import { LineTransport } from './line-transport.ts'
import { makeMcpServer } from './make-server.ts'

/** Serves one client on standard input and output, until the input ends. */
export async function serveStdio(
  deps: McpDeps,
  { stdin, stdout }: { readonly stdin: NodeJS.ReadableStream; readonly stdout: NodeJS.WritableStream },
): Promise<void> {
  const transport = new LineTransport(stdin, stdout)
  const handle = serve(() => makeMcpServer(deps), { transport, maxSubscriptions: 0, onerror: deps.report })
  const { onclose } = transport
  await new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.()
      resolve()
    }
  })
  await handle.close()
}
