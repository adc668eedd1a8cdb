import { writeFileSync } from 'node:fs'
import { SCOPES } from '../../src/ledgers/scopes.ts'
import { toBase64 } from '../../src/proof/bytes.ts'
import { parseEntryLine } from '../../src/proof/entry/entry-line.ts'
import { verifyStep } from '../../src/proof/entry/verify-step.ts'
import { ProofError } from '../../src/proof/error.ts'
import type { JsonObject } from '../../src/proof/json/json-value.ts'
import type { KeyHint } from '../../src/proof/ledger/key-hint.ts'
import { LedgerVerifier } from '../../src/proof/ledger/verify-ledger.ts'
import { makeFindKey } from '../../src/proof/offline/key-hints.ts'
import { ENTRY_KINDS, type EntryKind, type Subject } from '../../src/proof/statement/kinds.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { BY_SYSTEM, KEY, OFFER, OFFERED, REC, SAMPLES, THERE } from '../proof/samples.ts'
import { pushStatement, register, setPolicy } from './chain-statements.ts'
import { makePeers, type PeeredChains } from './peered-chains.ts'
import { makeIssuer, signStatement } from './signed-statements.ts'
import { bundleTexts, rangeOf, selectionOf, type TestBundle, verifyTexts } from './test-bundle.ts'
import { digestOf, makeChain, makeId, makeSigner, saltDocument, type TestLine } from './test-chain.ts'

/*
 * Makes test/vectors/kinds.json: one valid statement of each kind, and copies of it with one change each. Both
 * verifiers read the file. So a wrong cell in one verifier's table of kinds fails its test. `node tools/run.mjs
 * test/helpers/kind-vectors.ts` regenerates the file.
 */

/** A sample statement with changes. `code`: the expected refusal; null if the statement is valid. */
export type StatementVector = {
  readonly about: string
  readonly code: string | null
  readonly kind: EntryKind
  readonly subjects?: readonly string[]
  readonly set?: JsonObject
  readonly without?: readonly string[]
}

type Statement = { readonly subject: readonly { readonly name: string }[]; readonly predicate: JsonObject }

export function textOf(samples: Readonly<Record<string, Statement>>, vector: StatementVector): string {
  const { kind, subjects, set = {}, without = [] } = vector
  const sample = samples[kind]!
  const members = Object.entries({ ...sample.predicate, ...set }).filter(([name]) => !without.includes(name))
  const subject = subjects?.map((name) => ({ name, digest: { sha256: HASH } })) ?? sample.subject
  return JSON.stringify({ ...sample, subject, predicate: Object.fromEntries(members) })
}

function samplesOf(): Record<string, Statement> {
  const samples = KINDS.map((kind): [string, Statement] => {
    const { subjects, predicate } = SAMPLES[kind]
    const named = subjects.map((name): Subject => ({ name, sha256: HASH }))
    return [kind, JSON.parse(buildStatement(kind, named, predicate)) as Statement]
  })
  return Object.fromEntries(samples)
}

/**
 * An entry that follows the entries of `KindVectors.begin`. `code`: the expected refusal; null if the entry is valid.
 */
export type LastVector = {
  readonly about: string
  readonly code: string | null
  readonly line: TestLine
  /** First line of the export, if the vector is about a first entry. */
  readonly head?: string
}

export type KindVectors = {
  readonly samples: Readonly<Record<string, Statement>>
  readonly statements: readonly StatementVector[]
  /** Bundles of a record together with an entry of each kind. */
  readonly bundles: readonly {
    readonly about: string
    readonly code: string | null
    readonly lines: readonly string[]
  }[]
  readonly first: readonly LastVector[]
  /** First line of an export, and the entries that precede each entry of `last`. */
  readonly begin: readonly string[]
  readonly last: readonly LastVector[]
}

const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[]
const HASH = 'ab'.repeat(32)
const P = 'statement_predicate'
/** A value that is invalid for any member. */
const WRONG = 0.5

