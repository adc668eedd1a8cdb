import { randomBytes } from 'node:crypto'
import { type EntryClaims, sealEntry } from '../../src/append/entry.ts'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import type { NewLedger } from '../../src/ledgers/create-ledger.ts'
import { BUILT_IN_TYPES } from '../../src/ledgers/types/built-in.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { beginGated, type GatedRecord, stepGated } from '../../src/proof/ledger/gated-record.ts'
import type { EntryKind, StepKind, Subject } from '../../src/proof/statement/kinds.ts'
import { buildStatement, parseStatement } from '../../src/proof/statement/statement.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { signEntry } from '../../src/signing/sign-entry.ts'
import type { TestApp } from './app.ts'
import { digestOf, saltDocument, type TestDocument } from './test-chain.ts'

/*
 * Simulates the home ledger of shared records for a guest. The home is a ledger with its own key. append_entries
 * receives the home's entries as if they came from the server's inbox. The entries are checked against the lifecycle.
 * Other tests cover authentication and transport.
 */

export type TestHome = {
  readonly ledger: string
  readonly peer: string
  readonly agent: string
  readonly key: string
  share(options?: ShareOptions): Promise<HomeRecord>
  setState(state: 'active' | 'suspended' | 'revoked'): Promise<void>
}

export type ShareOptions = {
  readonly id?: string
  readonly documents?: 'whole' | 'digests'
  /**
   * Id of the performer, an agent of the guest's ledger (`agt_…`); null if the agent that activates the record becomes
   * the performer.
   */
  readonly performer?: string | null
  readonly payload?: JsonValue
  readonly type?: { readonly name: string; readonly definition: JsonValue }
  readonly terms?: object
}

export type HomeRecord = {
  readonly id: string
  readonly payload: TestDocument
  last(): { readonly leaf: string; readonly seq: number }
  activate(by: StepBy): Promise<void>
  submit(by: StepBy, completion?: TestDocument): Promise<TestDocument>
  verify(outcome?: 'pass' | 'fail'): Promise<void>
  judge(verdict: 'accept' | 'reject', reason?: string): Promise<void>
  revise(reason: string): Promise<void>
  cancel(): Promise<void>
  refuse(seq: number, code: string): Promise<void>
  /** Erases the document whose digest is in the home's entry at `seq`. */
  erase(subject: Subject, seq: number): Promise<void>
}

/** Author of a step: an agent of the home, or the offer by which the guest's agent takes the step. */
export type StepBy = { readonly agent: string; readonly key: string } | { readonly offerSeq: number }

let lastNonce = 0

