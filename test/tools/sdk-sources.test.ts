import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { readOpenApi } from '../../tools/generate-docs.ts'
import { sdkSources } from '../../tools/sdk-sources.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')

test('generated sources of the SDK', async (t) => {
  const openApi = await readOpenApi()
  const sources = await sdkSources(openApi)

  await t.test('equal the files in the repository, and are the same each time', async () => {
    assert.deepEqual(await sdkSources(structuredClone(openApi)), sources)
    for (const [file, text] of Object.entries(sources))
      assert.equal(readFileSync(join(ROOT, file), 'utf8'), text, `${file}: run \`npm run docs\``)
  })

  await t.test('name each shape once', () => {
    const api = sources['sdk/generated/api.ts']!
    const names = [...api.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name!)
    assert.equal(new Set(names).size, names.length)
    assert.deepEqual(
      names.filter((name) => /\d$/.test(name)),
      [],
    )
    for (const once of ["'record-notarized'", "'keys:manage'", "'DISCREPANT'", 'requestsPerSecond: number'])
      assert.equal(api.split(once).length, 2, once)
  })

  await t.test('have numbers for numeric query parameters', () => {
    const query = /export interface PageQuery \{[^}]*\}/.exec(sources['sdk/generated/api.ts']!)![0]
    assert.match(query, /limit\?: number/)
    assert.match(query, /cursor\?: string/)
  })

  await t.test('allow undefined for every optional member, however many lines its type takes', () => {
    const definition = /export interface PostTypesBody \{[\s\S]*?\n\}/.exec(
      sources['sdk/generated/api.ts']!,
    )![0]
    assert.match(definition, /evidenceSchema\?:\n {4}\| \{[^}]*\}\n {4}\| boolean \| undefined\n/)
    assert.match(definition, /rules\?: Rule\[\] \| undefined\n/)
  })

  await t.test('follow a change of the application', async () => {
    const changed = structuredClone(openApi)
    // biome-ignore lint/suspicious/noExplicitAny: JSON
    const { paths, components } = changed as any
    components.schemas.Agent.properties.colour = { type: 'string' }
    paths['/v1/agents'].post.parameters = []
    const made = await sdkSources(changed)
    assert.match(made['sdk/generated/api.ts']!, /export interface Agent \{[^}]*colour\?: string/)
    assert.match(made['sdk/generated/operations.ts']!, /postAgents: \{ [^}]*repeat: 'never' \}/)
    assert.match(sources['sdk/generated/operations.ts']!, /postAgents: \{ [^}]*repeat: 'with-key' \}/)
  })

  await t.test('are refused if a named shape no longer exists', async () => {
    const changed = structuredClone(openApi)
    // biome-ignore lint/suspicious/noExplicitAny: JSON
    delete (changed as any).components.schemas.Key.properties.rateLimit
    await assert.rejects(sdkSources(changed), /nothing at ApiKey\/properties\/rateLimit/)
  })
})
