/*
 * npm run docs [-- --check]
 *
 * Writes the pages that the application itself knows best: docs/access.md, docs/errors.md and docs/lifecycle.md. With --check it
 * writes nothing and fails where a page differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildApp } from '../src/app.ts'
import { openDeps } from '../src/deps.ts'
import { ERROR_CODES } from '../src/errors.ts'
import { SCOPES } from '../src/tenancy/scopes.ts'
import { startScratch } from '../test/helpers/scratch.ts'
import { lifecyclePage } from './lifecycle-page.ts'

const DOCS = join(import.meta.dirname, '..', 'docs')
const MADE_BY = '<!-- Made by `npm run docs`; not to be edited. -->'

type Operation = {
  readonly summary: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-own-records-scope'?: string
}
type OpenApi = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
type Route = { readonly name: string } & Operation

if (import.meta.main) {
  const routes = listRoutes(await readOpenApi())
  const pages = {
    'access.md': accessPage(routes),
    'errors.md': errorsPage(),
    'lifecycle.md': page('Lifecycle', lifecyclePage()),
  }
  const isCheck = process.argv.includes('--check')
  for (const [file, text] of Object.entries(pages)) {
    if (!isCheck) writeFileSync(join(DOCS, file), text)
    else if (readFileSync(join(DOCS, file), 'utf8') !== text) {
      console.error(
        `docs/${file} is not what the application says: run \`npm run docs\`, and review the change`,
      )
      process.exitCode = 1
    }
  }
}

/** Of the application on an empty database of its own. */
async function readOpenApi(): Promise<OpenApi> {
  const scratch = await startScratch()
  try {
    const deps = await openDeps(scratch.config)
    const app = buildApp(deps)
    const document = (await app.inject('/openapi.json')).json()
    await app.close()
    await deps.close()
    return document
  } finally {
    await scratch.stop()
  }
}

function listRoutes({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
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
    return scopesOf(route)
      .map((scope) => `\`${scope}\`${scope === own ? ' ¹' : ''}`)
      .join(', ')
  }
  const byScope = SCOPES.map((scope) => {
    const names = routes.filter((route) => scopesOf(route).includes(scope)).map(({ name }) => name)
    return `| \`${scope}\` | ${names.length > 0 ? names.join('<br>') : 'no route'} |`
  })
  return page(
    'Access',
    `Every route says who may call it, or is refused when it is registered; \`test/http/access.test.ts\` tries every key on
every route. Any of the scopes named is enough.

| Route | | Key with |
|---|---|---|
${routes.map((route) => `| ${route.name} | ${route.summary} | ${keyOf(route)} |`).join('\n')}

¹ With this scope alone, only records in which the key's agent is named: others are not there (404).

## By scope

A key grants only scopes that it holds. The first key of a ledger has them all.

| Scope | Routes |
|---|---|
${byScope.join('\n')}

\`agents:act\` lets a key that may write name another agent in \`onBehalfOf\`.`,
  )
}

function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [status, title, retry, advice]]) =>
      `| <a id="${code}"></a>\`${code}\` | ${status} | ${title} | ${retry} | ${advice} |`,
  )
  return page(
    'Errors',
    `\`application/problem+json\` (RFC 9457). Programs look at \`code\`, which is stable; \`type\` is a name, with nothing to fetch
behind it. When several apply, the first of this list is answered.

| Code | Status | Meaning | Retry | What to do |
|---|---|---|---|---|
${rows.join('\n')}

*Retry*: whether the same request may succeed later; \`retryable\` in the answer. *maybe*: the answer says.`,
  )
}

function page(title: string, text: string): string {
  return `# ${title}\n\n${MADE_BY}\n\n${text}\n`
}