export async function addTestHome(app: TestApp, guest: NewLedger = app.ledger): Promise<TestHome> {
  const { entropy } = app.deps
  const newId = (prefix: Parameters<typeof formatId>[0]) => formatId(prefix, entropy.uuidv7(Date.now()))
  const [ledger, peer, agent, key] = [newId('led'), newId('peer'), newId('agt'), newId('key')]
  const guestId = parseId('led', guest.ledger.id)
  const peerId = parseId('peer', peer)
  const signer = makeEd25519Signer(nativeProviders.sha256, randomBytes(32))
  let nextSeq = 4
  await insertPeer(app, { guestId, peerId, ledger })

  /** Signs an entry of the home, and appends the guest's entry that receives it. Returns the signed entry. */
  async function say(
    kind: EntryKind,
    subjects: readonly Subject[],
    predicate: object,
    follows: (event: Received) => object,
  ): Promise<Received> {
    const recordedAtMs = Date.now()
    const said = { ledger, recordedAt: new Date(recordedAtMs).toISOString(), ...predicate }
    const text = buildStatement(kind, subjects, said)
    const about = { issuer: 'https://home.example', subject: subjects[0]!.name, recordedAtMs }
    const signed = signEntry(signer, about, text)
    const leaf = Buffer.from(signed.leaf).toString('hex')
    const statement = parseStatement(Buffer.from(text))
    const event = { seq: nextSeq++, leaf, atMs: recordedAtMs, statement }
    const { record = null, version = null } = statement.predicate as { record?: string; version?: number }
    const received = { ledger, seq: event.seq, leaf, kind, record, version }
    await appendSystem(app, guest, {
      kind: 'entry-received',
      subject: { id: null, name: `${ledger}/${event.seq}`, digest: leaf },
      predicate: { peer, received },
      detail: {
        received: {
          peerId,
          seq: event.seq,
          kind,
          recordId: record ? parseId('rec', record) : null,
          version,
          leaf,
          envelope: Buffer.from(signed.envelope).toString('base64'),
        },
        ...follows(event),
      },
    })
    return event
  }

  async function share(options: ShareOptions = {}): Promise<HomeRecord> {
    const { documents = 'whole', performer = null, terms, type } = options
    const id = options.id ?? newId('rec')
    const about = { id, name: type?.name ?? 'task/1', documents }
    const payload = saltDocument(id, options.payload ?? { order: ++lastNonce })
    const subject: Subject = { name: id, sha256: payload.digest }
    const acting = { actor: agent, key }
    let standing: GatedRecord
    const first = await say(
      'record-created',
      [subject],
      {
        ...acting,
        record: id,
        version: 1,
        to: 'CREATED',
        type: about.name,
        typeDigest: type ? digestOf(type.definition) : BUILT_IN_TYPES.get('task/1')!.digest,
        gate: 'principal',
        maxRevisions: 2,
        ...(performer !== null && { performer: `${guest.ledger.id}/${performer}` }),
        share: [{ peer, documents }],
        ...terms,
      },
      (event) => {
        standing = beginGated(event)
        return {
          ...shownWith(documents, payload),
          standing: standingRow(peerId, about, standing),
          ...(type && { type: { peerId, name: type.name, definition: canonicalize(type.definition) } }),
        }
      },
    )
    let last = { leaf: first.leaf, seq: first.seq }
    let completion: Subject | null = null

    async function step(
      kind: StepKind,
      to: string,
      predicate: object,
      subjects: readonly Subject[] = [],
      document: TestDocument | null = null,
      offer: object | null = null,
    ): Promise<void> {
      const { version, state } = standing
      const said = { record: id, version: version + 1, previous: last.leaf, from: state, to, ...predicate }
      const own = document ? [{ name: document.subject, sha256: document.digest }] : []
      last = await say(kind, [subject, ...subjects, ...own], said, (event) => {
        stepGated(standing, event)
        return {
          ...(document && shownWith(documents, document)),
          ...(offer && { offer }),
          standing: standingRow(peerId, about, standing),
        }
      })
    }

    /**
     * Returns the members by which a step names its author. If the guest's agent offered the step, also returns the
     * offer with the state that the guest's row must have.
     */
    async function by(who: StepBy): Promise<[predicate: object, offer: object | null]> {
      if (!('offerSeq' in who)) return [{ actor: who.agent, key: who.key }, null]
      const [row] = await app.sql<{ leaf: Buffer; agent_id: Uuid }>(
        'select leaf, agent_id from tallystick.offers where ledger_id = $1 and seq = $2',
        [guestId, who.offerSeq],
      )
      const actor = `${guest.ledger.id}/${formatId('agt', row!.agent_id)}`
      const offer = { peer, ledger: guest.ledger.id, seq: who.offerSeq, leaf: row!.leaf.toString('hex') }
      return [
        { actor, offer },
        { seq: who.offerSeq, state: 'taken' },
      ]
    }

    const reasonOf = (reason: string | undefined) =>
      reason === undefined ? null : saltDocument(`${id}/reason`, reason)
    const system = { actor: 'system' }

    return {
      id,
      payload,
      last: () => last,
      async activate(who) {
        const [predicate, offer] = await by(who)
        await step('record-activated', 'ACTIVE', predicate, [], null, offer)
      },
      async submit(who, document = saltDocument(newId('cmp'), { quantity: 100 })) {
        const [predicate, offer] = await by(who)
        completion = { name: document.subject, sha256: document.digest }
        const said = { ...predicate, completion: document.subject }
        await step('completion-submitted', 'SUBMITTED', said, [], document, offer)
        return document
      },
      async verify(outcome = 'pass') {
        const to = outcome === 'pass' ? 'VERIFIED' : 'DISCREPANT'
        const values = saltDocument(`${completion!.name}/values`, [])
        const said = { ...system, completion: completion!.name, outcome, rules: [] }
        await step('completion-verified', to, said, [completion!], values)
      },
      async judge(verdict, reason) {
        const isAccepted = verdict === 'accept'
        const signal = {
          decision: isAccepted ? 'SETTLE' : 'HOLD',
          code: isAccepted ? 'accepted' : 'rejected',
          failingRules: [],
          validUntil: null,
        }
        const said = { ...acting, completion: completion!.name, verdict, by: 'principal', signal }
        const to = isAccepted ? 'ACCEPTED' : 'REJECTED'
        await step('verdict-rendered', to, said, [completion!], reasonOf(reason))
      },
      async revise(reason) {
        const said = { ...acting, completion: completion!.name }
        await step('revision-requested', 'ACTIVE', said, [], reasonOf(reason))
      },
      cancel: () => step('record-cancelled', 'CANCELLED', acting),
      async refuse(seq, code) {
        const [, taken] = await by({ offerSeq: seq })
        const [row] = await app.sql<{ leaf: Buffer }>(
          'select leaf from tallystick.offers where ledger_id = $1 and seq = $2',
          [guestId, seq],
        )
        const leaf = row!.leaf.toString('hex')
        const received = {
          ledger: guest.ledger.id,
          seq,
          leaf,
          kind: 'step-offered',
          record: id,
          version: null,
        }
        const name = `${guest.ledger.id}/${seq}`
        const said = { ...system, peer, record: id, code, received }
        await say('offer-refused', [{ name, sha256: leaf }], said, () => ({
          offer: { ...taken, state: 'refused', code },
        }))
      },
      async erase(erased, seq) {
        await say('payload-erased', [erased], { ...acting, seq, code: 'data_subject_request' }, () => ({
          erased: { peerId, remoteSeq: seq },
        }))
      },
    }
  }

  return {
    ledger,
    peer,
    agent,
    key,
    share,
    async setState(state) {
      await app.sql('update tallystick.peers set state = $3 where ledger_id = $1 and peer_id = $2', [
        guestId,
        peerId,
        state,
      ])
    },
  }
}

