import { writeFileSync } from 'node:fs'
import { toBase64 } from '../../src/proof/bytes.ts'
import type { EntryKind } from '../../src/proof/statement/kinds.ts'
import { pushStatement, register, setPolicy } from './chain-statements.ts'
import { makePeers } from './peered-chains.ts'
import { PEERED } from './peered-vectors.ts'
import { makeIssuer, signStatement } from './signed-statements.ts'
import { bundleTexts, rangeOf, selectionOf, type TestBundle } from './test-bundle.ts'
import { makeChain, makeId, makeSigner, type TestChain } from './test-chain.ts'
import { makeGated } from './test-gated.ts'
import { receiptFileOf } from './test-proof.ts'

/*
 * Makes test/vectors/chains.json, which both verifiers read. Each export breaks one rule about the order of entries. A
 * few exports break several rules, and their code says which rule must be reported. `node tools/run.mjs
 * test/helpers/chain-vectors.ts` regenerates the file.
 */

/**
 * A test vector. `code`: the expected refusal; null if the export is valid. `compromised`: maps a kid to the time of
 * its compromise.
 */
export type ChainVector = {
  readonly name: string
  readonly code: string | null
  readonly lines: readonly string[]
  readonly compromised?: Readonly<Record<string, string>>
  /** What the verifier stored earlier: the statements of receipts in base64, and notes. */
  readonly receipts?: readonly string[]
  readonly checkpoints?: readonly string[]
}

type Build = (chain: TestChain) => void

const HASH = 'ab'.repeat(32)

/** Kinds of entries that only agents may make. Here the system is their actor, so they are invalid. */
const BY_SYSTEM: readonly (readonly [EntryKind, object])[] = [
  ['registration-policy-set', { issuers: [] }],
  ['retention-set', { days: 183, basis: 'ai_act_19' }],
  ['hold-set', { case: '2027/1' }],
  ['hold-lifted', { case: '2027/1', seq: 1 }],
  ['subject-erased', { code: 'gdpr', erased: [], held: 0 }],
  ['export-made', { of: {}, from: 0, to: 1, documents: 'all' }],
]

function judged(chain: TestChain, terms: object = {}) {
  const gated = makeGated(chain, terms)
  gated.activate()
  gated.submit()
  gated.verify()
  return gated
}