const AGT = SAMPLES['agent-registered'].subjects[0]!
const CMP = SAMPLES['completion-submitted'].subjects[1]!
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** Values of optional members. A vector adds such a member to a sample statement that lacks the member. */
const OPTIONAL: Readonly<Record<string, JsonObject[string]>> = {
  onBehalfOf: AGT,
  traceparent: TRACEPARENT,
  occurredAt: '2026-11-20T11:00:00.000Z',
  parent: REC,
  references: HASH,
  share: [{ peer: OFFER.peer, documents: 'digests' }],
  completion: CMP,
  rule: 3,
  agentSigned: true,
}

type Change = { readonly subjects?: readonly string[]; readonly predicate?: object }

export function* statementVectors(): Generator<StatementVector> {
  for (const kind of KINDS) {
    const { subjects, predicate } = SAMPLES[kind]
    const vector = (about: string, code: string | null, change: Change = {}): StatementVector => {
      const members = Object.entries(change.predicate ?? {})
      const set = members.filter(([, value]) => value !== undefined)
      const without = members.filter(([, value]) => value === undefined).map(([name]) => name)
      return {
        about: `${kind}: ${about}`,
        code,
        kind,
        ...(change.subjects && { subjects: change.subjects }),
        ...(set.length > 0 && { set: Object.fromEntries(set) }),
        ...(without.length > 0 && { without }),
      }
    }
    yield vector('as it should be', null)
    for (const name of Object.keys(predicate)) {
      const isOptional = OPTIONAL_OF[kind]?.includes(name) === true
      yield vector(`without ${name}`, isOptional ? null : P, { predicate: { [name]: undefined } })
      yield vector(`with another ${name}`, P, { predicate: { [name]: WRONG } })
    }
    for (const [name, value] of Object.entries(OPTIONAL)) {
      if (Object.hasOwn(predicate, name)) continue
      const isTaken = !('key' in predicate) && name === 'onBehalfOf' ? false : TAKES[name]!(kind)
      yield vector(`with ${name}`, isTaken ? null : P, { predicate: { [name]: value } })
      yield vector(`with another ${name}`, P, { predicate: { [name]: WRONG } })
    }
    yield vector('with a member that no kind has', P, { predicate: { extra: AGT } })
    const isBySystem = predicate['actor'] === 'system'
    const other = isBySystem ? { actor: AGT, key: KEY } : { actor: 'system', key: undefined }
    yield vector(isBySystem ? 'by an agent' : 'by the system', BY_OTHER[kind] ?? null, { predicate: other })
    if (BY_OTHER[kind] === undefined) {
      const nobody = { actor: 'somebody', key: undefined, onBehalfOf: undefined }
      yield vector('by nobody that there is', P, { predicate: nobody })
      yield vector('by an agent, for nobody that there is', P, {
        predicate: { actor: AGT, key: KEY, onBehalfOf: WRONG },
      })
      yield vector('by an agent, with a key that is none', P, { predicate: { actor: AGT, key: WRONG } })
    }
    const isOffered = kind === 'record-activated' || kind === 'completion-submitted'
    yield vector('by a remote agent', isOffered ? null : P, { predicate: { ...OFFERED, key: undefined } })
    yield vector('with one subject more', 'statement_subject', { subjects: [...subjects, REC, REC] })
    for (const [i] of subjects.entries()) {
      const changed = subjects.with(i, `whk_${REC.slice(4)}`)
      yield vector(`with another subject ${i}`, 'statement_subject', { subjects: changed })
    }
    const least = LEAST[kind] ?? subjects.length
    if (least > 1)
      yield vector('with a subject less', 'statement_subject', { subjects: subjects.slice(0, least - 1) })
    for (const [about, code, change] of CONTRADICTIONS[kind] ?? []) yield vector(about, code, change)
    for (const receiver of ['entry-received', 'offer-refused', 'peer-key-rotated'] as const) {
      const [record, version] = RECORD_OF[kind] ?? [null, null]
      const received = { ...(SAMPLES[receiver].predicate['received'] as JsonObject), kind, record, version }
      const code = RECEIVER[kind] === receiver ? null : P
      yield { about: `${receiver} of ${kind}`, code, kind: receiver, set: { received } }
    }
  }
}

/*
 * Rules of docs/formats/statements.md. They are written by hand, because the vectors of this file test the table of
 * kinds.
 */

