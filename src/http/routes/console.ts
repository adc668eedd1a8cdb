import { existsSync, readdirSync } from 'node:fs'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Deps } from '../deps.ts'
import { CONSOLE_FILE_SECONDS } from '../limits.ts'

/**
 * Content security policy of the console. The page may run only its own scripts, and connect only to this server. In
 * browsers with Trusted Types, a text from a ledger can never become markup.
 */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const UNBUILT = 'the console was not built'
/** Matches files whose names contain a hash of their content. The build adds the hash. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/
/**
 * Name of the page that verifies saved files. It is sent as a download, because its script is inline and the policy
 * forbids inline scripts.
 */
const SAVED = 'verify.html'

/**
 * Serves the console (docs/guides/console.md), which consists of public static files. Its pages get their data from the
 * API, with the key of the reader.
 */
export function consoleRoutes(app: FastifyInstance, { consoleDir }: Pick<Deps, 'consoleDir'>): void {
  if (consoleDir === null) return
  const files = new Set(existsSync(consoleDir) ? readdirSync(consoleDir) : [])
  if (files.size > 0) app.register(fastifyStatic, { serve: false, root: consoleDir, preCompressed: true })
  const config = { reads: 'nothing', access: 'public' } as const
  const schema = { hide: true }

  // The URL is relative, because a proxy may serve everything below a path.
  app.get('/console', { config, schema }, (_request, reply) => reply.redirect('console/', 302))
  app.get('/console/', { config, schema }, (_request, reply) => send(reply, 'index.html'))
  app.get<{ Params: { '*': string } }>('/console/*', { config, schema }, (request, reply) => {
    return send(reply, request.params['*'])
  })

  function send(reply: FastifyReply, name: string): FastifyReply {
    if (files.has(name)) return sendFile(reply, name)
    throw new ApiError('not_found', files.size === 0 ? UNBUILT : 'the console has no such file')
  }
}

function sendFile(reply: FastifyReply, name: string): FastifyReply {
  reply.header('content-security-policy', POLICY).header('referrer-policy', 'no-referrer')
  if (name === SAVED) reply.header('content-disposition', 'attachment; filename="tallystick-verify.html"')
  return HASHED.test(name)
    ? reply.sendFile(name, { maxAge: CONSOLE_FILE_SECONDS * 1_000, immutable: true })
    : reply.header('cache-control', 'no-cache').sendFile(name, { cacheControl: false })
}
