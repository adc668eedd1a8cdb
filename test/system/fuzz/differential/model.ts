import { fromBase64, toBase64, toHex } from '../../../../src/proof/bytes.ts'
import { toBeSigned } from '../../../../src/proof/envelope/cose.ts'
import { parseIdBytes } from '../../../../src/proof/ids.ts'
import { canonicalize } from '../../../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../../../src/proof/json/json-value.ts'
import { genesis, link } from '../../../../src/proof/tree/chain.ts'
import { leafHash, merkleRoot } from '../../../../src/proof/tree/merkle.ts'
import {
  array,
  bytes,
  changeItem,
  copyItem,
  decodeItem,
  encodeItem,
  type Item,
  int,
  map,
  memberOf,
  tag,
  text,
} from '../../../helpers/mutate/cbor.ts'
import {
  changeTree,
  copyTree,
  type Pool,
  poolOf,
  setAt,
  type Tree,
  textOf,
  treeOf,
  valueAt,
} from '../../../helpers/mutate/json.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import { encodeAny } from '../../../helpers/mutate/text.ts'
import { digestOf, digestWith, sha256 } from '../../../helpers/test-chain.ts'
import { type Base, makeBases, signAs } from './ledgers.ts'

/*
 * A ledger before it is signed. A case first changes the ledger's statements, and then signs and chains them. So even
 * wrong statements have valid signatures.
 */

export type Entry = {
  readonly kind: string
  readonly recordedAt: string
  head: Item
  unprotected: Item
  payload: Tree | Uint8Array
  sign: (protectedBytes: Uint8Array, payload: Uint8Array) => Uint8Array
  /** Members of the entry's line that do not repeat the envelope. */
  line: Tree
  /** The envelope; null if the entry was changed. Then the envelope must be made again. */
  envelope: Uint8Array | null
  hashed: { readonly of: Uint8Array; readonly leaf: Uint8Array; readonly base64: string } | null
}

export type Model = { readonly base: Base; readonly entries: Entry[] }

const parsed = new Map<Base, readonly Entry[]>()

/**
 * Returns a model with the entries of the base. The entries are shared, so they must be copied before they are
 * changed.
 */
export function modelOf(base: Base): Model {
  const known = parsed.get(base) ?? base.chain.lines.map((line) => parseLine(base, line))
  parsed.set(base, known)
  return { base, entries: [...known] }
}

export const copyEntry = (entry: Entry): Entry => ({
  ...entry,
  head: copyItem(entry.head),
  unprotected: copyItem(entry.unprotected),
  payload: entry.payload instanceof Uint8Array ? entry.payload : copyTree(entry.payload),
  line: copyTree(entry.line),
})

function parseLine(base: Base, line: Base['chain']['lines'][number]): Entry {
  const { seq: _, kind, recordedAt, leaf: __, chain: ___, envelope, ...rest } = line
  const whole = fromBase64(envelope)
  const [head, unprotected, payload] = decodeItem(whole)!.items![0]!.items!
  const decoded = decodeItem(head!.body!)!
  const kid = toHex(memberOf(decoded, 4)!.body!)
  const issuer = base.issuers.find(({ key }) => key.kid === kid)
  const signer = base.signers.get(kid)
  return {
    ...{
      kind,
      recordedAt,
      head: decoded,
      unprotected: unprotected!,
      line: treeOf(rest),
      envelope: whole,
      hashed: null,
    },
    payload: issuer ? payload!.body! : treeOf(JSON.parse(Buffer.from(payload!.body!).toString('utf8'))),
    sign: issuer
      ? (protectedBytes, payload) => signAs(issuer, protectedBytes, payload)
      : (protectedBytes, payload) => signer!.sign(toBeSigned(protectedBytes, payload)),
  }
}

let pool: Pool | null = null
export const statementPool = (): Pool =>
  (pool ??= poolOf(
    makeBases()
      .all.flatMap((base) => modelOf(base).entries)
      .flatMap(({ payload, line }) => (payload instanceof Uint8Array ? [line] : [payload, line])),
  ))

export function payloadBytes({ payload }: Pick<Entry, 'payload'>): Uint8Array {
  return payload instanceof Uint8Array ? payload : encodeAny(textOf(payload))
}