const ALONE: readonly (readonly [name: string, code: string | null, build: Build])[] = [
  ...BY_SYSTEM.map(
    ([kind, more]) =>
      [
        `${kind} by the system`,
        'statement_predicate',
        (chain: TestChain) =>
          chain.append({
            kind,
            subjects: [chain.aboutLedger()],
            predicate: { ...chain.system(), ...more },
          }),
      ] as const,
  ),
  [
    'an overturned verdict that does not name its completion',
    null,
    (chain) => {
      const gated = judged(chain)
      gated.overturn(gated.judge('reject').leaf, { completion: undefined })
    },
  ],
  [
    'an overturned verdict with other evidence',
    'subject_unknown',
    (chain) => {
      const gated = judged(chain)
      const other = { ...gated.completion(), sha256: HASH }
      gated.overturn(gated.judge('reject').leaf, { completion: undefined }, other)
    },
  ],
  [
    'a revision where the rules judge',
    'transition_refused',
    (chain) => judged(chain, { gate: 'auto' }).revise(),
  ],
  [
    'a step of a record that has ended, behind another entry',
    'transition_refused',
    (chain) => {
      const gated = makeGated(chain)
      gated.cancel()
      gated.activate({ previous: HASH })
    },
  ],
  [
    'a step of a record that was notarized',
    'transition_refused',
    (chain) => {
      const { leaf, documents } = chain.notarize()
      const { subject: record, digest } = documents[0]!
      makeGated(chain).activate({ record, subjects: [{ name: record, sha256: digest }], previous: leaf })
    },
  ],
  [
    'an erasure of a reason that no entry digests',
    'erasure_of_nothing',
    (chain) => {
      const gated = makeGated(chain)
      erase(chain, `${gated.record}/reason`, HASH, gated.last().seq)
    },
  ],
  [
    'an erasure of a reason, at another entry',
    'erasure_of_nothing',
    (chain) => {
      const gated = judged(chain)
      const { seq, documents } = gated.overturn(gated.judge('reject').leaf)
      erase(chain, documents[0]!.subject, documents[0]!.digest, seq - 1)
    },
  ],
  [
    'an erasure of a reason that is still there',
    null,
    (chain) => {
      const gated = judged(chain)
      const { seq, documents } = gated.overturn(gated.judge('reject').leaf)
      erase(chain, documents[0]!.subject, documents[0]!.digest, seq)
    },
  ],
  [
    'an unknown key and a content type that the policy does not take',
    'policy_refused',
    (chain) => {
      const [named, other] = [makeIssuer(), makeIssuer(undefined, 'EdDSA', 'k2')]
      const policy = setPolicy(chain, [named], { contentTypes: ['text/plain'] })
      register(chain, policy, pushStatement(chain, signStatement(other)))
    },
  ],
  [
    'a key that is there, with scopes that its maker has not',
    'duplicate_subject',
    (chain) => {
      const key = makeId('key')
      chain.createKey(key, chain.agent, { scopes: ['keys:manage'] })
      const by = { ...chain.acting(), key }
      chain.createKey(key, chain.agent, { scopes: ['records:write'], by })
    },
  ],
  [
    'references that are missing before a document that was changed',
    'document_digest',
    (chain) => {
      const [first, second] = chain.notarizeBatch(2, { references: ['erp:1'] }).documents
      delete first!.references
      second!.document = { i: 'changed' }
    },
  ],
  [
    'a key of another agent, for an agent that signs for itself',
    'key_of_another_agent',
    (chain) => {
      const [own, others, other] = [makeSigner(), makeSigner(), makeId('agt')]
      chain.registerAgent(other, 'other')
      chain.registerSigningKey(own)
      chain.registerSigningKey(others, { of: other, name: 'other', required: true })
      chain.notarize({ actor: makeId('agt'), onBehalfOf: other }, makeId('rec'), {}, own)
    },
  ],
  [
    'a type that is registered twice',
    'duplicate_subject',
    (chain) => {
      chain.registerType('copper/1')
      chain.registerType('copper/1')
    },
  ],
  [
    'a batch under the id of another',
    'duplicate_subject',
    (chain) => {
      const batch = makeId('bat')
      chain.notarizeBatch(1, { batch })
      chain.notarizeBatch(1, { batch })
    },
  ],
  [
    'an activation after the deadline',
    'time_out_of_order',
    (chain) => {
      const gated = makeGated(chain, { deadline: new Date(chain.nowMs() + 60_000).toISOString() })
      chain.pass(120_000)
      gated.activate()
    },
  ],
  [
    'an expiry before the deadline',
    'time_out_of_order',
    (chain) => void makeGated(chain, { deadline: new Date(chain.nowMs() + 600_000).toISOString() }).expire(),
  ],
  [
    'a cancellation by another agent than the principal',
    'actor_not_entitled',
    (chain) => {
      const [other, key] = [makeId('agt'), makeId('key')]
      chain.registerAgent(other, 'other')
      chain.createKey(key, other)
      makeGated(chain).cancel(chain.acting(other, key))
    },
  ],
  [
    'a verdict that is overturned as another than the last',
    'previous_mismatch',
    (chain) => {
      const gated = judged(chain)
      gated.judge('reject')
      gated.overturn(HASH)
    },
  ],
  [
    'a verdict by the rules, as they came out',
    null,
    (chain) =>
      void judged(chain, { gate: 'auto' }).judge('accept', { ...chain.system(), key: undefined, by: 'auto' }),
  ],
  [
    'a registered statement',
    null,
    (chain) => {
      const issuer = makeIssuer()
      const policy = setPolicy(chain, [issuer])
      register(chain, policy, pushStatement(chain, signStatement(issuer)))
    },
  ],
  [
    'an erasure by a rule of retention',
    null,
    (chain) => {
      const line = chain.notarize()
      const { seq } = keep(chain, 'retention-set', { days: 183, basis: 'law' })
      chain.sayErased(line, 0, { by: { ...chain.system(), key: undefined, rule: seq } })
    },
  ],
  [
    'an erasure of what is held',
    'erasure_held',
    (chain) => {
      const line = chain.notarize()
      keep(chain, 'hold-set', { case: '2027/1' })
      chain.sayErased(line)
    },
  ],
  [
    'a revocation of the only key of an agent that signs for itself, which the server signs',
    null,
    (chain) => {
      const own = makeSigner()
      chain.registerSigningKey(own, { required: true })
      chain.revokeSigningKey(own)
    },
  ],
]

function keep(chain: TestChain, kind: EntryKind, predicate: object) {
  return chain.append({
    kind,
    subjects: [chain.aboutLedger()],
    predicate: { ...chain.acting(), ...predicate },
  })
}

function erase(chain: TestChain, name: string, sha256: string, seq: number): void {
  chain.append({
    kind: 'payload-erased',
    subjects: [{ name, sha256 }],
    predicate: { ...chain.acting(), seq, code: 'data_subject_request' },
  })
}

