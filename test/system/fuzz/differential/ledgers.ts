import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { toHex } from '../../../../src/proof/bytes.ts'
import { toBeSigned } from '../../../../src/proof/envelope/cose.ts'
import { makeEd25519Signer } from '../../../../src/signing/native.ts'
import { pushStatement, register, setPolicy } from '../../../helpers/chain-statements.ts'
import { array, bytes, encodeItem, int, map, tag, text } from '../../../helpers/mutate/cbor.ts'
import { makePeers } from '../../../helpers/peered-chains.ts'
import type { Issuer } from '../../../helpers/signed-statements.ts'
import {
  digestOf,
  makeChain,
  makeId,
  sha256,
  type TestChain,
  type TestSigner,
} from '../../../helpers/test-chain.ts'
import { makeGated } from '../../../helpers/test-gated.ts'

/*
 * Makes small honest ledgers with their own keys. Together the ledgers have every kind of entry. Cases change the
 * entries and sign them again. The ledgers are the same in each process, because keys are made from numbers and ids are
 * counted.
 */

export function seededSigner(seed: number): TestSigner {
  const signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(seed), 'plain')
  return { ...signer, kidHex: toHex(signer.kid) }
}

const PKCS8_ED25519 = '302e020100300506032b657004220420'

/**
 * Returns an issuer of statements. The key of an ES256 issuer differs from process to process. This does no harm,
 * because ES256 signatures differ each time anyway.
 */
export function seededIssuer(alg: Issuer['alg'], name: string): Issuer {
  const der = Buffer.concat([Buffer.from(PKCS8_ED25519, 'hex'), Buffer.alloc(32, name)])
  const privateKey =
    alg === 'EdDSA'
      ? createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const publicKey = createPublicKey(privateKey)
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
  const kid = Buffer.from(name)
  return {
    ...{ issuer: `https://${name}.example`, alg, kid, privateKey, publicKey },
    key: { kid: kid.toString('hex'), alg, spki },
  }
}

export function signAs(
  { alg, privateKey }: Issuer,
  protectedBytes: Uint8Array,
  payload: Uint8Array,
): Uint8Array {
  const message = toBeSigned(protectedBytes, payload)
  if (alg === 'EdDSA') return sign(null, message, privateKey)
  return sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
}

export function signedStatement(
  issuer: Issuer,
  subject: string,
  payload = Buffer.from('{"built":"copper"}'),
): Uint8Array {
  const header = encodeItem(
    map(
      [int(1), int(issuer.alg === 'EdDSA' ? -8 : -7)],
      [int(3), text('application/json')],
      [int(4), bytes(issuer.kid)],
      [int(15), map([int(1), text(issuer.issuer)], [int(2), text(subject)])],
    ),
  )
  return encodeItem(
    tag(18, array(bytes(header), map(), bytes(payload), bytes(signAs(issuer, header, payload)))),
  )
}

export type Base = {
  readonly name: string
  readonly chain: TestChain
  readonly signers: ReadonlyMap<string, TestSigner>
  readonly issuers: readonly Issuer[]
  /** An agent that signs for itself, and the kid of the agent's first key. */
  readonly pinned: readonly [agent: string, kid: string] | null
}

export type Bases = { readonly all: readonly Base[]; readonly pair: readonly [Base, Base] }

export const ORDER = { name: 'order', version: 1, payloadSchema: { type: 'object' } }
export const DEED = { name: 'deed', version: 1, agentSigned: true }

let made: Bases | null = null

export function makeBases(): Bases {
  made ??= build()
  return made
}