export function envelopeOf(entry: Entry): Uint8Array {
  if (entry.envelope) return entry.envelope
  const payload = payloadBytes(entry)
  const head = encodeItem(entry.head)
  const signature = entry.sign(head, payload)
  entry.envelope = encodeItem(
    tag(18, array(bytes(head), entry.unprotected, bytes(payload), bytes(signature))),
  )
  return entry.envelope
}

/** Changes one entry, which is then signed again. Returns a description of the change. */
export function changeEntry(entry: Entry, random: Random): string {
  entry.envelope = null
  const { payload } = entry
  const kind = random()
  if (payload instanceof Uint8Array || kind < 0.08) return changeHead(entry, random)
  if (kind < 0.3 && hasDocument(entry)) return changeDocument(entry, random)
  const how = changeTree(payload, random, statementPool())
  if (random() < 0.7) mend(payload)
  if (random() < 0.95) claim(entry)
  return how
}

export function changeHead(entry: Entry, random: Random): string {
  entry.envelope = null
  if (random() < 0.75) return `protected: ${changeItem(entry.head, random)}`
  return `unprotected: ${changeUnprotected(entry, random)}`
}

/**
 * Changes the unprotected header. It copies a label of the protected header into the unprotected header, moves a label
 * there, or adds something else.
 */
function changeUnprotected(entry: Entry, random: Random): string {
  const items = entry.head.items ?? []
  const at = 2 * below(random, items.length >> 1)
  const member = [items[at], items[at + 1]].filter((item) => item !== undefined)
  if (random() < 0.5 && member.length === 2) {
    entry.unprotected.items = [...(entry.unprotected.items ?? []), ...member.map(copyItem)]
    if (random() < 0.5) items.splice(at, 2)
    return 'label of the protected header'
  }
  entry.unprotected = map([int(pick(random, [3, 4, 33, 394, -1])), text('x')])
  return changeItem(entry.unprotected, random)
}

/** Changes the claims so that they match the statement again. */
function claim({ head, payload }: Entry): void {
  const claims = memberOf(head, 15)
  if (payload instanceof Uint8Array || !claims?.items) return
  const subject = valueAt(payload, 'subject', 0, 'name')
  const ms = Date.parse(String(valueAt(payload, 'predicate', 'recordedAt')))
  if (typeof subject === 'string') claims.items[3] = text(subject)
  if (ms >= 0) claims.items[5] = int(Math.floor(ms / 1000))
}

/** Makes digests of definitions match again, so that a refusal is about the definition itself. */
function mend(payload: Tree): void {
  const predicate = valueAt(payload, 'predicate') as Record<string, unknown> | undefined
  const kind = String(valueAt(payload, 'predicateType')).split('/').at(-2)
  if (typeof predicate !== 'object' || predicate === null) return
  const { definition, agent, name, scopes, expiresAt, tokenHash, inviter, invited } = predicate
  const about = valueAt(payload, 'subject', 0, 'name')
  const said =
    kind === 'ledger-created'
      ? definition
      : kind?.startsWith('agent-')
        ? { agent, name }
        : kind?.startsWith('key-')
          ? { key: about, agent, scopes, expiresAt }
          : kind === 'peer-added'
            ? { peer: about, tokenHash, inviter, invited }
            : undefined
  if (said === undefined || kind?.startsWith('agent-key')) return
  try {
    setAt(payload, ['subject', 0, 'digest', 'sha256'], digestOf(said as JsonValue))
  } catch {
    // The definition has no canonical form, so its digest stays unchanged.
  }
}

const hasDocument = ({ line }: Entry) => valueAt(line, 'documents', 0, 'salt') !== undefined