const MOVES = (kind: string) =>
  /^(record-(notarized|created|activated|cancelled|expired)|completion-|verdict-|revision-)/.test(kind)
const MAKES = (kind: string) => kind === 'record-notarized' || kind === 'record-created'
const COMPLETES: readonly string[] = ['record-cancelled', 'verdict-overturned']

const TAKES: Readonly<Record<string, (kind: string) => boolean>> = {
  onBehalfOf: () => true,
  traceparent: () => true,
  occurredAt: MOVES,
  parent: MAKES,
  references: MAKES,
  share: (kind) => kind === 'record-created',
  completion: (kind) => COMPLETES.includes(kind),
  rule: (kind) => kind === 'payload-erased',
  agentSigned: (kind) => kind === 'type-registered',
}

const OPTIONAL_OF: { readonly [Kind in EntryKind]?: readonly string[] } = {
  'record-notarized': ['parent'],
  'record-created': ['performer', 'deadline', 'tolerances'],
  'agent-key-registered': ['endorsement'],
  'registration-policy-set': ['contentTypes'],
  'retention-set': ['type', 'agent'],
  'hold-set': ['type', 'agent', 'records'],
}

/**
 * Maps a kind of entry to the expected code if its author is of the wrong sort (the system instead of an agent, or an
 * agent instead of the system). Contains only kinds whose members reveal the wrong author.
 */
const BY_OTHER: { readonly [Kind in EntryKind]?: string } = {
  'ledger-created': P,
  'agent-key-registered': P,
  'agent-key-revoked': P,
  'peer-added': P,
  'peer-suspended': P,
  'peer-resumed': P,
  'peer-revoked': P,
  'peer-key-rotated': P,
  'record-shared': P,
  'entry-received': P,
  'step-offered': P,
  'offer-refused': P,
  'registration-policy-set': P,
  'statement-registered': P,
  'retention-set': P,
  'hold-set': P,
  'hold-lifted': P,
  'subject-erased': P,
  'export-made': P,
}

const LEAST: { readonly [Kind in EntryKind]?: number } = { 'verdict-rendered': 2, 'revision-requested': 1 }

const GATED = [
  'record-created',
  'record-activated',
  'completion-submitted',
  'completion-verified',
  'verdict-rendered',
  'verdict-overturned',
  'revision-requested',
  'record-cancelled',
  'record-expired',
] as const

/** Maps each kind to the kind of the entry with which another ledger receives it. */
const RECEIVER: { readonly [Kind in EntryKind]?: string } = {
  ...Object.fromEntries(GATED.map((kind) => [kind, 'entry-received'])),
  'payload-erased': 'entry-received',
  'peer-added': 'entry-received',
  'peer-revoked': 'entry-received',
  'record-shared': 'entry-received',
  'offer-refused': 'entry-received',
  'step-offered': 'offer-refused',
  'server-key-rotated': 'peer-key-rotated',
}

const RECORD_OF: { readonly [Kind in EntryKind]?: readonly [string, number | null] } = {
  ...Object.fromEntries(GATED.map((kind) => [kind, [REC, 2] as const])),
  'record-notarized': [REC, 1],
  'record-shared': [REC, null],
  'step-offered': [REC, null],
  'offer-refused': [REC, null],
}

