import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportFile } from '../../src/verify/export-file.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { genericBody } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { addKey } from '../helpers/more-keys.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const REFERENCES = ['erp:order/1', 'https://erp.example/ü', 'erp:order/1']

test('a record’s parent and references are signed, stored and answered', async () => {
  const app = await sharedApp()
  const parent = await app.notarize()
  assert.deepEqual([parent.parent, parent.references], [null, null])
  const headers = { 'idempotency-key': 'child' }
  const body = { ...genericBody(), parent: parent.id, references: REFERENCES }
  const child = await app.notarize(body, { headers })
  assert.deepEqual([child.parent, child.references], [parent.id, REFERENCES])
  assert.deepEqual((await app.send('GET', `/v1/records/${child.id}`)).json(), child)
  assert.deepEqual(await app.notarize(body, { headers }), child, 'a replay')
  const reused = { ...body, references: ['erp:order/2'] }
  assertProblem(
    await app.send('POST', '/v1/records', { body: reused, headers }),
    422,
    'idempotency_key_reused',
  )
  const [entry] = (await app.send('GET', `/v1/records/${child.id}/entries`)).json().data
  const statement = Buffer.from(entry.envelope, 'base64').toString('latin1')
  assert.match(statement, new RegExp(`"parent":"${parent.id}"`))
  assert.match(statement, /"references":"[0-9a-f]{64}"/)
  assert.doesNotMatch(statement, /erp/, 'only their digest is signed')
})

test('an empty list of references is stored as null', async () => {
  const app = await sharedApp()
  assert.equal((await app.notarize({ ...genericBody(), references: [] })).references, null)
})

test('refuses unknown or too deep parents, and too many or too long references', async () => {
  const app = await sharedApp()
  const before = await app.written()
  const refused = async (code: string, body: object, key?: string) => {
    const response = await app.send('POST', '/v1/records', {
      body: { ...genericBody(), ...body },
      ...(key && { key }),
    })
    assertProblem(response, 422, code as never)
  }
  await refused('unknown_parent', { parent: 'rec_00000000000000000000000000' })
  await refused('invalid_request', { parent: 'rec_1' })
  await refused('invalid_request', { parent: null })
  for (const references of ['a:1', [''], ['x'.repeat(257)], ['a\u0007'], [1], Array(17).fill('a:1'), null])
    await refused('invalid_request', { references })
  await refused('invalid_request', { references: Array(16).fill('ü'.repeat(256)) })
  assert.deepEqual(await app.written(), before)

  let parent: string | undefined
  for (let depth = 1; depth <= 16; depth++)
    parent = (await app.notarize({ ...genericBody(), ...(parent && { parent }) })).id
  await refused('parent_too_deep', { parent })
  const { key } = (await app.newLedger()).key
  await refused('unknown_parent', { parent }, key)
})

test('the tree shows the record, its ancestors from the first on, and its children by pages', async () => {
  const app = await sharedApp()
  const root = await app.notarize()
  const middle = await app.notarize({ ...genericBody(), parent: root.id })
  const children: unknown[] = []
  for (let n = 0; n < 5; n++)
    children.unshift(await app.notarize({ ...genericBody({ n }), parent: middle.id }))
  const tree = (await app.send('GET', `/v1/records/${middle.id}/tree?limit=3`)).json()
  assert.deepEqual(tree.record, middle)
  assert.deepEqual(tree.ancestors, [root])
  assert.deepEqual(tree.children.data, children.slice(0, 3))
  const rest = await app.send(
    'GET',
    `/v1/records/${middle.id}/tree?limit=3&cursor=${tree.children.nextCursor}`,
  )
  assert.deepEqual(rest.json().children, { data: children.slice(3), nextCursor: null })
  const leaf = (await app.send('GET', `/v1/records/${(children[0] as { id: string }).id}/tree`)).json()
  assert.deepEqual(leaf.ancestors, [root, middle])
  assert.deepEqual(leaf.children, { data: [], nextCursor: null })
})

test('lists a record’s own entries; for a record of a batch the batch’s entry', async () => {
  const app = await sharedApp()
  const single = await app.notarize()
  const body = { records: [genericBody(), genericBody()] }
  const batch = (await app.send('POST', '/v1/records/batch', { body })).json()
  for (const [record, entry] of [
    [single.id, single.entry],
    [batch.records[1].id, batch.entry],
  ]) {
    const page = (await app.send('GET', `/v1/records/${record}/entries`)).json()
    assert.equal(page.nextCursor, null)
    assert.equal(page.data.length, 1)
    const { seq, kind, leaf, chain, signedBy } = page.data[0]
    assert.deepEqual({ seq, kind, leaf, chain, signedBy }, entry)
  }
  assertProblem(await app.send('GET', '/v1/records/rec_1/entries'), 404, 'not_found')
})

test('exports references with documents; an export without documents has no references', async (t) => {
  const app = await sharedApp()
  const record = await app.notarize({ ...genericBody(), references: REFERENCES })
  await app.notarize()
  const lines = await app.entries()
  const [document] = lines[record.entry.seq].documents
  assert.deepEqual(document.references, REFERENCES)
  assert.ok(!('references' in lines.at(-1).documents[0]))
  const key = await addKey(app, { scopes: ['audit:read'] })
  const [withheld] = (await app.entries('', { key }))[record.entry.seq].documents
  assert.deepEqual([withheld.salt, withheld.references], [null, undefined])
  for (const [reader, documents] of [
    [undefined, 'all'],
    [key, 'withheld'],
  ] as const) {
    const exported = await app.send('GET', '/v1/export', reader ? { key: reader } : {})
    const file = temporaryFiles(t).write('export.ndjson', exported.body)
    const report = await verifyLedger(exportFile(file), { threads: 1 })
    assert.deepEqual([report.failure, report.documents], [null, documents])
  }
})
