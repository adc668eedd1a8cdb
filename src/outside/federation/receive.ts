import type pg from 'pg'
import { type Author, sealEntry } from '../../append/entry.ts'
import { appendEntries, type EntryRow } from '../../db/chain/append-entries.ts'
import type { ReceivedConsequences } from '../../db/chain/entry-details.ts'
import {
  findStoredLeaves,
  listKnownRecords,
  listOwnOffers,
  listReceivedTypes,
  listStoredEntries,
  storeFork,
} from '../../db/peers/received.ts'
import { findRecords, type RecordRowRead } from '../../db/records/read-records.ts'
import { ApiError } from '../../errors.ts'
import { Slice } from '../../load/slice.ts'
import type { Signer } from '../../proof/crypto.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { OfferedStepDeps } from '../../records/gated/offered-step.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import type { Signers } from '../../signing/signers.ts'
import { toBase64 } from '../../signing/text-of-bytes.ts'
import { answerOffer } from './answer-offer.ts'
import type { PeerRequest } from './authenticate.ts'
import { refuseFull } from './budget.ts'
import { type Decision, decide, type StoredState } from './decide.ts'
import type { Inbox } from './inbox.ts'
import { type JudgedEvidence, judgeEvidence } from './judge-evidence.ts'
import { PEER_DECISIONS_MAX, PEER_FORKS_STORED_MAX, PEER_OFFERS_MAX } from './limits.ts'
import { authorOf, inTransaction, isOfLedger, notAppended, unavailable } from './peer-transaction.ts'
import {
  EntryRefused,
  type ProposedEntry,
  readTypes,
  receivedOf,
  receivedRow,
  type SentEntry,
  verifyProposed,
} from './proposed.ts'

export type ReceiveDeps = OfferedStepDeps & {
  readonly readPool: pg.Pool
  readonly writePool: pg.Pool
  readonly peerMacs: PeerMacs
  readonly inbox: Inbox
  readonly signers: Signers
  readonly now: () => number
  readonly observeReception: (outcomes: readonly EntryOutcome[]) => void
}

export type SentEntries = {
  readonly types?: readonly JsonObject[] | undefined
  readonly entries: readonly SentEntry[]
}

/** Outcome of an entry (docs/formats/federation.md). `envelope`: the receipt in base64. */
type EntryOutcome =
  | { readonly leaf: string | null; readonly outcome: 'received'; readonly envelope: string }
  | {
      readonly leaf: string | null
      readonly outcome: 'refused'
      readonly code: string
      readonly detail: string
      readonly held?: string
    }
  | {
      readonly leaf: string | null
      readonly outcome: 'missing'
      readonly record: string
      readonly version: number
    }

/**
 * Receives the entries of a peer. Each entry is decided separately, in order. Accepted entries are appended in one
 * transaction, which also stores the nonce. Throws ApiError if the whole request is refused, or if nothing could be
 * written.
 */
export async function receiveEntries(
  deps: ReceiveDeps,
  request: PeerRequest,
  sent: SentEntries,
): Promise<EntryOutcome[]> {
  refuseTwice(sent.entries)
  refuseFull(request.contact)
  const outcomes = await deps.inbox.run(
    request,
    ({ types, proposed, evidence }) =>
      inTransaction(deps, request, async (client, contact) => {
        refuseFull(contact)
        const known = await readStored(client, request, types, proposed.filter(isProposed))
        return new EntryReceiver(deps, client, request, known, evidence).take(proposed)
      }),
    () => prepare(deps, request, sent),
  )
  deps.observeReception(outcomes)
  return outcomes
}

/**
 * Does the work that needs no transaction. It verifies signatures and digests. It also validates evidence by a tenant's
 * schema, which may wait for the ledger's share of CPU time.
 */
async function prepare(deps: ReceiveDeps, request: PeerRequest, sent: SentEntries) {
  const slice = new Slice()
  const types = await readTypes(sent.types ?? [], slice)
  const proposed: CheckedEntry[] = []
  for (const entry of sent.entries) {
    if (slice.isOver) await slice.next()
    proposed.push(attempt(() => verifyProposed(request, request.contact, entry)))
  }
  return { types, proposed, evidence: await judgeEvidence(deps, request, proposed.filter(isProposed)) }
}

function refuseTwice(entries: readonly SentEntry[]): void {
  if (new Set(entries.map(({ seq }) => seq)).size === entries.length) return
  throw new ApiError('invalid_request', '/entries: a seq occurs twice', {
    members: { path: '/entries' },
  })
}

type CheckedEntry = ProposedEntry | EntryRefused

function attempt(work: () => ProposedEntry): CheckedEntry {
  try {
    return work()
  } catch (error) {
    return entryRefusalOf(error)
  }
}

