/*
 * npm run docs [-- --check]
 *
 * Writes the files that are derived from the code:
 *
 * - docs/reference/{access,errors,lifecycle}.md
 * - docs/reference/kinds.json, and the database's copy of it
 * - sdk/generated
 * - tables for the Python client, and samples of every member for its tests
 * - the chart's README, from the chart's values
 *
 * With --check it writes nothing, and fails if a file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { ERROR_CODES } from '../src/errors.ts'
import { buildApp } from '../src/http/app.ts'
import { WriteDeadlines } from '../src/http/connections/write-deadlines.ts'
import type { Deps } from '../src/http/deps.ts'
import { SCOPES } from '../src/ledgers/scopes.ts'
import { Admission } from '../src/load/admission.ts'
import { makeByteBudgets } from '../src/load/budgets.ts'
import { openLog } from '../src/observe/log.ts'
import { Metrics } from '../src/observe/metrics/metrics.ts'
import { makeEntropy } from '../src/signing/entropy.ts'
import { everyMemberFile } from '../test/helpers/every-member.ts'
import { chartPage } from './chart-page.ts'
import { kindsFile, withTables } from './kinds.ts'
import { lifecyclePage } from './lifecycle-page.ts'
import type { OpenApi } from './open-api.ts'
import { pythonSources } from './python-sources.ts'
import { sdkSources } from './sdk-sources.ts'

const ROOT = join(import.meta.dirname, '..')
const RULES = 'migrations/0001-rules-and-keys.sql'
const MADE_BY = '<!-- Made by `npm run docs`; not to be edited. -->'

type Operation = {
  readonly summary: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-own-records-scope'?: string
}
type Route = { readonly name: string } & Operation

if (import.meta.main) {
  const openApi = await readOpenApi()
  const files = {
    'docs/reference/access.md': accessPage(listRoutes(openApi)),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/lifecycle.md': page('Lifecycle', lifecyclePage()),
    'docs/reference/kinds.json': kindsFile(),
    [RULES]: withTables(readFileSync(join(ROOT, RULES), 'utf8')),
    'helm/tallystick/README.md': chartPage(),
    ...(await sdkSources(openApi)),
    ...pythonSources(openApi),
    'test/vectors/every-member.json': everyMemberFile(),
  }
  const isCheck = process.argv.includes('--check')
  for (const [file, text] of Object.entries(files)) {
    if (!isCheck) writeFileSync(join(ROOT, file), text)
    else if (readFileSync(join(ROOT, file), 'utf8') !== text) {
      console.error(`${file} is out of date: run \`npm run docs\`, and review the change`)
      process.exitCode = 1
    }
  }
}

/** Reads /openapi.json from the application. No database is needed, because this request does not use it. */
export async function readOpenApi(): Promise<OpenApi> {
  const parts: Partial<Deps> = {
    log: openLog('error'),
    logRequests: false,
    consoleDir: null,
    metrics: new Metrics(),
    tracing: null,
    now: Date.now,
    entropy: makeEntropy(),
    operatorKeys: [],
    admission: new Admission(Date.now),
    budgets: makeByteBudgets(),
    writeDeadlines: new WriteDeadlines(Date.now),
  }
  const app = buildApp(parts as Deps)
  try {
    return await fetchOpenApi(app)
  } finally {
    await app.close()
  }
}

/** Returns the application's /openapi.json. If the request fails, throws an error with the answer's text. */
export async function fetchOpenApi(app: FastifyInstance): Promise<OpenApi> {
  const { statusCode, body } = await app.inject('/openapi.json')
  if (statusCode !== 200) throw new Error(`/openapi.json answered ${statusCode}: ${body}`)
  return JSON.parse(body) as OpenApi
}

function listRoutes({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as Readonly<Record<string, Operation>>).map(([method, operation]) => ({
      ...operation,
      name: `\`${method.toUpperCase()} ${path}\``,
    })),
  )
}