/** Makes all vectors. Ids and keys differ each time. */
export function makeChainVectors(): ChainVector[] {
  const alone = ALONE.map(([name, code, build]) => {
    const chain = makeChain()
    build(chain)
    return { name, code, lines: chain.exportLines() }
  })
  const peered = PEERED.map(([name, code, side, build]) => {
    const peers = makePeers()
    build(peers)
    return { name, code, lines: peers[side].exportLines() }
  })
  return [...alone, ...peered, brokenBehindTheft(), signedByAnother(), receiptOfAnother(), keptOfAnother()]
}

export function makeBundleVectors(): ChainVector[] {
  return BUNDLES.map(([name, code, build]) => ({ name, code, lines: bundleTexts(build(makeChain())) }))
}

const BUNDLES: readonly (readonly [
  name: string,
  code: string | null,
  build: (chain: TestChain) => TestBundle,
])[] = [
  [
    'a hold by the system',
    'statement_predicate',
    (chain) => {
      const { seq } = chain.append({
        kind: 'hold-set',
        subjects: [chain.aboutLedger()],
        predicate: { ...chain.system(), case: '2027/1' },
      })
      return rangeOf(chain, { from: seq, to: seq })
    },
  ],
  [
    'a step of a record that was notarized',
    'transition_refused',
    (chain) => {
      const line = chain.notarize()
      const { subject: record, digest } = line.documents[0]!
      const subjects = [{ name: record, sha256: digest }]
      const step = makeGated(chain).activate({ record, subjects, previous: line.leaf })
      return selectionOf(chain, { record }, [{ line }, { line: step }])
    },
  ],
  [
    'a completion that is there twice',
    'duplicate_subject',
    (chain) => {
      const gated = makeGated(chain)
      const steps = [gated.last(), gated.activate(), gated.submit()]
      const [evidence] = steps.at(-1)!.documents
      steps.push(gated.verify('fail'), gated.revise(), gated.submit({}, { ...evidence! }))
      return selectionOf(
        chain,
        { record: gated.record },
        steps.map((line) => ({ line })),
      )
    },
  ],
]

/**
 * The first entry is signed by another key. A verifier must check the checkpoint before the rest of the first entry.
 */
function signedByAnother(): ChainVector {
  const chain = makeChain({ empty: true })
  const other = makeSigner()
  chain.append({
    kind: 'ledger-created',
    subjects: [chain.aboutLedger()],
    predicate: { ...chain.system(), definition: chain.definition },
    signer: other,
  })
  chain.signers.push(other)
  const lines = chain.exportLines(chain.checkpoint().replace('\nchain ', '\nchains '))
  return {
    name: 'a checkpoint that is none, and a first entry by another key',
    code: 'checkpoint_syntax',
    lines,
  }
}

/** The receipt belongs to another ledger. A verifier must check the receipt's ledger before its path. */
function receiptOfAnother(): ChainVector {
  const [chain, other] = [makeChain(), makeChain()]
  const receipts = [toBase64(receiptFileOf(other, other.lines[1]!, { path: [] }))]
  const lines = chain.exportLines()
  return {
    name: 'a receipt of another ledger, without its path',
    code: 'checkpoint_foreign',
    lines,
    receipts,
  }
}

/**
 * The stored checkpoint and the stored receipt belong to another history, signed with the same keys. A verifier must
 * check stored checkpoints before receipts.
 */
function keptOfAnother(): ChainVector {
  const chain = makeChain()
  const line = chain.notarize()
  const [receipts, checkpoints] = [[toBase64(receiptFileOf(chain, line))], [chain.checkpoint()]]
  chain.forget()
  chain.notarize()
  const name = 'a kept checkpoint and a kept receipt of another history'
  return { name, code: 'checkpoint_mismatch', lines: chain.exportLines(), receipts, checkpoints }
}

/** The chain is broken after a compromise. A verifier must check the chain before the time of the compromise. */
function brokenBehindTheft(): ChainVector {
  const chain = makeChain()
  chain.notarize().chain = HASH
  return {
    name: 'a broken chain under a key that was compromised by then',
    code: 'chain_broken',
    lines: chain.exportLines(),
    compromised: { [chain.firstSigner.kidHex]: chain.lines.at(-1)!.recordedAt },
  }
}

if (import.meta.main)
  writeFileSync(
    new URL('../vectors/chains.json', import.meta.url),
    `${JSON.stringify({ chains: makeChainVectors(), bundles: makeBundleVectors() }, null, 1)}\n`,
  )