function build(): Bases {
  const agents = [seededSigner(10), seededSigner(11)] as const
  const next = seededSigner(12)
  const begin = (seed: number) =>
    makeChain({ signer: seededSigner(seed), noteSigner: seededSigner(seed + 1) })
  const base = (name: string, chain: TestChain, more: Partial<Base> = {}): Base => {
    const signers = [chain.firstSigner, ...chain.signers, ...agents, next]
    return {
      name,
      chain,
      issuers: [],
      pinned: null,
      ...more,
      signers: new Map(signers.map((one) => [one.kidHex, one])),
    }
  }

  const actors = begin(20)
  const [other, otherKey] = [makeId('agt'), makeId('key')]
  actors.registerAgent(other, 'other', actors.acting())
  actors.createKey(otherKey, other, {
    scopes: ['records:write'],
    expiresAt: '2099-01-01T00:00:00.000Z',
    by: actors.acting(),
  })
  actors.registerType('order/1', digestOf(ORDER))
  actors.rotateServerKey(next)
  const plain = actors.notarize({
    references: undefined,
    occurredAt: '2020-02-29T00:00:00.000Z',
    onBehalfOf: other,
  })
  actors.notarize({ traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` }, makeId('rec'), {
    ä: [1, 2.5, null, 'x\u2028'],
    b: {},
  })
  actors.revokeKey(otherKey, other, ['records:write'], '2099-01-01T00:00:00.000Z')
  actors.disableAgent(other, 'other')
  actors.erase(plain)

  const batches = begin(30)
  const parent = batches.notarize().documents[0]!.subject
  const batch = batches.notarizeBatch(3, {
    item: { parent, onBehalfOf: batches.agent },
    references: ['erp:order/1', 'x'],
  })
  batches.notarizeBatch(1)
  batches.erase(batch, 1)
  batches.restore()

  const gated = begin(40)
  const order = makeGated(gated, {
    deadline: '2099-01-01T00:00:00.000Z',
    tolerances: { quantity: { percent: '1' } },
  })
  order.activate()
  order.submit()
  order.verify('fail', { rules: [{ id: 'quantity', outcome: 'fail', code: 'too_few' }] })
  const verdict = order.judge('reject')
  order.overturn(verdict.leaf)
  const auto = makeGated(gated, { gate: 'auto' })
  auto.activate()
  auto.submit()
  auto.verify()
  auto.judge('accept', { ...gated.system(), key: undefined, by: 'auto' })

  const lives = begin(50)
  makeGated(lives).cancel()
  lives.pass(1_000)
  const late = makeGated(lives, { deadline: new Date(lives.nowMs() + 1_000).toISOString() })
  lives.pass(5_000)
  late.expire()
  const revised = makeGated(lives)
  revised.activate()
  revised.submit()
  revised.verify()
  revised.revise()

  const signing = begin(60)
  signing.registerType('deed/1', digestOf(DEED), { agentSigned: true })
  signing.registerSigningKey(agents[0])
  signing.notarize({}, makeId('rec'), { own: 1 }, agents[0])
  signing.registerSigningKey(agents[1], { required: true, endorsedBy: agents[0], own: undefined! })
  signing.notarize({}, makeId('rec'), { own: 2 }, agents[1])
  signing.notarizeBatch(2, { own: agents[1] })
  signing.notarize({ type: 'deed/1' }, makeId('rec'), { deed: 1 }, agents[1])
  const deed = makeGated(signing, { type: 'deed/1', typeDigest: digestOf(DEED) }, { own: agents[1] })
  deed.cancel({ own: agents[1] })
  signing.revokeSigningKey(agents[0])

  const registered = begin(70)
  const issuers = [seededIssuer('EdDSA', 'build'), seededIssuer('ES256', 'scan')]
  const policy = setPolicy(registered, issuers, { contentTypes: ['application/json', 'text/plain'] })
  for (const issuer of issuers) {
    const statement = pushStatement(registered, signedStatement(issuer, `pkg:generic/${issuer.alg}@1`))
    register(registered, policy, statement)
  }

  const keeping = begin(80)
  const say = (
    kind: 'retention-set' | 'hold-set' | 'hold-lifted' | 'subject-erased' | 'export-made',
    more: object,
  ) =>
    keeping.append({ kind, subjects: [keeping.aboutLedger()], predicate: { ...keeping.acting(), ...more } })
  const [first, second] = [keeping.notarize(), keeping.notarize()]
  const rule = say('retention-set', { days: 183, basis: 'ai_act_19', type: 'generic/1' })
  const hold = say('hold-set', { case: '2027/1', records: [second.documents[0]!.subject] })
  const { subject, digest } = first.documents[0]!
  keeping.append({
    kind: 'payload-erased',
    subjects: [{ name: subject, sha256: digest }],
    predicate: { ...keeping.system(), seq: first.seq, code: 'retention', rule: rule.seq },
  })
  Object.assign(first.documents[0]!, { salt: null, document: null, erasedBy: keeping.lines.length - 1 })
  say('hold-lifted', { case: '2027/1', seq: hold.seq })
  say('subject-erased', { code: 'gdpr', erased: [keeping.lines.length - 2], held: 0 })
  say('export-made', { of: { type: 'generic/1' }, from: 0, to: 5, documents: 'all' })

  const [home, guest] = [begin(90), begin(100)]
  const peers = makePeers({ of: { home, guest } })
  const shared = peers.create()
  for (const line of [home.lines.find(({ kind }) => kind === 'record-created')!]) peers.receive(guest, line)
  const offer = peers.offer(shared, 'record-activated')
  peers.receive(guest, peers.take(shared, offer))
  peers.receive(guest, peers.refuse(peers.offer(shared, 'completion-submitted')))
  peers.rotate(guest, home.rotateServerKey(seededSigner(13)))
  peers.receive(guest, peers.take(shared, peers.offer(shared, 'completion-submitted')))
  for (const line of [shared.verify(), shared.judge()]) peers.receive(guest, line)
  const later = makeGated(home)
  const created = later.last()
  for (const line of [peers.share(later), created, home.erase(created)]) peers.receive(guest, line)
  peers.change(guest, 'peer-suspended')
  peers.change(guest, 'peer-resumed')
  peers.receive(home, peers.change(guest, 'peer-revoked'))

  const pair = [base('home', home), base('guest', guest)] as const
  const pinned = [signing.agent, agents[0].kidHex] as const
  return {
    pair,
    all: [
      base('actors', actors),
      base('batches', batches),
      base('gated', gated),
      base('lives', lives),
      base('signing', signing, { pinned }),
      base('registered', registered, { issuers }),
      base('keeping', keeping),
      ...pair,
    ],
  }
}