const OTHER_REC = REC.replace('1', '2')
const CONTRADICTIONS: {
  readonly [Kind in EntryKind]?: readonly (readonly [about: string, code: string, Change])[]
} = {
  'ledger-created': [
    [
      'with the origin of another ledger',
      P,
      {
        predicate: {
          definition: {
            ...(SAMPLES['ledger-created'].predicate['definition'] as JsonObject),
            origin: `ledger.example/${THERE}`,
          },
        },
      },
    ],
    ['of another ledger', 'statement_subject', { subjects: [THERE] }],
  ],
  'verdict-rendered': [
    ['with the decision of a rejection', P, { predicate: { verdict: 'reject' } }],
    ['with a list of a verdict', P, { predicate: { verdict: ['accept'] } }],
    ['with a signal that is a decision alone', P, { predicate: { signal: { decision: 'SETTLE' } } }],
  ],
  'record-created': [
    [
      'performed by a remote agent of its own ledger',
      P,
      { predicate: { performer: `${BY_SYSTEM.ledger}/${AGT}` } },
    ],
    ['performed by a remote agent, and not shared', P, { predicate: { performer: `${THERE}/${AGT}` } }],
  ],
  'record-activated': [
    ['by an agent, with an offer', P, { predicate: { offer: OFFER } }],
    [
      'by an offer of another ledger than the actor',
      P,
      { predicate: { ...OFFERED, key: undefined, offer: { ...OFFER, ledger: BY_SYSTEM.ledger } } },
    ],
    ['of another record', 'statement_subject', { subjects: [OTHER_REC] }],
  ],
  'completion-submitted': [
    ['by an agent, with an offer', P, { predicate: { offer: OFFER } }],
    ['of another completion', 'statement_subject', { subjects: [REC, CMP.replace('1', '2')] }],
  ],
  'step-offered': [
    ['of an activation, with a completion', 'statement_subject', { predicate: { step: 'record-activated' } }],
  ],
  'peer-added': [
    ['of two others', P, { predicate: { ledger: THERE.replace('2', '3') } }],
    ['with an inviter that is a ledger alone', P, { predicate: { inviter: { ledger: BY_SYSTEM.ledger } } }],
    [
      'of the invited, with a counterpart that is no leaf',
      P,
      { predicate: { ledger: THERE, counterpart: WRONG } },
    ],
  ],
  'offer-refused': [['of another record', P, { predicate: { record: OTHER_REC } }]],
  'batch-notarized': [
    ['of another batch', 'statement_subject', { predicate: { batch: `bat_${OTHER_REC.slice(4)}` } }],
  ],
  'agent-disabled': [
    ['of another agent', 'statement_subject', { predicate: { agent: `agt_${OTHER_REC.slice(4)}` } }],
  ],
}

/**
 * Kinds whose entry can directly follow the first entries of a new ledger. So nothing but the check of its author can
 * refuse such an entry.
 */
const ALONE = KINDS.filter(
  (kind) =>
    ![
      'ledger-created',
      'statement-registered',
      ...Object.keys(SAMPLES).filter((one) => isReceiving(one)),
    ].includes(kind),
)

function isReceiving(kind: string): boolean {
  return Object.hasOwn(SAMPLES[kind as EntryKind].predicate, 'received') || kind === 'peer-added'
}

/**
 * Makes all vectors. `codeOf`: returns the code with which a verifier refuses a ledger of these lines. This is the
 * expected code of each vector for which this file names no other.
 */
