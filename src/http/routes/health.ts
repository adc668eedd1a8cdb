import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { probeRead } from '../../db/schema/migrate.ts'
import { ApiError } from '../../errors.ts'
import { VERSION } from '../../observe/version.ts'
import type { Deps } from '../deps.ts'
import { READY_ANSWER_TIMEOUT_MS } from '../limits.ts'
import { health } from '../schemas/health.ts'

const NOT_READY = 'the database does not answer, is not migrated, or refuses this login: the log says why'

export function healthRoutes(app: FastifyInstance, deps: Pick<Deps, 'readPool'>): void {
  // Probes may add parameters of their own, such as `?verbose`.
  const querystring = z.looseObject({})
  // This probe does not query the database. Otherwise Kubernetes would restart all pods when the database fails.
  const live = { summary: 'Check that the process answers', querystring, response: { 200: health('ok') } }
  app.get(
    '/livez',
    { config: { reads: 'nothing', access: 'public', probe: true }, schema: live },
    async () => ({
      status: 'ok',
      version: VERSION,
    }),
  )

  // Probes are never refused, so concurrent probes share one query.
  let probing: Promise<Error | null> | null = null
  const probeNow = () => {
    probing ??= probeRead(deps.readPool, READY_ANSWER_TIMEOUT_MS).finally(() => {
      probing = null
    })
    return probing
  }

  const ready = {
    summary: 'Check that the server is ready',
    querystring,
    response: { 200: health('ready') },
  }
  const config = { reads: 'primary', access: 'public', probe: true, problems: ['unavailable'] } as const
  app.get('/readyz', { config, schema: ready }, async () => {
    if (app.isDraining) throw new ApiError('unavailable', 'the server is stopping', { retryable: true })
    // The version of the schema is not checked here, because the server checks it when it starts. While a new version
    // is rolled out, its migration must not make the old pods unready.
    const cause = await probeNow()
    // The cause may name hosts and logins. So it is written to the log (failure-log.ts), and not shown in the public
    // answer.
    if (cause !== null) throw new ApiError('unavailable', NOT_READY, { retryable: true, cause })
    return { status: 'ready', version: VERSION }
  })
}
