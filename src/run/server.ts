import { lookup } from 'node:dns/promises'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from '../http/app.ts'
import { openLog } from '../observe/log.ts'
import { watchLog } from '../observe/metrics/log.ts'
import { Metrics } from '../observe/metrics/metrics.ts'
import { StandardOutput, writeLine } from '../observe/standard-output.ts'
import { type Config, readConfig } from './config.ts'
import { openDeps } from './deps.ts'
import { CLOSE_IDLE_EVERY_MS, CLOSE_STREAMS_MS, CLOSE_UNUSED_AFTER_MS, LISTEN_BACKLOG } from './limits.ts'
import { withMetrics } from './listen-metrics.ts'
import { buildConsole } from './local/console.ts'
import { requireFreePort } from './local/http-port.ts'
import { runProcess, type Service } from './run-process.ts'

const PROJECT_DIR = resolve(import.meta.dirname, '..', '..')

/**
 * Opens the database and starts to listen.
 *
 * `drain` continues to answer every request, but reports `not ready` and ends each connection with its next answer. It
 * returns after the time that load balancers need to notice. Idle connections are not closed at once, because that
 * would break requests that are already on their way.
 *
 * `close` accepts no new requests, answers the running ones, lets the appender commit, and closes the database. Slow
 * readers of an export are disconnected after `closeStreamsMs`, because an export may take hours.
 */
export async function startServer(
  config: Config,
  closeStreamsMs = CLOSE_STREAMS_MS,
  metrics = new Metrics(),
  log = openLog(config.logLevel, new StandardOutput({ dropped: watchLog(metrics, 'server') })),
): Promise<Service & { readonly url: string }> {
  const deps = await openDeps(config, log, metrics)
  const app = buildApp(deps)
  try {
    // The name is resolved here, because for `localhost` Fastify opens a server for each address. Our limits and the
    // drain would then apply only to the first server.
    const { address } = await lookup(config.host)
    const url = await app.listen({ host: address, port: config.port, backlog: LISTEN_BACKLOG })
    return {
      url,
      async drain() {
        app.drain()
        await sleep(config.drainMs)
      },
      async close() {
        // Node's function closes only connections that are idle when it is called. It is called repeatedly, because a
        // connection that was busy would otherwise stay open after its answer.
        const beganAtMs = performance.now()
        const idle = setInterval(() => {
          app.server.closeIdleConnections()
          // Node does not count a connection without any request as idle. Such connections are closed a little later:
          // clients and browsers open connections in advance, and a request may already be on its way.
          if (performance.now() - beganAtMs < CLOSE_UNUSED_AFTER_MS) return
          for (const socket of deps.writeDeadlines.open) if (socket.bytesRead === 0) socket.destroy()
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

async function warnWithoutConsole(): Promise<void> {
  const missing = await buildConsole(PROJECT_DIR)
  if (missing !== null) writeLine(`tallystick server: there is no console: ${missing}`)
}

export function main(args: readonly string[]): Promise<void> {
  return runProcess('server', args, async () => {
    const config = readConfig()
    await requireFreePort(config.host, config.port)
    if (config.console) await warnWithoutConsole()
    return withMetrics(config, (metrics) => startServer(config, undefined, metrics))
  })
}
