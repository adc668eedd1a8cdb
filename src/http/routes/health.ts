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
  // Probes bring parameters of their own, such as `?verbose`.
  const querystring = z.looseObject({})
  // The process answers: never asks the database, so that a database failure restarts no pod.
  const live = { summary: 'Check that the process answers', querystring, response: { 200: health('ok') } }
  app.get(
    '/livez',
    { config: { reads: 'nothing', access: 'public', probe: true }, schema: live },
    async () => ({
      status: 'ok',
      version: VERSION,
    }),
  )

  // Nobody is refused, however often: requests at the same time share one query.
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
    if (app.isDraining) throw new ApiError('unavailable', 'the server is about to stop', { retryable: true })
    // Does not say whether the schema is newer: the server checks this when it starts. While a new version rolls out,
    // its migration must not take the old one's pods away.
    const cause = await probeNow()
    // The cause may name hosts and logins: it goes into the log (failure-log.ts), not into a public answer.
    if (cause !== null) throw new ApiError('unavailable', NOT_READY, { retryable: true, cause })
    return { status: 'ready', version: VERSION }
  })
}
