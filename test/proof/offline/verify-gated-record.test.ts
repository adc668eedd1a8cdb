import { test } from 'node:test'
import { parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../../src/proof/offline/verify-record.ts'
import {
  makeChain,
  makeId,
  providers,
  saltDocument,
  type TestChain,
  type TestLine,
} from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { proofOf, recordOf } from '../../helpers/test-proof.ts'
import { refuses } from '../refuses.ts'

const TRUST = { kids: [], noteKey: null, storedCheckpoints: [], consistency: null }
const DEADLINE = '2026-12-24T12:00:00.000Z'
const SIGNAL = { decision: 'SETTLE', code: 'ok', failingRules: [], validUntil: null }
const NO_DOCUMENT = { salt: null, digest: null, document: null }
const STEPS = ['completion', 'verification', 'verdict', 'overturn', 'revision', 'cancellation'] as const

function verify(record: object, chain: TestChain, line: TestLine): void {
  const proof = verifyProof(parseEntryProof(JSON.stringify(proofOf(chain, line))), TRUST, providers)
  verifyRecord(JSON.stringify(record), proof, providers)
}

function makeRecord(terms: object = {}) {
  const chain = makeChain()
  const gated = makeGated(chain, terms)
  const created = gated.last()
  const shownTerms = {
    principal: chain.agent,
    performer: gated.performer,
    gate: 'principal',
    deadline: null,
    maxRevisions: 1,
    revisions: 0,
    tolerances: null,
    ...terms,
  }
  const none = Object.fromEntries(STEPS.map((name) => [name, null]))
  /** Returns the record as the API shows it. `members` are added to the member `gated`. */
  const shown = (version: number, state: string, members: object = {}) => ({
    ...recordOf(chain, created),
    type: 'task/1',
    version,
    state,
    gated: { ...shownTerms, ...none, ...members },
  })
  const step = (line: TestLine, by: string, document: string, said: object = {}) => {
    const { seq, recordedAt } = line
    const { salt, digest, document: content } = line.documents.at(-1) ?? NO_DOCUMENT
    return { ...said, by, recordedAt, seq, [document]: content, salt, digest, erasedBy: null }
  }
  return { chain, gated, created, shown, step }
}

/** Takes a record to an overturned verdict. Returns each step with the record as the API showed it after the step. */
function takeAllSteps() {
  const { chain, gated, shown, step } = makeRecord({ performer: undefined })
  const { performer } = gated
  const activated = gated.activate()
  const submitted = gated.submit()
  const id = gated.completion().name
  const completion = step(submitted, performer, 'evidence', { id })
  const verified = gated.verify('fail')
  const said = { outcome: 'fail', rules: [] }
  const verification = step(verified, 'system', 'values', said)
  const judged = gated.judge('reject')
  const verdict = step(judged, chain.agent, 'reason', {
    verdict: 'reject',
    signal: { ...SIGNAL, decision: 'HOLD' },
  })
  const overturned = gated.overturn(judged.leaf)
  const overturn = step(overturned, chain.agent, 'reason', { signal: { ...SIGNAL, decision: 'RELEASE' } })
  const all = { performer, completion, verification, verdict, overturn }
  const records = {
    activated: shown(2, 'ACTIVE', { performer }),
    submitted: shown(3, 'SUBMITTED', { performer, completion }),
    verified: shown(4, 'DISCREPANT', { performer, completion, verification }),
    judged: shown(5, 'REJECTED', { performer, completion, verification, verdict }),
    overturned: shown(6, 'ACCEPTED', all),
  }
  return { chain, lines: { activated, submitted, verified, judged, overturned }, records, all, shown }
}

test('accepts the agreed terms of a gated record, and refuses any other', () => {
  const { chain, created, shown } = makeRecord({
    deadline: DEADLINE,
    tolerances: { quantity: { percent: '7' } },
  })
  verify(shown(1, 'CREATED'), chain, created)
  const changes = {
    principal: makeId('agt'),
    performer: makeId('agt'),
    gate: 'auto',
    deadline: '2027-12-24T12:00:00.000Z',
    maxRevisions: 2,
    tolerances: { quantity: { percent: '8' } },
  }
  for (const [name, value] of Object.entries(changes)) {
    const { [name]: _, ...without } = shown(1, 'CREATED').gated as Record<string, unknown>
    for (const gated of [{ ...without, [name]: value }, { ...without, [name]: null }, without])
      refuses('record_contradicts_proof', () => verify({ ...shown(1, 'CREATED'), gated }, chain, created))
  }
})

test('terms that were not agreed are null; a performer may appear after activation', () => {
  const { chain, created, shown } = makeRecord({ performer: undefined })
  verify(shown(1, 'CREATED', { performer: null }), chain, created)
  verify(shown(2, 'ACTIVE', { performer: makeId('agt') }), chain, created)
  for (const changed of [{ performer: makeId('agt') }, { deadline: DEADLINE }, { tolerances: {} }])
    refuses('record_contradicts_proof', () =>
      verify(shown(1, 'CREATED', { performer: null, ...changed }), chain, created),
    )
})

test('the principal is the agent on whose behalf the record was created', () => {
  const chain = makeChain()
  const onBehalfOf = makeId('agt')
  const { performer, last } = makeGated(chain, {}, { principal: { onBehalfOf } })
  const terms = { performer, gate: 'principal', deadline: null, maxRevisions: 1, tolerances: null }
  const record = { ...recordOf(chain, last()), type: 'task/1', state: 'CREATED', onBehalfOf }
  verify({ ...record, gated: { ...terms, principal: onBehalfOf } }, chain, last())
  refuses('record_contradicts_proof', () =>
    verify({ ...record, gated: { ...terms, principal: chain.agent } }, chain, last()),
  )
})

test('accepts the peers that the creation names, and peers that were added later', () => {
  const [ledger, agent] = [makeId('led'), makeId('agt')]
  const [first, second, third] = [makeId('peer'), makeId('peer'), makeId('peer')].sort()
  const whole = { peer: first!, documents: 'whole' }
  const digests = { peer: second!, documents: 'digests' }
  const performer = `${ledger}/${agent}`
  const { chain, created, shown } = makeRecord({ performer, share: [whole, digests] })
  const more = { peer: third!, documents: 'whole' }
  for (const share of [
    [whole, digests],
    [whole, digests, more],
  ])
    verify(shown(1, 'CREATED', { share }), chain, created)
  for (const share of [
    null,
    undefined,
    [],
    'all',
    [whole],
    [whole, more],
    [whole, { ...digests, documents: 'whole' }],
  ])
    refuses('record_contradicts_proof', () => verify(shown(1, 'CREATED', { share }), chain, created))
  for (const other of [agent, `${makeId('led')}/${agent}`])
    refuses('record_contradicts_proof', () =>
      verify(shown(1, 'CREATED', { share: [whole, digests], performer: other }), chain, created),
    )
  const later = makeRecord()
  verify(later.shown(1, 'CREATED', { share: [more] }), later.chain, later.created)
  verify(later.shown(1, 'CREATED', { share: null }), later.chain, later.created)
})

test('accepts a record as shown after each step, and after later steps', () => {
  const { chain, lines, records } = takeAllSteps()
  for (const name of Object.keys(lines) as (keyof typeof lines)[]) {
    verify(records[name], chain, lines[name])
    verify(records.overturned, chain, lines[name])
  }
})

test('refuses a record that changes or omits the proved step', () => {
  const { chain, lines, all, shown } = takeAllSteps()
  const refusesStep = (code: string, line: TestLine, member: keyof typeof all, changed: object | null) => {
    const step = changed && { ...(all[member] as object), ...changed }
    refuses(code as never, () => verify(shown(6, 'ACCEPTED', { ...all, [member]: step }), chain, line))
  }
  const ofStep = [
    [lines.submitted, 'completion', 'evidence', { id: makeId('cmp') }],
    [lines.verified, 'verification', 'values', { outcome: 'pass' }],
    [lines.verified, 'verification', 'values', { rules: [{ id: 'quantity', outcome: 'pass' }] }],
    [lines.judged, 'verdict', 'reason', { verdict: 'accept' }],
    [lines.judged, 'verdict', 'reason', { signal: SIGNAL }],
    [lines.overturned, 'overturn', 'reason', { signal: SIGNAL }],
  ] as const
  for (const [line, member, document, changed] of ofStep) {
    refusesStep('record_contradicts_proof', line, member, changed)
    for (const other of [
      { by: makeId('agt') },
      { recordedAt: DEADLINE },
      { seq: 1 },
      { digest: '00'.repeat(32) },
    ])
      refusesStep('record_contradicts_proof', line, member, other)
    refusesStep('record_contradicts_proof', line, member, null)
    if (member === 'verdict') continue
    refusesStep('document_digest', line, member, { [document]: { other: 1 } })
    refusesStep('record_contradicts_proof', line, member, { salt: null })
    refusesStep('document_presence', line, member, { [document]: null, salt: null })
  }
  const { verdict: _, ...without } = all
  refuses('record_contradicts_proof', () => verify(shown(6, 'ACCEPTED', without), chain, lines.judged))
  refusesStep('record_contradicts_proof', lines.judged, 'verdict', { reason: 'none was given' })
  refuses('record_contradicts_proof', () =>
    verify(shown(6, 'ACCEPTED', { ...all, performer: makeId('agt') }), chain, lines.activated),
  )
})

test('refuses a state that the entry did not lead to, and a record older than the entry', () => {
  const { chain, lines, records, all, shown } = takeAllSteps()
  const { submitted, overturned } = lines
  refuses('record_contradicts_proof', () => verify(shown(3, 'VERIFIED', all), chain, submitted))
  refuses('record_contradicts_proof', () => verify(records.activated, chain, submitted))
  refuses('record_contradicts_proof', () => verify({ ...records.submitted, version: '3' }, chain, submitted))
  // ACCEPTED is final. So a record with a later version and another state contradicts the chain.
  refuses('record_contradicts_proof', () => verify(shown(7, 'REJECTED', all), chain, overturned))
})

test('after a revision, an earlier completion is no proof of the shown completion', () => {
  const { chain, gated, shown, step } = makeRecord()
  gated.activate()
  const first = gated.submit()
  gated.verify()
  const revised = gated.revise()
  const second = gated.submit()
  const completion = step(second, gated.performer, 'evidence', { id: gated.completion().name })
  const record = shown(6, 'SUBMITTED', { completion, revision: step(revised, chain.agent, 'reason') })
  verify(record, chain, second)
  verify(record, chain, revised)
  refuses('record_contradicts_proof', () => verify(record, chain, first))
})

test('accepts a cancellation with its reason, and an expiry', () => {
  const { chain, gated, shown, step, created } = makeRecord({ deadline: '2026-11-20T12:00:05.000Z' })
  const about = created.documents[0]!
  const reason = saltDocument(`${gated.record}/reason`, 'withdrawn')
  const subjects = [about, reason].map(({ subject, digest }) => ({ name: subject, sha256: digest }))
  const cancelled = { ...gated.cancel({ subjects }), documents: [reason] }
  const cancellation = step(cancelled, chain.agent, 'reason')
  verify(shown(2, 'CANCELLED', { cancellation }), chain, cancelled)
  refuses('record_contradicts_proof', () => verify(shown(2, 'CANCELLED'), chain, cancelled))
  refuses('document_digest', () =>
    verify(shown(2, 'CANCELLED', { cancellation: { ...cancellation, reason: 'late' } }), chain, cancelled),
  )
  const other = makeRecord({ deadline: '2026-11-20T12:00:05.000Z' })
  const expired = other.gated.expire()
  verify(other.shown(2, 'EXPIRED'), other.chain, expired)
  refuses('record_contradicts_proof', () => verify(other.shown(2, 'ACTIVE'), other.chain, expired))
})

test('refuses gated terms on a notarized record, and a gated record without terms', () => {
  const { chain, created, shown } = makeRecord()
  for (const gated of [null, undefined, [], 'x'])
    refuses('record_contradicts_proof', () => verify({ ...shown(1, 'CREATED'), gated }, chain, created))
  const line = chain.notarize()
  verify({ ...recordOf(chain, line), gated: null }, chain, line)
  refuses('record_contradicts_proof', () => verify({ ...recordOf(chain, line), gated: {} }, chain, line))
})
