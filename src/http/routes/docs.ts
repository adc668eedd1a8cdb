import Fastify, { type FastifyInstance } from 'fastify'
import { z } from 'zod'
import { sendCached, type Tagged, tag } from '../answers/send-cached.ts'

/**
 * API reference for people. It uses Scalar, and this server serves all files, so that it works without internet
 * access. The page has no inline script, and its policy forbids inline scripts. Its URLs are relative, because a
 * proxy may serve everything below a path.
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

/**
 * Makes the API reference send trial requests to the server of its page. Without this, Scalar would leave out a path
 * that a proxy adds before `/docs`.
 */
const BASE = `const { dataset } = document.getElementById('api-reference')
const baseServerURL = new URL('.', document.baseURI).href
dataset.configuration = JSON.stringify({ ...JSON.parse(dataset.configuration), baseServerURL })
`

/**
 * Content security policy of the API reference. It allows inline styles, because Scalar's script sets styles. The page
 * may fetch only the document, and send only requests that people try out.
 */
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

  // Redirects people who open the server's root address in a browser.
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
    { config, schema: { summary: 'Get the script that gives the API reference its address', response } },
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
 * Reads Scalar's script on first use, because the script has four megabytes. Scalar's package does not export the
 * script but only serves it. So the script is fetched from an internal application that serves the package's pages and
 * does not listen. The package's own pages are not used, because they need a policy that allows inline scripts.
 */
async function readScript(): Promise<Tagged> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  await inner.register(apiReference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { rawPayload } = await inner.inject('/docs/js/scalar.js')
  await inner.close()
  return tag(rawPayload)
}
