import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../errors.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { HttpMetrics, type RouteDurations } from '../metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    countProblem(code: ErrorCode): void
  }
  interface FastifyReply {
    problem: ErrorCode | null
  }
}

/**
 * Methods that are counted separately. All other methods are counted as `other`, because clients may send any method
 * that Node knows to any address.
 */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'other'] as const
const ELSEWHERE = 'none'

type ByMethod = (method: string) => RouteDurations
type OnResponse = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/**
 * Measures requests. Each route has its own hook with its own histograms, so measuring a request takes 0.03 µs.
 * Detecting a client that disconnects takes 0.1 µs more. Measuring took 0.65 µs when it used labels of prom-client and
 * read the route from `request.routeOptions`.
 */
export function useMeasurement(app: FastifyInstance, { metrics }: { metrics: Metrics }): void {
  const http = new HttpMetrics(metrics, () => countConnections(app))
  app.decorate('countProblem', (code: ErrorCode) => http.problems.add(code))
  app.decorateReply('problem', null)
  const routes = new Map<string, ByMethod>()
  const durationsOf = (url: string): ByMethod => {
    const known = routes.get(url) ?? byMethod(http, url)
    routes.set(url, known)
    return known
  }
  app.addHook('onRoute', (route) => {
    const observe = observeWith(durationsOf(route.url))
    route.onResponse = [route.onResponse ?? [], observe].flat() as OnResponse[]
  })
  const observeElsewhere = observeWith(durationsOf(ELSEWHERE))
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) observeElsewhere(request, reply, done)
    else done()
  })
  // Fastify does not report a client that disconnects before it gets its answer. So this code listens to the response
  // itself.
  const onClose = function (this: ServerResponse) {
    if (!this.writableFinished) http.aborted++
  }
  app.addHook('onRequest', (_request, reply, done) => {
    reply.raw.on('close', onClose)
    done()
  })
}

function byMethod(http: HttpMetrics, url: string): ByMethod {
  const all = new Map<string, RouteDurations>(METHODS.map((method) => [method, http.addRoute(method, url)]))
  const other = all.get('other')!
  return (method) => all.get(method) ?? other
}

function observeWith(durations: ByMethod): OnResponse {
  return (request, reply, done) => {
    durations(request.method).observe(reply.statusCode, reply.elapsedTime)
    done()
  }
}

function countConnections({ server }: FastifyInstance): Promise<number | null> {
  return new Promise((resolve) => {
    server.getConnections((error, count) => resolve(error ? null : count))
  })
}
