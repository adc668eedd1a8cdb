import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BUILT_IN_TYPES } from '../../../src/ledgers/types/built-in.ts'
import { NONCE_BYTES, signRequest } from '../../../src/outside/federation/http-signature.ts'
import { parseInvitation } from '../../../src/outside/federation/invitation.ts'
import { fromBase64, toHex } from '../../../src/proof/bytes.ts'
import type { Signer } from '../../../src/proof/crypto.ts'
import { parseEnvelope } from '../../../src/proof/envelope/cose.ts'
import { parseId } from '../../../src/proof/ids.ts'
import type { JsonValue } from '../../../src/proof/json/json-value.ts'
import {
  COMPLETION_NONCE_BYTES,
  offeredCompletionId,
} from '../../../src/proof/statement/offered-completions.ts'
import { parseStatement } from '../../../src/proof/statement/statement.ts'
import { leafHash } from '../../../src/proof/tree/merkle.ts'
import type { Test } from '../../helpers/app.ts'
import { type Organisation, startOrganisations, untilPeer } from '../../helpers/federation.ts'
import { identityOf, namedKey, receivedOf } from '../../helpers/peered-chains.ts'
import {
  digestOf,
  makeChain,
  saltDocument,
  sha256,
  type TestChain,
  type TestLine,
} from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'

/*
 * A dishonest peer. It has a ledger in memory with its own keys. It signs and sends whatever a test wants. Its server
 * gives its answers.
 */