export function makeKindVectors(codeOf: (lines: readonly string[]) => string | null): KindVectors {
  const chain = makeChain({ empty: true })
  chain.create()
  chain.registerAgent(chain.agent)
  const keyOf = (scopes: readonly string[]) => {
    const key = makeId('key')
    chain.createKey(key, chain.agent, { scopes: scopes.toSorted() })
    return key
  }
  const all = keyOf(SCOPES)
  const scoped = new Map(
    SCOPES.map((scope) => [
      scope as string,
      { only: keyOf([scope]), not: keyOf(SCOPES.filter((one) => one !== scope)) },
    ]),
  )
  const own = makeSigner()
  chain.registerSigningKey(own, { by: { key: all } })
  const begin = chain.exportLines(null).slice(0, -1)
  const last: LastVector[] = []
  const first = firstVectors(codeOf)
  const add = (about: string, append: () => unknown, code?: string) => {
    append()
    const line = chain.lines.at(-1)!
    const found = codeOf([...begin, JSON.stringify(line)])
    if (code !== undefined && found !== code) throw new Error(`${about} is ${found}, not ${code}`)
    last.push({ about, code: found, line })
    chain.forget()
  }
  const entry =
    (kind: EntryKind, by: object, signer?: typeof own, change: object = {}) =>
    () =>
      appendSample(chain, kind, by, signer, change)
  for (const kind of ALONE) {
    const { scope } = ENTRY_KINDS[kind]
    const byKey = (key: string) => ({ ...chain.acting(), key })
    const refused = 'actor_not_entitled'
    if (scope !== null) {
      const { only, not } = scoped.get(scope)!
      add(`${kind}, by a key with ${scope} alone`, entry(kind, byKey(only)))
      add(`${kind}, by a key with all but ${scope}`, entry(kind, byKey(not)), refused)
    } else add(`${kind}, by a key`, entry(kind, byKey(all)), refused)
    // The system may erase only by a retention rule.
    const byRule = kind === 'payload-erased' && { rule: 3 }
    add(`${kind}, by the system`, entry(kind, { ...chain.system(), key: undefined, ...byRule }))
    add(`${kind}, signed by the agent`, entry(kind, byKey(all), own))
    if (ENTRY_KINDS[kind].defines)
      add(
        `${kind}, of another definition`,
        entry(kind, byKey(all), undefined, { sha256: HASH }),
        'definition_mismatch',
      )
    if (ENTRY_KINDS[kind].gives?.some(({ at }) => at === 'newKey')) {
      const { spki } = chain.keys()[0]!
      add(
        `${kind}, of a key under another kid`,
        entry(kind, byKey(all), undefined, { newKey: { kid: HASH, alg: 'EdDSA', spki } }),
        'kid_mismatch',
      )
    }
    if (ENTRY_KINDS[kind].documents)
      add(
        `${kind}, without its document`,
        () => {
          entry(kind, byKey(all))()
          chain.lines.at(-1)!.documents.pop()
        },
        kind === 'batch-notarized' ? undefined : 'document_presence',
      )
  }
  for (const [about, code, change] of HANDSHAKES)
    add(`peer-added, ${about}`, () => addPeer(chain, change), code)
  return {
    samples: samplesOf(),
    statements: [...statementVectors()],
    first,
    begin,
    last,
    bundles: bundleVectors(),
  }
}

export function codeOfBundle(lines: readonly string[]): string | null {
  try {
    verifyTexts(lines)
    return null
  } catch (error) {
    if (error instanceof ProofError) return error.code
    throw error
  }
}

function bundleVectors(): KindVectors['bundles'] {
  const alone = ALONE.filter((kind) => kind !== 'batch-notarized').map((kind) => {
    const chain = makeChain()
    const line = chain.notarize()
    const record = line.documents[0]!.subject
    appendSample(
      chain,
      kind,
      { ...chain.acting(), ...(ENTRY_KINDS[kind].scope === null && { ...chain.system(), key: undefined }) },
      undefined,
      {},
    )
    const lines = bundleTexts(selectionOf(chain, { record }, besides(chain, line)))
    return { about: `${kind}, beside a record`, code: codeOfBundle(lines), lines }
  })
  const others = TRAVELS.map(([about, code, build]) => {
    const lines = bundleTexts(build())
    const found = codeOfBundle(lines)
    if (found !== code) throw new Error(`${about} is ${found}, not ${code}`)
    return { about, code, lines }
  })
  return [...alone, ...others]
}

/**
 * Kinds of entries about a peering, each with a function that appends such an entry. A bundle of a record must not
 * contain an entry about a peering that has nothing to do with the record.
 */
const ABOUT_PEERS: readonly (readonly [EntryKind, (peers: PeeredChains) => TestLine])[] = [
  ['peer-added', ({ guest }) => guest.lines.find(({ kind }) => kind === 'peer-added')!],
  ['peer-key-rotated', (peers) => peers.rotate(peers.guest, peers.home.rotateServerKey(makeSigner()))],
  ['entry-received', (peers) => peers.receive(peers.guest, peers.create().last())],
  [
    'offer-refused',
    (peers) => {
      const gated = peers.create()
      peers.receive(peers.guest, gated.last())
      return peers.refuse(peers.offer(gated, 'record-activated'))
    },
  ],
]

const UNRELATED = 'entry_unrelated'