function accessPage(routes: Route[]): string {
  const scopesOf = ({ security = [] }: Route) => security.flatMap(({ apiKey = [] }) => apiKey)
  const keyOf = (route: Route) => {
    if (!route.security) return 'none'
    if (route.security[0]!['operatorKey']) return 'operator'
    const own = route['x-own-records-scope']
    const orNone = route.security.some((one) => Object.keys(one).length === 0)
    return [
      ...scopesOf(route).map((scope) => `\`${scope}\`${scope === own ? ' ¹' : ''}`),
      ...(orNone ? ['none if the ledger is [public](../formats/tiles.md#who-may-read)'] : []),
    ].join(', ')
  }
  const byScope = SCOPES.map((scope) => {
    const names = routes.filter((route) => scopesOf(route).includes(scope)).map(({ name }) => name)
    return `| \`${scope}\` | ${names.length > 0 ? names.join('<br>') : 'no route'} |`
  })
  return page(
    'Access',
    `Look up which key a route needs, and what a scope lets a key do. If a row has several scopes, one of them is enough.
The server does not start with a route that does not state who may call it, and \`test/http/access.test.ts\` tries every
key on every route.

| Route | | Key with |
|---|---|---|
${routes.map((route) => `| ${route.name} | ${route.summary} | ${keyOf(route)} |`).join('\n')}

¹ With only this scope, the key sees the records that name its agent. Others do not exist for it (404).

## By scope

A key can give another key only scopes that it has itself. The first key of a ledger has all scopes.

| Scope | Routes |
|---|---|
${byScope.join('\n')}

\`agents:act\` lets a key that may write name another agent in \`onBehalfOf\`.

## Keys that make keys

A key with \`keys:manage\` makes other keys. They stay valid after that key is revoked or has expired. So:

- **No key ends after the secret that made it** (403 \`expiry_not_held\`). Without an \`expiresAt\` the new key ends with
  that secret, or never if the secret has no end. The same holds for a new secret by \`rotate\`. An earlier secret ends
  before its key after a rotation; such a secret cannot make another one. These rules hold for keys of every agent.
- **Each key names the key that made it**: \`madeBy\`, as the chain has it; null for keys that the operator made.
- **A key can be revoked with all keys that came from it**: \`POST /v1/keys/{id}/revoke\` with \`{"alsoMade":true}\`,
  \`client.keys.revoke(id, { alsoMade: true })\`, or \`tallystick keys revoke KEY --also-made --yes\`. This revokes the
  keys that it made, the keys that those made, and so on. The key itself may be revoked already.
- **Repeat such a request** while \`hasMore\` is true (the command does). Each revocation is an entry of its own, and one
  request revokes at most 100 keys besides the named one. Repeat the request once more after 5 s. Other servers learn of
  a revocation within 5 s, and the key could make another key meanwhile.
- **Without \`alsoMade\` the other keys stay valid**, because not every revoked key was stolen or misused.`,
  )
}

function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [status, title, retry, advice]]) =>
      `| <a id="${code}"></a>\`${code}\` | ${status} | ${title} | ${retry} | ${advice} |`,
  )
  return page(
    'Errors',
    `Look up the \`code\` of an error: its meaning, whether to send the request again, and what to do. Errors are
\`application/problem+json\` (RFC 9457). Programs read \`code\`, which is stable. \`type\` is only a name: it is not an
address to fetch.

The rows are sorted by what is at fault: the request itself, its caller, its body, what the body names, the state, the
server. If several errors apply, one of them is answered, and later versions may answer another one. [A request was
refused](../operate/operations.md#a-request-was-refused) says which part refuses, and where an operator sees it.

| Code | Status | Meaning | Retry | What to do |
|---|---|---|---|---|
${rows.join('\n')}

*Retry*: whether the same request may succeed a moment later. A peer signs it anew for that. With *no*, a repetition
alone does not help. It may succeed after somebody has changed something else: a verdict on a record that is not
delivered yet is refused with \`retryable: false\`, and accepted after the delivery. With *maybe*, read \`retryable\` of
the answer.

"What to do" names members of the problem document. Messages of the command line and of the clients end with the values
of these members, such as \`(nextEvents: record-activated)\`. For people, \`detail\` says more than \`path\`: if a field is
missing or unknown, \`path\` is the object of the field (\`""\` for the whole body), and \`detail\` names the field.`,
  )
}

function page(title: string, text: string): string {
  return `# ${title}\n\n${MADE_BY}\n\n${text}\n`
}