export type Answered = {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  readonly body: any
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Outcome = any

export type Forged = {
  /** Path of the request and of the signature. The default is the path of the purpose. */
  readonly path?: string
  readonly signedPath?: string
  readonly peering?: string
  readonly from?: string
  readonly to?: string
  readonly signer?: Signer
  readonly nowMs?: number
  readonly nonce?: Uint8Array
  /** Server to which the request is sent. The default is the victim's server. */
  readonly server?: string
  /** Public URL in the signature. The default is the victim's public URL. */
  readonly publicUrl?: string
  readonly body?: string
  readonly headers?: (signed: Record<string, string>) => Record<string, string>
}

/** A request from the victim. `entries` are the request's entries with their seqs and leaves. */
export type Heard = {
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: as it came
  readonly body: any
  readonly headers: IncomingMessage['headers']
}
export type Lie = {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: object | string | Buffer
}

export type SentLine = { readonly seq: number; readonly envelope: string; readonly document?: object | null }

export class Mallory {
  readonly victim: Organisation
  /** Mallory's chain. Each gated record in it has the type `task/1` and is shared. */
  readonly chain: TestChain
  peer = ''
  readonly url: string
  readonly heard: Heard[] = []
  /** Received checkpoints to cosign, in order. They are not in `heard`, because they come at any time. */
  readonly checkpoints: Heard[] = []
  lie: (heard: Heard) => Lie | Promise<Lie> = (heard) => this.honestAnswer(heard)
  cosign: (heard: Heard) => Lie = () => ({ status: 404, body: { code: 'not_found' } })
  #handshake: { tokenHash: string; inviter: object; invited: object } | null = null

  private constructor(victim: Organisation, url: string, chain: TestChain) {
    this.victim = victim
    this.url = url
    this.chain = chain
  }

  static async open(t: Test, victim: Organisation, chain = makeChain()): Promise<Mallory> {
    const server = createServer((request, response) => {
      answer(mallory, request, response).catch(() => response.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(async () => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const mallory: Mallory = new Mallory(victim, `http://127.0.0.1:${port}`, chain)
    return mallory
  }

  /** Makes Mallory with an active peering. The victim made the invitation. */
  static async meet(t: Test, victim: Organisation): Promise<Mallory> {
    const mallory = await Mallory.open(t, victim)
    await mallory.join(await mallory.invite())
    await mallory.greet()
    return mallory
  }

  async invite(): Promise<string> {
    return (await this.victim.ask('POST', '/v1/peers', { body: { name: 'Mallory' } })).invitation
  }

  identity(changes: object = {}) {
    return { ...identityOf(this.chain), url: this.url, ...changes }
  }

  get signer(): TestChain['firstSigner'] {
    return this.chain.signers.at(-1)!
  }

  /** Accepts an invitation. Returns the victim's peer-added entry. */
  async join(invitation: string): Promise<string> {
    const { status, body } = await this.introduce(invitation)
    if (status !== 200) throw new Error(`the handshake was answered ${status}: ${JSON.stringify(body)}`)
    return body.envelope
  }

  async introduce(
    invitation: string,
    { token, invited = this.identity(), ...forged }: Forged & { token?: string; invited?: object } = {},
  ): Promise<Answered> {
    const read = parseInvitation(invitation)!
    this.peer = read.peer
    const tokenHash = toHex(sha256(Buffer.from(read.token, 'base64url')))
    this.#handshake = { tokenHash, inviter: read.inviter, invited }
    const answered = await this.request(
      'peerings',
      { peer: read.peer, token: token ?? read.token, invited },
      forged,
    )
    if (answered.status === 200) this.#counterpart = leafOf(answered.body.envelope)
    return answered
  }
  #counterpart = ''

  sayAdded(counterpart = this.#counterpart): TestLine {
    const terms = this.#handshake!
    return this.chain.append({
      kind: 'peer-added',
      subjects: [this.about()],
      predicate: { ...this.chain.system(), ...terms, counterpart },
    })
  }

  about() {
    return { name: this.peer, sha256: digestOf({ peer: this.peer, ...this.#handshake! }) }
  }

  async greet(): Promise<void> {
    await this.take([this.sayAdded()])
    await untilPeer(this.victim, this.peer, 'active')
  }

  /** Makes a record in Mallory's chain that is shared with the victim. Does not send its entries. */
  record(terms: object = {}, options: Parameters<typeof makeGated>[2] = {}) {
    const typeDigest = BUILT_IN_TYPES.get('task/1')!.digest
    const share = [{ peer: this.peer, documents: 'whole' }]
    return makeGated(this.chain, { typeDigest, performer: undefined, share, ...terms }, options)
  }

  async request(what: string, body: object | string, forged: Forged = {}): Promise<Answered> {
    const { path = `/v1/federation/${what}`, signer = this.signer, nowMs = Date.now() } = forged
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const signed = signRequest(
      {
        method: 'POST',
        targetUri: (forged.publicUrl ?? this.victim.publicUrl) + (forged.signedPath ?? path),
        body: text,
        peering: forged.peering ?? this.peer,
        from: forged.from ?? this.chain.ledger,
        to: forged.to ?? this.victim.ledger,
      },
      signer,
      { nowMs, nonce: forged.nonce ?? randomBytes(NONCE_BYTES) },
    )
    return this.post(path, forged.body ?? text, forged.headers?.(signed) ?? signed, forged.server)
  }

  async post(
    path: string,
    body: string,
    headers: Record<string, string>,
    server = this.victim.url,
  ): Promise<Answered> {
    const response = await fetch(server + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    return { status: response.status, body: await response.json() }
  }

  async outcomes(
    lines: readonly (TestLine | SentLine)[],
    more: object = {},
    forged: Forged = {},
  ): Promise<Outcome[]> {
    const { status, body } = await this.request('entries', { ...more, entries: lines.map(toSent) }, forged)
    if (status === 200) return body.outcomes
    throw new Error(`the entries were answered ${status}: ${JSON.stringify(body)}`)
  }

  /** Sends entries. Throws if one of them is not received. */
  async take(lines: readonly (TestLine | SentLine)[], more: object = {}): Promise<void> {
    const outcomes = await this.outcomes(lines, more)
    const other = outcomes.find(({ outcome }) => outcome !== 'received')
    if (other) throw new Error(`an entry was not received: ${JSON.stringify(other)}`)
  }

  honestAnswer({ path, body }: Heard): Lie {
    if (path !== '/v1/federation/entries') return { status: 404, body: { code: 'not_found' } }
    const outcomes = body.entries.map((entry: SentLine) => {
      const line = this.receive(entry)
      return { leaf: leafOf(entry.envelope), outcome: 'received', envelope: line.envelope }
    })
    return { body: { outcomes } }
  }

  receive({ seq, envelope }: SentLine, changes: object = {}): TestLine {
    const received = { ...receivedOf({ seq, envelope, leaf: leafOf(envelope) } as TestLine), ...changes }
    return this.chain.append({
      kind: 'entry-received',
      subjects: [{ name: `${received.ledger}/${received.seq}`, sha256: received.leaf }],
      predicate: { ...this.chain.system(), peer: this.peer, received },
      received: envelope,
    })
  }

  /** Appends `server-key-rotated` to Mallory's chain, which uses the new key from now on. */
  rotate(): { readonly line: TestLine; readonly old: TestChain['firstSigner']; readonly newKey: object } {
    const old = this.signer
    const line = this.chain.rotateServerKey()
    return { line, old, newKey: namedKey(this.signer) }
  }
}

export async function meetMallory(t: Test): Promise<Mallory> {
  const [victim] = await startOrganisations(t, 1)
  return Mallory.meet(t, victim!)
}

/**
 * Takes an entry's line. Returns the arguments with which `append` makes another entry with the same statement and
 * documents.
 */
export function appendingOf({ envelope, documents }: Pick<TestLine, 'envelope' | 'documents'>) {
  const { kind, subjects, predicate } = parseStatement(parseEnvelope(fromBase64(envelope)).payload)
  return { kind, subjects, predicate, documents }
}

export function toSent(line: TestLine | SentLine): SentLine {
  if (!('documents' in line)) return line
  const [document] = line.documents
  const { seq, envelope } = line
  if (!document) return { seq, envelope }
  const { erasedBy: _, ...shown } = document
  return { seq, envelope, document: shown }
}

export function leafOf(envelope: string): string {
  return toHex(leafHash(sha256, fromBase64(envelope)))
}

async function answer(mallory: Mallory, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const heard = { path: request.url!, headers: request.headers, body: JSON.parse(text) }
  const isCheckpoint = heard.path === '/v1/federation/checkpoint'
  const { lie, heard: all, checkpoints } = mallory
  ;(isCheckpoint ? checkpoints : all).push(heard)
  const { status = 200, headers = {}, body } = await (isCheckpoint ? mallory.cosign(heard) : lie(heard))
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(bytes)
}

export type VictimsRecord = {
  readonly id: string
  readonly digest: string
  readonly version: number
  readonly leaf: string
}

/**
 * Returns an offer of Mallory's agent for a step of the victim's record. The offer is correct except for the changes.
 */
export function offering(
  { chain, peer }: Mallory,
  { id, digest, version, leaf }: VictimsRecord,
  step: 'record-activated' | 'completion-submitted',
  changes: object = {},
  evidence: JsonValue = { quantity: 100 },
): TestLine {
  const salted = step === 'completion-submitted' ? saltDocument('', evidence) : null
  const place = { ledger: chain.ledger, record: id, version: version + 1, digest: salted?.digest ?? '' }
  const completion = offeredCompletionId(sha256, place, randomBytes(COMPLETION_NONCE_BYTES))
  const subjects = [{ name: id, sha256: digest }]
  return chain.append({
    kind: 'step-offered',
    subjects: salted ? [...subjects, { name: completion, sha256: salted.digest }] : subjects,
    predicate: {
      ...chain.acting(),
      peer,
      record: id,
      step,
      version: version + 1,
      previous: leaf,
      ...(salted && { completion }),
      ...changes,
    },
    documents: salted ? [{ ...salted, subject: completion }] : [],
  })
}

export async function lookAtVictims(victim: Organisation, id: string): Promise<VictimsRecord> {
  const [row] = await victim.sql<Omit<VictimsRecord, 'id'>>(
    `select encode(r.digest, 'hex') as digest, g.version, encode(e.leaf, 'hex') as leaf from tallystick.records r
     join tallystick.gated_records g using (ledger_id, record_id)
     join tallystick.entries e on e.ledger_id = g.ledger_id and e.seq = g.last_seq
     where r.record_id = $1`,
    [parseId('rec', id)],
  )
  return { ...row!, id }
}
