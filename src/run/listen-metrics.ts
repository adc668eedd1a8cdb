import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mergeMetrics } from '../observe/metrics/merge.ts'
import { Metrics } from '../observe/metrics/metrics.ts'
import type { Service } from './run-process.ts'

/**
 * Serves metrics and probes on a separate port. The port is not for the public, because metrics show how much is
 * written.
 *
 * A worker has no other port, so this port also serves /livez and /readyz, which query no database. A stopping process
 * continues to answer here as long as possible. `others`: returns metrics of another process, which are merged.
 */
export async function serveMetrics(
  metrics: Metrics,
  at: { readonly host: string; readonly port: number },
  hasStarted: () => boolean = () => true,
  others: (() => Promise<string>) | null = null,
): Promise<Service & { readonly url: string }> {
  metrics.watchProcess(others ? 'server' : undefined)
  const server = createServer(async ({ method, url }, response) => {
    const answer = (status: number, headers = {}, text = '') =>
      response
        .writeHead(status, {
          ...headers,
          ...(status !== 204 && { 'content-length': Buffer.byteLength(text) }),
        })
        .end(text)
    // The query string is ignored, because scrapers and probes may add one.
    const path = url!.split('?', 1)[0]!
    if (!PATHS.includes(path)) return answer(404)
    if (!METHODS.includes(method!)) return answer(405, { allow: METHODS.join(', ') })
    if (path === '/readyz' && !hasStarted()) return answer(503)
    if (method === 'OPTIONS') return answer(204, { allow: METHODS.join(', ') })
    if (path !== '/metrics') return answer(200)
    const texts = await Promise.all([metrics.registry.metrics(), ...(others ? [others()] : [])])
    const text = others ? mergeMetrics(texts) : texts[0]!
    return answer(200, { 'content-type': metrics.registry.contentType }, text)
  })
  await new Promise<void>((resolve, reject) => {
    const fail = ({ message }: Error) => reject(new Error(`TALLYSTICK_METRICS_PORT: ${message}`))
    server.once('error', fail).listen(at.port, at.host, resolve)
  })
  const { address, port, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const PATHS = ['/livez', '/readyz', '/metrics']
const METHODS = ['GET', 'HEAD', 'OPTIONS']

/** Starts a service. If a port is configured, serves the service's metrics while it runs. */
export async function withMetrics(
  config: { readonly host: string; readonly metricsPort: number | null },
  start: (metrics: Metrics) => Promise<Service>,
): Promise<Service> {
  const metrics = new Metrics()
  const port = config.metricsPort
  let started = false
  const listener =
    port === null ? null : await serveMetrics(metrics, { host: config.host, port }, () => started)
  const service = await start(metrics).catch(async (error) => {
    await listener?.close()
    throw error
  })
  started = true
  return {
    drain: async () => service.drain?.(),
    async close() {
      await service.close()
      await listener?.close()
    },
  }
}
