import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromBase64Url, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { parseEntryLine } from '../../src/proof/entry/entry-line.ts'
import { type DocumentsShown, verifyEntry } from '../../src/proof/entry/verify-entry.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { documentDigest } from '../../src/proof/statement/document.ts'
import {
  digestWith,
  makeChain,
  makeId,
  providers,
  saltDocument,
  sha256,
  type TestChain,
} from '../helpers/test-chain.ts'
import { assertRefused, makeFindKey } from '../helpers/verify-chain.ts'

const REFERENCES = ['https://erp.example/orders/1', 'jira:OPS-7']

/** Appends a record. Its statement signs `references`, but its export line has no references. */
function notarize(chain: TestChain, references: JsonValue = REFERENCES) {
  const record = makeId('rec')
  const payload = saltDocument(record, { n: 1 })
  const digest = digestWith(payload.salt!, references)
  return chain.append({
    kind: 'record-notarized',
    subjects: [{ name: record, sha256: payload.digest }],
    predicate: { ...chain.acting(), record, version: 1, type: 'generic/1', references: digest },
    documents: [payload],
  })
}

function verify(chain: TestChain, line: object, shown: DocumentsShown = 'all') {
  return verifyEntry(parseEntryLine(JSON.stringify(line)), makeFindKey(chain), providers, shown)
}

test('reference lists have the digests of the vectors', () => {
  const file = new URL('../vectors/references.json', import.meta.url)
  const { vectors } = JSON.parse(readFileSync(file, 'utf8'))
  for (const { references, canonical, salt, digest } of vectors) {
    assert.equal(canonicalize(references), canonical)
    assert.equal(toHex(documentDigest(sha256, fromBase64Url(salt), utf8Encode(canonical))), digest)
  }
})

test('accepts references with the signed digest, and a line from before references existed', () => {
  const chain = makeChain()
  const line = notarize(chain)
  const [payload] = line.documents
  const shown = { ...line, documents: [{ ...payload, references: REFERENCES }] }
  assert.match(verify(chain, shown).statement.predicate['references'] as string, /^[0-9a-f]{64}$/)
  const old = chain.notarize()
  verify(chain, old)
  verify(chain, { ...old, documents: [{ ...old.documents[0], references: null }] })
})

test('accepts missing references if the payload is erased or withheld', () => {
  const chain = makeChain()
  const line = notarize(chain)
  const erased = { ...line.documents[0], salt: null, document: null, erasedBy: 9 }
  verify(chain, { ...line, documents: [erased] })
  verify(chain, { ...line, documents: [{ ...erased, references: null }] })
  verify(chain, { ...line, documents: [{ ...erased, erasedBy: null }] }, 'withheld')
  assertRefused(
    'document_presence',
    () => verify(chain, { ...line, documents: [{ ...erased, references: REFERENCES }] }),
    /not signed/,
  )
})

test('refuses missing, changed, reordered and unsigned references', () => {
  const chain = makeChain()
  const line = notarize(chain)
  const [payload] = line.documents
  const refused = (code: 'document_presence' | 'document_digest', references: unknown) =>
    assertRefused(
      code,
      () => verify(chain, { ...line, documents: [{ ...payload, references }] }),
      /references/,
    )
  refused('document_presence', undefined)
  refused('document_presence', null)
  refused('document_digest', ['jira:OPS-7'])
  refused('document_digest', [...REFERENCES].reverse())
  refused('document_digest', [...REFERENCES, 'jira:OPS-8'])
  const without = chain.notarize()
  assertRefused('document_presence', () =>
    verify(chain, { ...without, documents: [{ ...without.documents[0], references: REFERENCES }] }),
  )
})

test('refuses an empty list, a list of 17, and references that are not short texts', () => {
  const chain = makeChain()
  const line = notarize(chain)
  const [payload] = line.documents
  for (const references of [[], Array(17).fill('a'), [''], ['a'.repeat(1_025)], ['a\n'], [1], 'a', {}]) {
    assertRefused('line_syntax', () =>
      parseEntryLine(JSON.stringify({ ...line, documents: [{ ...payload, references }] })),
    )
  }
  assertRefused('statement_predicate', () => {
    const record = makeId('rec')
    const predicate = { ...chain.acting(), record, version: 1, type: 'generic/1', references: 'ab' }
    const document = saltDocument(record, {})
    const subjects = [{ name: record, sha256: document.digest }]
    verify(chain, chain.append({ kind: 'record-notarized', subjects, predicate, documents: [document] }))
  })
})

test('compares the references of each record of a batch with its own item', () => {
  const chain = makeChain()
  const line = chain.notarizeBatch(3, { references: REFERENCES })
  assert.match(verify(chain, line).items![2]!.references!, /^[0-9a-f]{64}$/)
  const refused = (code: 'document_presence' | 'document_digest', references: unknown) =>
    assertRefused(
      code,
      () =>
        verify(chain, {
          ...line,
          documents: line.documents.with(1, { ...line.documents[1]!, references } as never),
        }),
      new RegExp(`references of ${line.documents[1]!.subject} `),
    )
  refused('document_presence', undefined)
  refused('document_presence', null)
  refused('document_digest', [...REFERENCES].reverse())
  chain.erase(line, 1)
  verify(chain, line)
  refused('document_presence', REFERENCES)
  const without = chain.notarizeBatch(2)
  const added = without.documents.with(1, { ...without.documents[1]!, references: REFERENCES })
  assertRefused('document_presence', () => verify(chain, { ...without, documents: added }), /not signed/)
  // Each record of this batch signs a digest of the references that was made with the salt of another record.
  const [a, b] = line.items!
  const swapped = chain.notarizeBatch(2, { references: REFERENCES, item: { references: a!.references! } })
  assertRefused('document_digest', () => verify(chain, swapped), /references/)
  assert.notEqual(a!.references, b!.references)
})
