import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBundleHead } from '../../../src/proof/bundle/bundle-lines.ts'
import { toBase64 } from '../../../src/proof/bytes.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { END_LINE_BYTES_MAX } from '../../../src/proof/limits.ts'
import { bundleTexts, rangeOf, selectionOf, type TestBundle, verifyTexts } from '../../helpers/test-bundle.ts'
import { makeChain, makeId, makeSigner } from '../../helpers/test-chain.ts'
import { refuses } from '../refuses.ts'

const chain = makeChain()
const line = chain.notarize()
const batch = chain.notarizeBatch(2)
chain.notarize()
const RANGE = rangeOf(chain, { from: 3, to: 4 })
const RECORD = selectionOf(chain, { record: line.documents[0]!.subject }, [{ line }])
const ITEM = selectionOf(chain, { record: batch.documents[1]!.subject }, [{ line: batch, items: [1] }])

function refusesWith(code: ProofErrorCode, bundle: TestBundle, change: (copy: TestBundle) => unknown): void {
  const copy = structuredClone(bundle)
  change(copy)
  refuses(code, () => verifyTexts(bundleTexts(copy)))
}

test('unchanged lines verify', () => {
  for (const bundle of [RANGE, RECORD, ITEM]) verifyTexts(bundleTexts(bundle))
})

test('refuses a missing, malformed or extra member with bundle_syntax', () => {
  for (const bundle of [RANGE, RECORD, ITEM]) {
    for (const name of Object.keys(bundle.head)) {
      refusesWith('bundle_syntax', bundle, ({ head }) => delete head[name])
      refusesWith('bundle_syntax', bundle, ({ head }) => Object.assign(head, { [name]: 0 }))
    }
    refusesWith('bundle_syntax', bundle, ({ head }) => Object.assign(head, { more: 0 }))
    for (const i of bundle.lines.keys()) {
      for (const name of Object.keys(bundle.lines[i]!)) {
        const isNull = bundle.lines[i]![name as never] === null
        if (!isNull) refusesWith(...missing(name), bundle, ({ lines }) => delete lines[i]![name])
        refusesWith('bundle_syntax', bundle, ({ lines }) => Object.assign(lines[i]!, { [name]: false }))
      }
      refusesWith('bundle_syntax', bundle, ({ lines }) =>
        Object.assign(lines[i]!, { chain: '00'.repeat(32) }),
      )
      refusesWith('bundle_syntax', bundle, ({ lines }) => Object.assign(lines[i]!, { received: 0 }))
      refusesWith('bad_base64', bundle, ({ lines }) => Object.assign(lines[i]!, { received: '=' }))
    }
  }
})

/**
 * Returns the expected code for a line without the member `name`. null means the same as absent. A batch line without
 * `items` can be parsed, but it contradicts its statement.
 */
function missing(name: string): [ProofErrorCode] {
  return [name === 'items' ? 'batch_contradicts_statement' : 'bundle_syntax']
}

test('a member that is null may be absent, and one that is absent may be null', () => {
  for (const bundle of [RANGE, RECORD, ITEM]) {
    const texts = bundleTexts(bundle)
    const verified = verifyTexts(texts)
    const without = (text: string) => JSON.stringify(withoutNulls(JSON.parse(text)))
    assert.deepEqual(verifyTexts(texts.map(without)), verified)
    const more = bundle.lines.map((line) => ({ items: null, received: null, signer: null, ...line }))
    const head = { tool: null, ...bundle.head }
    assert.deepEqual(verifyTexts(bundleTexts({ ...bundle, head, lines: more } as TestBundle)), verified)
  }
  const filter = { from: 1, to: 2, type: 'generic/1', agent: null, trace: null }
  const head = { ...RECORD.head, of: { selection: filter }, completeness: 'selection' }
  const { selection } = parseBundleHead(JSON.stringify(head)).of as { selection: object }
  assert.deepEqual(selection, { from: 1, to: 2, type: 'generic/1' })
  const none = { ...head, of: { selection: { ...filter, type: null } } }
  refuses('bundle_syntax', () => parseBundleHead(JSON.stringify(none)))
})

/** Nulls in payloads stay, because payloads are signed. */
// biome-ignore lint/suspicious/noExplicitAny: any JSON
function withoutNulls(value: any): any {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === 'document' ? member : withoutNulls(member)]),
  )
}

test('refuses a signer on unsigned entries, or with another key: line_contradicts_envelope', () => {
  for (const bundle of [RANGE, RECORD, ITEM]) {
    const { alg, spki } = (bundle.head['keys'] as { alg: string; spki: string }[])[0]!
    for (const i of bundle.lines.keys()) {
      const isNeeded = bundle.lines[i]!['signer'] !== undefined
      if (!isNeeded)
        refusesWith('line_contradicts_envelope', bundle, ({ lines }) =>
          Object.assign(lines[i]!, { signer: { alg, spki } }),
        )
      const stranger = { alg: 'EdDSA', spki: toBase64(makeSigner().key.spki) }
      refusesWith('line_contradicts_envelope', bundle, ({ lines }) =>
        Object.assign(lines[i]!, { signer: stranger }),
      )
    }
  }
})

test('only lines outside the range have a path, otherwise bundle_syntax', () => {
  refusesWith('bundle_syntax', RANGE, ({ lines }) => Object.assign(lines[1]!, { path: [] }))
  refusesWith('bundle_syntax', RANGE, ({ lines }) => delete lines[0]!['path'])
  for (const text of ['null', '0', '[]', '"seq"'])
    refuses('bundle_syntax', () => verifyTexts([bundleTexts(RANGE)[0]!, text, '{"entries":1}']))
})

test('refuses a head whose `of` and completeness do not match', () => {
  const isOf = (of: object, completeness = 'selection') =>
    refusesWith('bundle_syntax', RECORD, ({ head }) => Object.assign(head, { of, completeness }))
  const record = makeId('rec')
  isOf({ record }, 'complete')
  isOf({ run: record }, 'complete')
  isOf({ record, run: record })
  isOf({ record: makeId('bat') })
  isOf({})
  isOf({ range: { from: 3, to: 4, left: [], right: [] } })
  isOf({ range: { from: 4, to: 3, left: [], right: [] } }, 'complete')
  isOf({ range: { from: -1, to: 3, left: [], right: [] } }, 'complete')
  isOf({ range: { from: 0, to: 3, left: [] } }, 'complete')
  isOf({ range: { from: 0, to: 3, left: ['00'], right: [] } }, 'complete')
  isOf({ range: { from: 0, to: 3, left: Array(55).fill('00'.repeat(32)), right: [] } }, 'complete')
})

test('texts that are not strict JSON are refused', () => {
  const [head, ...rest] = bundleTexts(RANGE)
  refuses('json_duplicate_member', () => verifyTexts([head!.replace('{', '{"bundle":1,'), ...rest]))
  const full = head! + ' '.repeat(END_LINE_BYTES_MAX - Buffer.byteLength(head!))
  verifyTexts([full, ...rest])
  refuses('bundle_syntax', () => verifyTexts([`${full} `, ...rest]))
  refuses('json_depth', () => verifyTexts([head!.replace('1', '[[[[[]]]]]'), ...rest]))
  refuses('json_syntax', () => verifyTexts([head!, rest[0]!.slice(1), ...rest.slice(1)]))
  assert.match(rest.at(-1)!, /^\{"entries":\d\}$/)
})
