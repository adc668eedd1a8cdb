import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLines } from '../helpers/app.ts'
import { FAILING, sharedGatedApp } from '../helpers/gated-app.ts'
import { addKey } from '../helpers/more-keys.ts'

test('an export shows each step’s document, and none for steps without one', async () => {
  const app = await sharedGatedApp()
  const { id } = await app.reach('DISCREPANT')
  await app.take(id, 'revision', { body: { reason: 'too few' } })
  await app.take(id, 'completions')
  await app.verify(id)
  const { gated } = await app.take(id, 'verdict', { body: { verdict: 'reject', reason: 'too late' } })
  const { gated: overturned } = await app.take(id, 'overturn', { body: { reason: 'not so late' } })
  const lines = (await app.entries()).filter(({ kind }) =>
    kind.match(/^(record|completion|verdict|revision)-/),
  )
  const first = lines[2].documents[0].subject
  const values = [
    { id: 'quantity', expected: 100, actual: 94, tolerance: { percent: '5' } },
    { id: 'currency', expected: 'EUR', actual: 'EUR' },
  ]
  const passing = [{ ...values[0], actual: 100 }, values[1]]
  assert.deepEqual(
    lines.map(({ kind, documents }) => [
      kind,
      documents.map(({ subject, document }: { subject: string; document: unknown }) => [subject, document]),
    ]),
    [
      ['record-created', [[id, { quantity: 100 }]]],
      ['record-activated', []],
      ['completion-submitted', [[first, FAILING]]],
      ['completion-verified', [[`${first}/values`, values]]],
      ['revision-requested', [[`${id}/reason`, 'too few']]],
      ['completion-submitted', [[gated.completion.id, { quantity: 100, currency: 'EUR' }]]],
      ['completion-verified', [[`${gated.completion.id}/values`, passing]]],
      ['verdict-rendered', [[`${id}/reason`, 'too late']]],
      ['verdict-overturned', [[`${id}/reason`, 'not so late']]],
    ],
  )
  assert.equal(lines.at(-1).documents[0].digest, overturned.overturn.digest)
  assert.equal(lines.at(-1).documents[0].salt, overturned.overturn.salt)

  const auditor = await addKey(app, { scopes: ['audit:read'] })
  const withheld = parseLines((await app.send('GET', '/v1/export', { key: auditor })).body).slice(1, -1)
  const shown = await app.entries()
  for (const [i, line] of withheld.entries()) {
    const documents = shown[i].documents.map((document: object) => ({
      ...document,
      salt: null,
      document: null,
    }))
    assert.deepEqual(line.documents, documents)
  }
})
