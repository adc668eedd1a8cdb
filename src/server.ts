import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { buildApp } from './app.ts'
import { type Config, parseConfig } from './config.ts'
import { openDeps } from './deps.ts'
import { CLOSE_IDLE_EVERY_MS, CLOSE_STREAMS_MS } from './limits.ts'
import { withMetrics } from './metrics/listen.ts'
import { Metrics } from './metrics/metrics.ts'
import { runProcess, type Service } from './run-process.ts'

/**
 * Opens the database, then listens. `close` takes no new requests, answers those that it has, lets the appender
 * commit what it took, and closes the database. Whoever reads an export slowly is cut off after `closeStreamsMs`: he
 * may take hours.
 */
export async function startServer(
  config: Config,
  closeStreamsMs = CLOSE_STREAMS_MS,
  metrics = new Metrics(),
): Promise<Service & { readonly url: string }> {
  const deps = await openDeps(config, undefined, metrics)
  const app = buildApp(deps)
  const connections = trackConnections(app.server)
  try {
    const url = await app.listen({ host: config.host, port: config.port })
    return {
      url,
      async close() {
        // Node closes kept connections that are idle now; one that is busy would stay open after its answer.
        const idle = setInterval(() => {
          app.server.closeIdleConnections()
          // To Node one on which nothing was ever sent is not idle; clients and browsers open such to have them at hand.
          for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
        }, CLOSE_IDLE_EVERY_MS)
        const cutOff = setTimeout(() => app.server.closeAllConnections(), closeStreamsMs)
        await app.close()
        clearInterval(idle)
        clearTimeout(cutOff)
        await deps.close()
      },
    }
  } catch (error) {
    await deps.close()
    throw error
  }
}

/** Those that are open. */
function trackConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return open
}

if (import.meta.main) {
  await runProcess('server', () => {
    const config = parseConfig(process.env)
    return withMetrics(config, (metrics) => startServer(config, undefined, metrics))
  })
}
