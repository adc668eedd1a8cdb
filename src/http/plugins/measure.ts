import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { ErrorCode } from '../../errors.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { CallerCache } from '../../tenancy/caller.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** The code of the problem that is answered. */
    problem: ErrorCode | null
  }
}

/** Clients may send any method that Node knows, to any address: each is counted, under one name. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
const ELSEWHERE = 'none'

export function useMeasurement(
  app: FastifyInstance,
  { metrics, callers }: { metrics: Metrics; callers: CallerCache },
): void {
  const registers = [metrics.registry]
  const requests = new Histogram({
    name: 'tallystick_http_request_duration_seconds',
    help: 'From the request’s headers to the last byte of the answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  const problems = new Counter({
    name: 'tallystick_http_problems_total',
    help: 'Answers that are problem documents, by code',
    labelNames: ['code'],
    registers,
  })
  new Gauge({
    name: 'tallystick_key_cache_keys',
    help: 'API keys that are remembered, those that nobody made among them',
    registers,
    collect() {
      this.set(callers.size)
    },
  })
  app.decorateReply('problem', null)
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? ELSEWHERE
    const method = METHODS.has(request.method) ? request.method : 'other'
    requests.observe({ method, route, status: reply.statusCode }, reply.elapsedTime / 1000)
    if (reply.problem !== null) problems.inc({ code: reply.problem })
    done()
  })
}