/** Bundles with several entries. `code`: the expected refusal; null if the entries may be in one bundle. */
const TRAVELS: readonly (readonly [about: string, code: string | null, build: () => TestBundle])[] = [
  ...ABOUT_PEERS.map(
    ([kind, append]) =>
      [
        `${kind}, beside a record`,
        UNRELATED,
        () => {
          const peers = makePeers()
          const chain = kind === 'offer-refused' ? peers.home : peers.guest
          const record = chain.notarize()
          const line = append(peers)
          return selectionOf(chain, { record: record.documents[0]!.subject }, [{ line: record }, { line }])
        },
      ] as const,
  ),
  [
    'payload-erased, beside the record that lacks its payload',
    null,
    () => {
      const chain = makeChain()
      const line = chain.notarize()
      const erasure = chain.erase(line)
      return selectionOf(chain, { record: line.documents[0]!.subject }, [{ line }, { line: erasure }])
    },
  ],
  [
    'registration-policy-set, beside a range with a statement that it takes',
    null,
    () => {
      const { chain, policy, statement, registered } = registeredStatement()
      return rangeOf(chain, { from: statement.seq, to: registered.seq }, { beside: [policy] })
    },
  ],
  [
    'statement-registered, beside a range that ends with its statement',
    UNRELATED,
    () => {
      const { chain, statement, registered } = registeredStatement()
      return rangeOf(chain, { from: statement.seq, to: statement.seq }, { beside: [registered] })
    },
  ],
]

function registeredStatement() {
  const chain = makeChain()
  const issuer = makeIssuer()
  const policy = setPolicy(chain, [issuer])
  const statement = pushStatement(chain, signStatement(issuer))
  return { chain, policy, statement, registered: register(chain, policy, statement) }
}

/**
 * Returns the items that a test adds to a bundle: the given line, and the chain's last line. A rotation as last line is
 * left out, because every bundle contains the rotations already.
 */
function besides(chain: ReturnType<typeof makeChain>, line: TestLine) {
  const last = chain.lines.at(-1)!
  return last.kind === 'server-key-rotated' ? [{ line }] : [{ line }, { line: last }]
}

type Handshake = { readonly digest?: string; readonly kid?: 'inviter' | 'invited' }

const HANDSHAKES: readonly (readonly [about: string, code: string | undefined, Handshake])[] = [
  ['as it should be', undefined, {}],
  ['of another handshake', 'definition_mismatch', { digest: HASH }],
  ['with a key of the inviter under another kid', 'kid_mismatch', { kid: 'inviter' }],
  ['with a key of the invited under another kid', 'kid_mismatch', { kid: 'invited' }],
]

function addPeer(chain: ReturnType<typeof makeChain>, { digest, kid }: Handshake): void {
  const peer = SAMPLES['peer-added'].subjects[0]!
  const identityOf = (side: 'inviter' | 'invited', ledger: string, key: JsonObject): JsonObject => ({
    ...(SAMPLES['peer-added'].predicate[side] as JsonObject),
    ledger,
    origin: `ledger.example/${ledger}`,
    genesis: chain.lines[0]!.leaf,
    envelopeKey: { ...key, ...(kid === side && { kid: HASH }) },
  })
  const other = makeSigner()
  const otherKey = { kid: other.kidHex, alg: 'EdDSA', spki: toBase64(other.key.spki) }
  const inviter = identityOf('inviter', chain.ledger, chain.definition.envelopeKey)
  const invited = identityOf('invited', THERE, otherKey)
  const handshake = { tokenHash: HASH, inviter, invited }
  const sha256 = digest ?? digestOf({ peer, ...handshake })
  chain.append({
    kind: 'peer-added',
    subjects: [{ name: peer, sha256 }],
    predicate: { ...chain.system(), ...handshake },
  })
}

/** Makes vectors of first entries whose definition does not match its digest, or whose key does not match its kid. */
function firstVectors(codeOf: (lines: readonly string[]) => string | null): LastVector[] {
  const changes = [
    ['as it should be', undefined, undefined],
    ['with another digest', HASH, undefined],
    ['with a key under another kid', undefined, HASH],
  ] as const
  return changes.map(([about, sha256, kid]) => {
    const chain = makeChain({ empty: true })
    const { envelopeKey } = chain.definition
    const definition = { ...chain.definition, envelopeKey: { ...envelopeKey, kid: kid ?? envelopeKey.kid } }
    const subjects = [{ name: chain.ledger, sha256: sha256 ?? digestOf(definition) }]
    chain.append({ kind: 'ledger-created', subjects, predicate: { ...chain.system(), definition } })
    const [line] = chain.lines
    const keys = chain.exportLines(null)[0]!
    return {
      about: `ledger-created, ${about}`,
      code: codeOf([keys, JSON.stringify(line)]),
      line: line!,
      head: keys,
    }
  })
}