/** Changes a document, or an item of a batch, and adjusts its digest. */
function changeDocument(entry: Entry, random: Random): string {
  const { line, payload } = entry
  if (line.kind !== 'object' || payload instanceof Uint8Array) return 'nothing'
  const items = line.members.find(({ name }) => name === '"items"')!.value
  const documents = line.members.find(({ name }) => name === '"documents"')!.value
  if (items.kind === 'array' && random() < 0.6) {
    const how = changeTree(items, random, statementPool())
    const leaves = items.items.map((item) => leafHash(sha256, canonicalBytes(item)))
    setAt(payload, ['subject', 0, 'digest', 'sha256'], toHex(merkleRoot(sha256, leaves)))
    if (random() < 0.5) setAt(payload, ['predicate', 'count'], leaves.length)
    return `item: ${how}`
  }
  const how = changeTree(documents, random, statementPool())
  const [salt, document] = [valueAt(documents, 0, 'salt'), valueAt(documents, 0, 'document')]
  if (typeof salt !== 'string' || document === undefined || items.kind === 'array') return `document: ${how}`
  try {
    const digest = digestWith(salt, document as JsonValue)
    const name = valueAt(documents, 0, 'subject')
    const subjects = (valueAt(payload, 'subject') as { name: unknown }[]).map((one) => one.name)
    setAt(documents, [0, 'digest'], digest)
    setAt(payload, ['subject', Math.max(0, subjects.indexOf(name)), 'digest', 'sha256'], digest)
  } catch {
    // The document has no canonical form, so its digest stays unchanged.
  }
  return `document: ${how}`
}

function canonicalBytes(item: Tree): Uint8Array {
  try {
    return Buffer.from(canonicalize(JSON.parse(textOf(item)) as JsonValue))
  } catch {
    return encodeAny(textOf(item))
  }
}

/** Changes a ledger. Usually it changes one entry. Otherwise it changes the order of entries. */
export function changeModel(model: Model, random: Random): string {
  const { entries } = model
  const at = below(random, entries.length)
  const kind = random()
  const entry = copyEntry(entries[at]!)
  entries[at] = entry
  if (kind < 0.78) return `entry ${at}: ${changeEntry(entry, random)}`
  const other = below(random, entries.length)
  if (kind < 0.82) entries.splice(at, 1)
  else if (kind < 0.86) entries.splice(other, 0, entry)
  else if (kind < 0.9) entries.splice(other, 0, ...entries.splice(at, 1))
  else if (kind < 0.95) {
    const signers = [...model.base.signers.values()]
    const signer = pick(random, signers)
    entry.envelope = null
    entry.sign = (protectedBytes, payload) => signer.sign(toBeSigned(protectedBytes, payload))
    const kid = memberOf(entry.head, 4)
    if (kid) kid.body = signer.kid
    if (random() < 0.6) setAt(entry.line, ['signer'], { alg: 'EdDSA', spki: toBase64(signer.key.spki) })
    return `entry ${at}: another signer`
  } else {
    const how = changeTree(entry.line, random, statementPool())
    return `line ${at}: ${how}`
  }
  return `order of ${at} and ${other}`
}

export type Rendered = {
  readonly lines: Tree[]
  readonly leaves: readonly Uint8Array[]
  readonly chains: readonly Uint8Array[]
}

/** Renders the lines of an export, with leaves and a chain that match the entries. */
export function render({ base, entries }: Model): Rendered {
  const leaves: Uint8Array[] = []
  const chains = [genesis(sha256, parseIdBytes('led', base.chain.ledger))]
  const lines = entries.map((entry, seq) => {
    const { leaf, base64 } = hashed(entry)
    leaves.push(leaf)
    chains.push(link(sha256, chains.at(-1)!, leaf))
    const head = treeOf({
      seq,
      ...saidOf(entry),
      leaf: toHex(leaf),
      chain: toHex(chains.at(-1)!),
      envelope: base64,
    })
    const members = [head, entry.line].flatMap((tree) => (tree.kind === 'object' ? tree.members : []))
    return { kind: 'object', members } satisfies Tree
  })
  return { lines, leaves, chains }
}

function hashed(entry: Entry): { readonly leaf: Uint8Array; readonly base64: string } {
  const whole = envelopeOf(entry)
  if (entry.hashed?.of !== whole)
    entry.hashed = { of: whole, leaf: leafHash(sha256, whole), base64: toBase64(whole) }
  return entry.hashed
}

function saidOf({ kind, recordedAt, payload }: Entry) {
  if (payload instanceof Uint8Array) return { kind, recordedAt }
  const said = /^https:\/\/tallystick\.dev\/predicates\/([^/]*)\/v1$/.exec(
    String(valueAt(payload, 'predicateType')),
  )
  return { kind: said?.[1] ?? kind, recordedAt: valueAt(payload, 'predicate', 'recordedAt') ?? recordedAt }
}