function isProposed(attempted: CheckedEntry): attempted is ProposedEntry {
  return !(attempted instanceof EntryRefused)
}

/** Converts an error about the entry to a refusal. Throws any other error again, because the fault is on our side. */
function entryRefusalOf(error: unknown): EntryRefused {
  if (error instanceof EntryRefused) return error
  if (error instanceof ProofError) return new EntryRefused(error.code, error.detail)
  throw error
}

async function readStored(
  client: pg.ClientBase,
  { contact, ...ids }: PeerRequest,
  types: StoredState['types'],
  entries: readonly ProposedEntry[],
): Promise<StoredState> {
  const said = entries.map(({ statement }) => statement.predicate)
  const records = new Map(entries.flatMap(({ record }) => (record ? [[record.name, record.id]] : [])))
  const events = entries.flatMap(({ record, version }) =>
    record && version !== null ? [{ recordId: record.id, version }] : [],
  )
  const digests = said.flatMap(({ typeDigest }) => (typeof typeDigest === 'string' ? [typeDigest] : []))
  const erased = said.flatMap(({ seq }) => (typeof seq === 'number' ? [seq] : []))
  const offers = entries.flatMap(({ statement: { kind, predicate } }) => {
    const offer = kind === 'offer-refused' ? predicate['received'] : predicate['offer']
    return offer === undefined ? [] : [(offer as { seq: number }).seq]
  })
  const seqs = [...entries.map(({ seq }) => seq), ...erased]
  const stored = await listStoredEntries(client, ids, seqs, erased)
  const known = await listKnownRecords(client, ids, [...records.values()], PEER_OFFERS_MAX)
  return {
    ids,
    contact,
    state: contact.state,
    storedEntries: new Map(stored.map((entry) => [entry.remoteSeq, entry])),
    versions: await findStoredLeaves(client, ids, events),
    records: new Map(known.map((record) => [record.recordId, record])),
    offers: new Map((await listOwnOffers(client, ids, offers)).map((offer) => [offer.seq, offer])),
    types,
    receivedTypes:
      digests.length === 0 ? new Set() : await listReceivedTypes(client, ids, [...new Set(digests)]),
  }
}

/**
 * An entry of ours that will be appended as the answer to an entry of the peer. `index`: position of the peer's entry
 * in the request.
 */
type Planned = { readonly index: number; readonly entry: EntryRow; readonly proposed: ProposedEntry }

class EntryReceiver {
  readonly #deps: ReceiveDeps
  readonly #client: pg.PoolClient
  readonly #request: PeerRequest
  readonly #known: StoredState
  readonly #evidence: JudgedEvidence
  readonly #author: Author
  readonly #outcomes: EntryOutcome[] = []
  readonly #offered = new Map<Uuid, RecordRowRead | null>()

  constructor(
    deps: ReceiveDeps,
    client: pg.PoolClient,
    request: PeerRequest,
    known: StoredState,
    evidence: JudgedEvidence,
  ) {
    this.#deps = deps
    this.#client = client
    this.#request = request
    this.#known = known
    this.#evidence = evidence
    this.#author = authorOf(request)
  }

  async take(attempts: readonly CheckedEntry[]): Promise<EntryOutcome[]> {
    const signer = await this.#deps.signers.signerOf(this.#author)
    await this.#readOffered(attempts.filter(isProposed))
    const planned: Planned[] = []
    const slice = new Slice()
    for (const [at, attempted] of attempts.entries()) {
      if (slice.isOver) await slice.next()
      const entry = await this.#plan(signer, at, attempted)
      if (entry) planned.push(entry)
    }
    // A revocation ends the peering. So the entries before the revocation are appended first, in a call of their own.
    const end = Math.max(
      0,
      planned.findIndex(({ proposed }) => proposed.statement.kind === 'peer-revoked'),
    )
    await this.#append(signer, planned.slice(0, end))
    await this.#append(signer, planned.slice(end))
    return this.#outcomes
  }

