import Fastify, { type FastifyInstance } from 'fastify'
import { z } from 'zod'
import { sendCached, type Tagged, tag } from '../answers/send-cached.ts'

/**
 * The API's documentation for people: Scalar, shown from what this server sends alone, so that it works where nothing else can be
 * reached. The page holds no script of its own, and its policy lets none in. Its addresses are relative: a proxy may serve all of this
 * below a path.
 */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tallystick API</title>
<link rel="icon" href="data:,">
</head>
<body>
<script id="api-reference" data-url="openapi.json"
  data-configuration='{"withDefaultFonts":false,"telemetry":false,"showDeveloperTools":"never","hideClientButton":true,"agent":{"disabled":true},"mcp":{"disabled":true},"authentication":{"preferredSecurityScheme":"apiKey"}}'></script>
<script src="docs/base.js"></script>
<script src="docs/scalar.js"></script>
</body>
</html>
`

/** Requests that are tried out go to the server of the page; Scalar would leave out the path that a proxy puts before `/docs`. */
const BASE = `const { dataset } = document.getElementById('api-reference')
const baseServerURL = new URL('.', document.baseURI).href
dataset.configuration = JSON.stringify({ ...JSON.parse(dataset.configuration), baseServerURL })
`

/** Scalar sets styles from its script; it fetches nothing but the document, and what people try out. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function docsRoutes(app: FastifyInstance): void {
  const config = { reads: 'nothing', access: 'public' } as const
  let script: Promise<Tagged> | undefined

  // A person who opens the server's address in a browser.
  const start = {
    config,
    schema: { summary: 'Redirect to the API reference', response: { 302: z.undefined() } },
  }
  app.get('/', start, (_request, reply) => reply.redirect('docs', 302))

  const shown = { content: { 'text/html; charset=utf-8': { schema: z.string() } } }
  const page = { config, schema: { summary: 'Get the API reference', response: { 200: shown } } }
  app.get('/docs', page, (_request, reply) =>
    reply
      .header('content-security-policy', POLICY)
      .header('referrer-policy', 'no-referrer')
      .header('content-type', 'text/html; charset=utf-8')
      .send(PAGE),
  )

  const code = { content: { 'text/javascript; charset=utf-8': { schema: z.string() } } }
  const response = { 200: code, 304: z.undefined() }
  const base = tag(Buffer.from(BASE))
  app.get(
    '/docs/base.js',
    { config, schema: { summary: 'Get the script that tells the API reference where it lies', response } },
    (request, reply) => sendCached(request, reply.type('text/javascript; charset=utf-8'), base, 'no-cache'),
  )
  app.get(
    '/docs/scalar.js',
    { config, schema: { summary: 'Get the script of the API reference', response } },
    async (request, reply) => {
      script ??= readScript()
      return sendCached(request, reply.type('text/javascript; charset=utf-8'), await script, 'no-cache')
    },
  )
}

/**
 * Read when somebody looks: it has four megabytes. The package keeps the script to itself and serves it, so it is asked for by
 * an application that nobody else reaches; its own pages would need a policy that lets inline scripts in.
 */
async function readScript(): Promise<Tagged> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  await inner.register(apiReference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { rawPayload } = await inner.inject('/docs/js/scalar.js')
  await inner.close()
  return tag(rawPayload)
}