function withReason(kind: EntryKind): readonly string[] {
  const { subjects } = SAMPLES[kind]
  const isLacking = ENTRY_KINDS[kind].subjects.length > subjects.length
  return isLacking ? [...subjects, `${subjects[0]}/reason`] : subjects
}

function appendSample(
  chain: ReturnType<typeof makeChain>,
  kind: EntryKind,
  by: object,
  own: ReturnType<typeof makeSigner> | undefined,
  change: { sha256?: string; newKey?: object },
): void {
  const { predicate } = SAMPLES[kind]
  const subjects = withReason(kind)
  const members: Record<string, JsonObject[string]> = {
    ...predicate,
    key: undefined as never,
    ...by,
    ...(kind.startsWith('verdict') && { onBehalfOf: undefined as never }),
  }
  if (Object.hasOwn(members, 'newKey')) {
    const key = makeSigner()
    members['newKey'] = (change.newKey as JsonObject) ?? {
      kid: key.kidHex,
      alg: 'EdDSA',
      spki: toBase64(key.key.spki),
    }
  }
  if (kind === 'batch-notarized') {
    chain.notarizeBatch(2, { predicate: by, ...(own && { own }) })
    return
  }
  const { defines, documents = [] } = ENTRY_KINDS[kind]
  const lines = subjects
    .filter((_, i) => documents.length > 0 && isDocument(ENTRY_KINDS[kind].subjects[i]!, documents))
    .map((name) => saltDocument(name, { of: kind }))
  const digestOfSubject = (name: string, i: number): string => {
    if (i === 0 && name === predicate['ledger']) return chain.aboutLedger().sha256
    if (i === 0 && defines && 'members' in defines) {
      const defined = Object.fromEntries(defines.members.map((member) => [member, members[member]!]))
      return (
        change.sha256 ??
        digestOf(defines.named === undefined ? defined : { [defines.named]: name, ...defined })
      )
    }
    return lines.find(({ subject }) => subject === name)?.digest ?? HASH
  }
  chain.append({
    kind,
    subjects: subjects.map((name, i) => ({
      name: i === 0 && name === predicate['ledger'] ? chain.ledger : name,
      sha256: digestOfSubject(name, i),
    })),
    predicate: members,
    documents: lines,
    own,
  })
}

function isDocument(rule: string, documents: readonly string[]): boolean {
  const document = {
    rec: 'payload',
    cmp: 'evidence',
    'cmp?': 'evidence',
    values: 'values',
    'reason?': 'reason',
  }[rule]
  return document !== undefined && documents.includes(document)
}

/**
 * Returns the code with which a ledger of these lines, without a checkpoint, is refused. Returns null if the ledger is
 * valid.
 */
export function codeOfLines([first, ...lines]: readonly string[]): string | null {
  const { keys } = JSON.parse(first!) as { keys: readonly KeyHint[] }
  const findKey = makeFindKey(keys, nativeProviders)
  const verifier = new LedgerVerifier(nativeProviders)
  try {
    for (const line of lines)
      verifier.append(verifyStep(parseEntryLine(line), findKey, nativeProviders, 'all'))
    verifier.finish()
    return null
  } catch (error) {
    if (error instanceof ProofError) return error.code
    throw error
  }
}

function fileOf({ samples, begin, statements, first, last, bundles }: KindVectors): string {
  const list = (rows: readonly unknown[]) => `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]`
  const head = `{"samples": ${JSON.stringify(samples)},\n"begin": ${list(begin)},\n`
  return `${head}"statements": ${list(statements)},\n"first": ${list(first)},\n"last": ${list(last)},\n"bundles": ${list(bundles)}\n}\n`
}

if (import.meta.main) {
  const file = new URL('../vectors/kinds.json', import.meta.url)
  writeFileSync(file, fileOf(makeKindVectors(codeOfLines)))
}