  /** Decides about one entry of the peer. Returns our answering entry, or null if the answer needs no entry. */
  async #plan(signer: Signer, at: number, attempted: CheckedEntry): Promise<Planned | null> {
    if (attempted instanceof EntryRefused) return this.#refuse(at, null, attempted)
    let decision: Decision
    try {
      decision = decide(this.#known, attempted)
    } catch (error) {
      const refused = entryRefusalOf(error)
      if (refused.code === 'fork') await this.#storeFork(attempted, refused)
      return this.#refuse(at, attempted.leaf, refused)
    }
    switch (decision.todo) {
      case 'stored':
        return this.#answer(at, {
          leaf: attempted.leaf,
          outcome: 'received',
          envelope: toBase64(decision.receipt),
        })
      case 'missing': {
        const { record, version } = decision
        return this.#answer(at, { leaf: attempted.leaf, outcome: 'missing', record, version })
      }
      case 'receive': {
        const entry = this.#receipt(signer, attempted, decision.consequences)
        const { seq, leaf, envelope } = attempted
        this.#known.storedEntries.set(seq, { leaf, receipt: entry.envelope, envelope })
        return { index: at, proposed: attempted, entry }
      }
      case 'offer':
        return { index: at, proposed: attempted, entry: await this.#answerOffer(signer, attempted) }
    }
  }

  #answer(at: number, outcome: EntryOutcome): null {
    this.#outcomes[at] = outcome
    return null
  }

  #refuse(at: number, leaf: string | null, { code, message, storedLeaf }: EntryRefused): null {
    return this.#answer(at, {
      leaf,
      outcome: 'refused',
      code,
      detail: message,
      ...(storedLeaf !== null && { held: storedLeaf }),
    })
  }

  #storeFork(
    { leaf, seq, record, version, envelope }: ProposedEntry,
    { storedLeaf }: EntryRefused,
  ): Promise<void> {
    const fork = {
      leaf,
      remoteSeq: seq,
      recordId: record?.id ?? null,
      version,
      storedLeaf: storedLeaf!,
      envelope,
    }
    return storeFork(this.#client, this.#request, fork, PEER_FORKS_STORED_MAX)
  }

  #receipt(signer: Signer, proposed: ProposedEntry, consequences: ReceivedConsequences): EntryRow {
    const received = receivedOf(proposed)
    const { document } = proposed
    const { entry } = sealEntry(
      signer,
      this.#author,
      {
        kind: 'entry-received',
        subject: { id: null, name: `${received.ledger}/${received.seq}`, digest: received.leaf },
        predicate: { peer: this.#request.peer, received },
        detail: {
          received: receivedRow(this.#request, proposed),
          ...(document && {
            document: {
              subject: document.subject,
              digest: document.digest,
              salt: Buffer.from(document.salt).toString('hex'),
              content: document.canonical,
              references: document.references,
            },
          }),
          ...consequences,
        },
      },
      this.#deps.now(),
    )
    return entry
  }

  /** Reads the current rows of the records that have offers, in one statement. */
  async #readOffered(proposed: readonly ProposedEntry[]): Promise<void> {
    const { ledgerId } = this.#request
    const offers = proposed.filter(({ statement: { kind } }) => kind === 'step-offered')
    const recordIds = [...new Set(offers.map(({ record }) => record!.id))]
    if (recordIds.length === 0) return
    const rows = await findRecords(
      this.#client,
      recordIds.map((recordId) => ({ ledgerId, recordId })),
    )
    for (const [i, recordId] of recordIds.entries()) this.#offered.set(recordId, rows[i]!)
  }

  #answerOffer(signer: Signer, proposed: ProposedEntry): Promise<EntryRow> {
    return answerOffer(this.#deps, {
      signer,
      author: this.#author,
      proposed,
      row: this.#offered.get(proposed.record!.id) ?? null,
      evidence: this.#evidence,
      receivedRow: receivedRow(this.#request, proposed),
    })
  }

  /**
   * Appends the planned entries. If a record has changed since it was read, its offer is decided again. The first call
   * locks the chain's head. After that call no other request can change a record.
   */
  async #append(signer: Signer, planned: readonly Planned[]): Promise<void> {
    let left = planned
    for (let attempt = 0; left.length > 0; attempt++) {
      if (attempt === PEER_DECISIONS_MAX) throw unavailable('the records change too fast')
      const answers = await appendEntries(
        this.#client,
        left.map(({ entry }) => entry),
      )
      const again: Planned[] = []
      for (const [i, one] of left.entries()) {
        const { outcome } = answers[i]!
        if (outcome === 'appended') this.#appended(one)
        else if (one.entry.kind === 'entry-received' || isOfLedger(outcome)) throw notAppended(outcome)
        else again.push(one)
      }
      left = await this.#answerAgain(signer, again)
    }
  }

  async #answerAgain(signer: Signer, overtaken: readonly Planned[]): Promise<Planned[]> {
    await this.#readOffered(overtaken.map(({ proposed }) => proposed))
    const planned: Planned[] = []
    for (const one of overtaken)
      planned.push({ ...one, entry: await this.#answerOffer(signer, one.proposed) })
    return planned
  }

  #appended({ index, proposed, entry }: Planned): void {
    this.#answer(index, { leaf: proposed.leaf, outcome: 'received', envelope: toBase64(entry.envelope) })
  }
}
