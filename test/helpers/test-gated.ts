import type { JsonValue } from '../../src/proof/json/json-value.ts'
import type { EntryKind, Subject } from '../../src/proof/statement/kinds.ts'
import {
  makeId,
  saltDocument,
  type TestChain,
  type TestDocument,
  type TestLine,
  type TestSigner,
} from './test-chain.ts'

type Changes = { readonly subjects?: Subject[]; readonly received?: string; readonly own?: TestSigner }

export function makeGated(
  chain: TestChain,
  terms: object = {},
  options: { principal?: object; record?: string; payload?: JsonValue; own?: TestSigner } = {},
) {
  const record = options.record ?? makeId('rec')
  const performer = makeId('agt')
  const performerKey = makeId('key')
  chain.registerAgent(performer, 'performer')
  chain.createKey(performerKey, performer)
  const payload = saltDocument(record, options.payload ?? { quantity: 100 })
  const about: Subject = { name: record, sha256: payload.digest }
  let evidence: TestDocument | null = null
  let version = 1
  let state = 'CREATED'
  let revisions = 0
  let performedBy: string | null = { performer, ...terms }.performer ?? null
  let last: TestLine = chain.append({
    kind: 'record-created',
    subjects: [about],
    predicate: {
      ...chain.acting(),
      ...options.principal,
      record,
      version: 1,
      to: 'CREATED',
      type: 'task/1',
      typeDigest: '22'.repeat(32),
      performer,
      gate: 'principal',
      maxRevisions: 1,
      ...terms,
    },
    documents: [payload],
    own: options.own,
  })

  function step(
    kind: EntryKind,
    to: string,
    predicate: object,
    subjects: Subject[] = [],
    documents: TestDocument[] = [],
  ) {
    const { subjects: changedSubjects, received, own, ...changed } = predicate as Changes
    last = chain.append({
      kind,
      received,
      subjects: changedSubjects ?? [about, ...subjects],
      predicate: { record, version: version + 1, previous: last.leaf, from: state, to, ...changed },
      documents,
      own,
    })
    version++
    state = to
    if (kind === 'revision-requested') revisions++
    performedBy ??= (changed as { actor?: string }).actor ?? null
    return last
  }
  const asPerformer = () => chain.acting(performer, performerKey)
  const completion = (): Subject => ({ name: evidence!.subject, sha256: evidence!.digest })
  const signal = (decision: string) => ({
    signal: { decision, code: 'ok', failingRules: [], validUntil: null },
  })
  const gated = {
    record,
    performer,
    performerKey,
    about,
    completion,
    asPerformer,
    last: () => last,
    version: () => version,
    state: () => state,
    performedBy: () => performedBy,
    revisions: () => revisions,
    activate: (changes: object = {}) => step('record-activated', 'ACTIVE', { ...asPerformer(), ...changes }),
    submit: (changes: object = {}, offered: TestDocument | null = null) => {
      evidence = offered ?? saltDocument(makeId('cmp'), { quantity: 100 })
      const predicate = { ...asPerformer(), completion: evidence.subject, ...changes }
      return step('completion-submitted', 'SUBMITTED', predicate, [completion()], [evidence])
    },
    verify: (outcome: 'pass' | 'fail' = 'pass', changes: object = {}) => {
      const values = saltDocument(`${evidence!.subject}/values`, [{ id: 'quantity' }])
      return step(
        'completion-verified',
        outcome === 'pass' ? 'VERIFIED' : 'DISCREPANT',
        { ...chain.system(), completion: evidence!.subject, outcome, rules: [], ...changes },
        [completion(), { name: values.subject, sha256: values.digest }],
        [values],
      )
    },
    judge: (verdict: 'accept' | 'reject' = 'accept', changes: object = {}) =>
      step(
        'verdict-rendered',
        verdict === 'accept' ? 'ACCEPTED' : 'REJECTED',
        {
          ...chain.acting(),
          completion: evidence!.subject,
          verdict,
          by: 'principal',
          ...signal(verdict === 'accept' ? 'SETTLE' : 'HOLD'),
          ...changes,
        },
        [completion()],
      ),
    overturn: (supersedes: string, changes: object = {}, judged: Subject = completion()) => {
      const reason = saltDocument(`${record}/reason`, { text: 'appeal' })
      return step(
        'verdict-overturned',
        'ACCEPTED',
        { ...chain.acting(), completion: evidence!.subject, supersedes, ...signal('RELEASE'), ...changes },
        [judged, { name: reason.subject, sha256: reason.digest }],
        [reason],
      )
    },
    revise: (changes: object = {}) =>
      step('revision-requested', 'ACTIVE', { ...chain.acting(), completion: evidence!.subject, ...changes }),
    cancel: (changes: object = {}) =>
      step('record-cancelled', 'CANCELLED', { ...chain.acting(), ...changes }),
    expire: (changes: object = {}) => step('record-expired', 'EXPIRED', { ...chain.system(), ...changes }),
  }
  return gated
}
