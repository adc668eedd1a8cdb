import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { parseId } from '../../../src/proof/ids.ts'
import type { DocumentKind } from '../../../src/proof/statement/document-subjects.ts'
import { expectStatus } from '../../helpers/app.ts'
import { openEraser, takenAway } from '../../helpers/eraser.ts'
import { appendAsApi, type SaidErasure, signErasure, withEnvelope } from '../../helpers/forged-erasures.ts'
import { type GatedApp, lendGatedApp } from '../../helpers/gated-app.ts'
import { documentsOf, type Erasable, eraseAt, makePersonalGated } from '../../helpers/personal-gated.ts'
import { assertVerifies, SECRET } from '../../helpers/personal-records.ts'

type Digested = Omit<Erasable, 'document'> & {
  readonly document: DocumentKind
  readonly subject: string
  readonly digest: string
}

test('a document row whose entry is not the one that digests the document', async (t) => {
  const app = await lendGatedApp(t)
  const eraser = openEraser(t, app)
  const server = await app.deps.signers.load()
  const { id, documents } = await makeDigested(app)
  const shown = [await app.get(id), await linesOf(app, documents)]
  for (const [place, digested] of documents.entries()) {
    const { row, signed } = genuine(id, digested)
    // Seq that the forged row names. The entry at this seq must not create a record, because the row would then name
    // that record's payload.
    const documentSeq = documents[0]!.seq - 1 - place
    const entry = signErasure(app, server, { row: { ...row, documentSeq }, signed })
    await appendAsApi(app, withEnvelope(entry, randomBytes(300)))
  }

  await t.test('does not hide the document', async () => {
    assert.deepEqual([await app.get(id), await linesOf(app, documents)], shown)
    const { data } = (await app.send('GET', `/v1/records?reference=${SECRET}`)).json()
    assert.equal(data.length, 1)
  })

  await t.test('does not prevent an erasure', async () => {
    await eraser.run()
    assert.equal(eraser.refused.count, documents.length)
    for (const [place, { address }] of documents.entries()) {
      const { remaining } = expectStatus(202, await eraseAt(app, address)).json()
      assert.equal(remaining.length, documents.length - 1 - place)
    }
    await eraser.run()
    assert.deepEqual([takenAway(eraser.logged), eraser.refused.count], [documents.length, documents.length])
    assert.deepEqual(await storedSeqs(app), [])
  })
})

test('refuses an erasure whose row and signed statement name different documents', async (t) => {
  const app = await lendGatedApp(t)
  const eraser = openEraser(t, app)
  const server = await app.deps.signers.load()

  type Documents = Readonly<
    Record<'payload' | 'evidence' | 'values' | 'reason' | 'evidence2' | 'reason2', Digested>
  >
  const crossed: [string, (d: Documents) => [row: Digested, signed: Digested]][] = [
    ['evidence, where values are signed', (d) => [d.evidence, d.values]],
    ['values, where evidence is signed', (d) => [d.values, d.evidence]],
    ['the payload, where a reason is signed', (d) => [d.payload, d.reason]],
    ['a reason, where the payload is signed', (d) => [d.reason, d.payload]],
    ['a reason, where another reason is signed', (d) => [d.reason2, d.reason]],
    ['evidence, where that of another completion is signed', (d) => [d.evidence2, d.evidence]],
    [
      'evidence, by the seq of another completion',
      (d) => [{ ...d.evidence, seq: d.evidence2.seq }, d.evidence],
    ],
    ['evidence, with another name signed', (d) => [d.evidence, { ...d.evidence, subject: d.values.subject }]],
    ['evidence, with another digest signed', (d) => [d.evidence, { ...d.evidence, digest: d.values.digest }]],
    ['evidence, with another entry signed', (d) => [d.evidence, { ...d.evidence, seq: d.values.seq }]],
  ]
  for (const [what, cross] of crossed) {
    await t.test(`${what}: no document is removed`, async () => {
      const { id, documents } = await makeDigested(app)
      const of = (place: number) => documents[place]!
      const [row, signed] = cross({
        payload: of(0),
        evidence: of(1),
        values: of(2),
        reason: of(3),
        evidence2: of(4),
        reason2: of(6),
      })
      const before = await storedSeqs(app)
      const seq = await appendAsApi(
        app,
        signErasure(app, server, { row: genuine(id, row).row, signed: genuine(id, signed).signed }),
      )
      await eraser.run()
      const said = eraser.logged.filter((line) => line.seq === seq)
      assert.deepEqual(
        said.map(({ level, err }) => [level, err?.name]),
        [['error', 'ProofError']],
      )
      assert.deepEqual(await storedSeqs(app), before)
    })
  }
})

test('an export verifies after each erasure of a step’s document', async (t) => {
  const app = await lendGatedApp(t)
  const eraser = openEraser(t, app)
  const { documents } = await makeDigested(app)
  for (const { address } of documents.toSorted(() => Math.random() - 0.5)) {
    expectStatus(202, await eraseAt(app, address))
    await assertVerifies(app)
    await eraser.run()
    await assertVerifies(app)
  }
})

async function makeDigested(app: GatedApp): Promise<{ readonly id: string; readonly documents: Digested[] }> {
  const personal = await makePersonalGated(app)
  const documents: Digested[] = []
  for (const erasable of documentsOf(personal)) {
    const [line] = await app.entries(`?after=${erasable.seq - 1}&limit=1`)
    const [{ subject, digest }] = line.documents
    documents.push({ ...erasable, document: erasable.document as DocumentKind, subject, digest })
  }
  return { id: personal.id, documents }
}

/** Returns the erasure that the API's route would make: its row and its statement. */
function genuine(id: string, { document, seq, completion, subject, digest }: Digested): SaidErasure {
  const subjectId = completion === null ? parseId('rec', id) : parseId('cmp', completion)
  return { row: { document, subjectId, documentSeq: seq }, signed: { subject, digest, seq } }
}

async function linesOf(app: GatedApp, documents: readonly Digested[]): Promise<unknown[]> {
  const end = documents.at(-1)!.seq + 1
  return app.entries(`?limit=${end}`)
}

async function storedSeqs(app: GatedApp): Promise<number[]> {
  const rows = await app.sql<{ seq: string }>(
    `select first_seq as seq from tallystick.records where payload is not null
     union all select seq from tallystick.documents where content is not null order by seq`,
  )
  return rows.map(({ seq }) => Number(seq))
}