type Received = Parameters<typeof beginGated>[0]

function shownWith(mode: 'whole' | 'digests', { subject, digest, salt, document }: TestDocument): object {
  if (mode === 'digests') return {}
  const hex = Buffer.from(salt!, 'base64url').toString('hex')
  return { document: { subject, digest, salt: hex, content: canonicalize(document) } }
}

function standingRow(
  peerId: string,
  { id, name, documents }: { id: string; name: string; documents: string },
  standing: GatedRecord,
): object {
  const { state, version, lastLeaf } = standing
  return {
    peerId,
    recordId: parseId('rec', id),
    type: name,
    documents,
    state,
    version,
    leaf: lastLeaf,
    standing: JSON.stringify(standing),
  }
}

async function appendSystem(
  app: TestApp,
  { ledger: { id: ledger, issuer } }: NewLedger,
  about: EntryClaims,
): Promise<void> {
  const signer = await app.deps.signers.load()
  const envelopeKid = Buffer.from(signer.kid).toString('hex')
  const author = { ledger, ledgerId: parseId('led', ledger), issuer, envelopeKid, agent: 'system' } as const
  const client = await app.deps.writePool.connect()
  try {
    const [answer] = await appendEntries(client, [sealEntry(signer, author, about, Date.now()).entry])
    if (answer?.outcome !== 'appended') throw new Error(`append_entries answered ${answer?.outcome}`)
  } finally {
    client.release()
  }
}

/** Inserts an active peering, with a handshake that no test verifies. */
async function insertPeer(
  app: TestApp,
  { guestId, peerId, ledger }: { guestId: Uuid; peerId: string; ledger: string },
): Promise<void> {
  await app.sql(
    `insert into tallystick.peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter, invited,
       remote_ledger_id, remote_url, handshake, added_seq, added_leaf, counterpart)
     values ($1, $2, 'home', 'inviter', 'active', $2, sha256('token'), now() + interval '1 day', '{}', '{}', $3,
       'https://home.example', sha256('handshake'), 0, sha256('ours'), sha256('theirs'))`,
    [guestId, peerId, parseId('led', ledger)],
  )
}
