import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readOpenApi } from '../../../tools/generate-docs.ts'
import type { OpenApi, Schema } from '../../../tools/open-api.ts'
import { limits } from '../../helpers/limits.ts'

const page = readFileSync(new URL('../../../docs/reference/api.md', import.meta.url), 'utf8')

test('the limits on the page are the limits in the code', () => {
  const kib = (bytes: number) => (bytes >= 1 << 20 ? `${bytes >> 20} MiB` : `${bytes >> 10} KiB`)
  for (const row of [
    `| Request body | ${kib(limits.BODY_BYTES_MAX)} |`,
    `| Request body of one record, of a completion, of a type or its preview | ${kib(limits.RECORD_BODY_BYTES_MAX)} |`,
    `| Request body of a batch | ${kib(limits.BATCH_BODY_BYTES_MAX)} |`,
    `| Names and values in a body of more than 64 KiB · in one record of it | ${limits.JSON_TOKENS_MAX.toLocaleString('en')} · ${limits.JSON_TOKENS_PER_FRAGMENT_MAX.toLocaleString('en')} (\`json_too_costly\`) |`,
    `| Document, in canonical form | ${kib(limits.DOCUMENT_BYTES_MAX)} |`,
    `| Metadata, in canonical form | ${kib(limits.METADATA_BYTES_MAX)} |`,
    `| Nesting | ${limits.JSON_DEPTH_MAX} levels |`,
    `| Records in a batch | ${limits.BATCH_ITEMS_MAX.toLocaleString('en')} |`,
    `| Depth of a tree of records | ${limits.PARENT_DEPTH_MAX} |`,
    `| Revisions of a gated record (\`maxRevisions\`) | ${limits.GATED_REVISIONS_MAX}; by default ${limits.GATED_REVISIONS_DEFAULT} |`,
    `| Tolerances of a gated record, in canonical form | ${kib(limits.TOLERANCES_BYTES_MAX)} |`,
    `| Reason, in characters | ${limits.REASON_CHARS_MAX.toLocaleString('en')} |`,
  ]) {
    assert.ok(page.includes(row), `docs/reference/api.md lacks ${row}`)
  }
})

/**
 * SIGNED: members that every request of a signing agent has. OF_STEPS: members that every step has. The page describes
 * these members below its table.
 */
const SIGNED = ['envelope', 'salt']
const OF_STEPS = ['onBehalfOf', 'occurredAt']
const STEP = /^\/v1\/records\/\{id\}\/(activate|completions|verdict|revision|cancel|overturn)$/

test('a body in the table of routes has exactly the members that the route accepts', async () => {
  const openApi = await readOpenApi()
  let rows = 0
  for (const [line, method, path] of page.matchAll(/^\| `(POST|PUT|PATCH) (\/v1\/[^`?…]+)`.*$/gm)) {
    const operation = openApi.paths[path!]?.[method!.toLowerCase()]
    const [request] = line.split(' | ').slice(2).join(' | ').split('→')
    if (operation?.requestBody === undefined || !request!.includes('`{')) continue
    const [content] = Object.values(operation.requestBody.content)
    const shown = Array.from(request!.matchAll(/[{,]"(\w+)"(?=[?:,}])/g), ([, name]) => name!)
    const elsewhere = [...SIGNED, ...(STEP.test(path!) ? OF_STEPS : [])]
    const missing = membersOf(content!.schema, openApi, (name) => request!.includes(`"${name}":[{`)).filter(
      (name) => !shown.includes(name) && !elsewhere.includes(name),
    )
    const known = membersOf(content!.schema, openApi, () => true)
    const unknown = shown.filter((name) => !known.includes(name))
    assert.deepEqual({ missing, unknown }, { missing: [], unknown: [] }, `${method} ${path}`)
    rows++
  }
  assert.ok(rows > 10)
})

/**
 * Returns the names of a body's members. If `isOpen` accepts a member that is an object or a list of objects, also
 * returns the names below it.
 */
function membersOf(schema: Schema, openApi: OpenApi, isOpen: (name: string) => boolean): string[] {
  const { $ref, properties = {} } = schema
  if ($ref !== undefined)
    return membersOf(openApi.components.schemas[$ref.split('/').at(-1)!]!, openApi, isOpen)
  return Object.entries(properties as Record<string, Schema>).flatMap(([name, member]) => [
    name,
    ...(isOpen(name) ? membersOf((member.items ?? member) as Schema, openApi, isOpen) : []),
  ])
}
