import type { BundleFilter } from '../../src/proof/bundle/is-filtered.ts'
import { toHex } from '../../src/proof/bytes.ts'
import { inclusionRanges } from '../../src/proof/tree/tree-ranges.ts'
import { TallystickError, UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { wrongServer } from '../http/answers.ts'
import type { CallOptions } from '../http/transport.ts'
import type { AnyTypes } from '../typed.ts'
import type { Agents } from './agents.ts'
import {
  type BundleRequest,
  type Document,
  documentOf,
  headLine,
  openEnvelope,
  predicateOf,
  type Signer,
  selectedOf,
  shownLine,
  type Tree,
  textOf,
} from './bundle-lines.ts'
import type { Entries, EntryProof } from './entries.ts'
import type { Records } from './records.ts'
import type { Statements } from './statements.ts'

/** Maximum number of records of a run. Reading one record takes three requests. */
export const RUN_RECORDS_MAX = 10_000
/** Maximum number of a ledger's keys in a bundle. */
const KEYS_MAX = 1_024
/**
 * Maximum number of proofs that are read to find each key. A binary search in 2^53 entries takes 53 steps, with at most
 * two proofs for each step.
 */
const PROOFS_PER_KEY_MAX = 128
/** Maximum number of agents' keys in a bundle. An agent has at most 256 keys. */
const SIGNING_KEYS_MAX = 65_536
/**
 * Number of parallel requests. A server allows at most four open streams of entries for each ledger. It refuses further
 * streams for a second.
 */
const CONCURRENCY = 4

type Line = { readonly [member: string]: unknown }
/**
 * Entries of a selection. `shown` maps an entry's seq to the ids of the batch's records that the bundle shows, or to
 * null if it shows the whole entry.
 */
type Plan = {
  readonly shown: Map<number, string[] | null>
  /** Agents that signed one of the entries with their own key. */
  readonly agents: Set<string>
}

/**
 * Makes bundles (docs/formats/bundles.md).
 *
 * A bundle is one file that shows entries and their documents to a reader who has only a key of the ledger. Each
 * method yields the lines of the file, with newlines. The API key needs the scope `audit:read`, and also
 * `records:read` except for a range without documents. Nothing is verified here; `verify.bundle` checks the file.
 */
export class Bundles {
  readonly #records: Records<AnyTypes>
  readonly #entries: Entries
  readonly #agents: Agents
  readonly #statements: Statements

  constructor(records: Records<AnyTypes>, entries: Entries, agents: Agents, statements: Statements) {
    this.#records = records
    this.#entries = entries
    this.#agents = agents
    this.#statements = statements
  }

  /** Yields the bundle of a record with all of its entries so far. */
  async *record(id: string, request: BundleRequest = {}): AsyncGenerator<string, void, undefined> {
    const plan: Plan = { shown: new Map(), agents: new Set() }
    const record = await this.#records.get(id, callOf(request))
    await this.#planRecord(record, plan, request)
    yield* this.#selection({ record: id }, record.ledger, plan, request)
  }

  /**
   * Yields the bundle of a record and all records below it by `parent`. Throws TallystickError if there are more than
   * RUN_RECORDS_MAX records.
   */
  async *run(id: string, request: BundleRequest = {}): AsyncGenerator<string, void, undefined> {
    const plan: Plan = { shown: new Map(), agents: new Set() }
    const root = await this.#records.get(id, callOf(request))
    const records = [root]
    for (const record of records) {
      await this.#planRecord(record, plan, request)
      for await (const child of this.#records.list({ parent: record.id, order: 'asc' }, callOf(request)))
        if (records.push(child) > RUN_RECORDS_MAX)
          throw new TallystickError(
            `the run has more than ${RUN_RECORDS_MAX} records: use a range of entries`,
          )
    }
    yield* this.#selection({ run: id }, root.ledger, plan, request)
  }

  /**
   * Yields a bundle of the records that match the filter and were recorded or created in the range `from` to `to`. It
   * contains their entries in this range. It takes one request per entry, and two per record of a batch. Throws
   * UsageError for an invalid range or an empty filter.
   */
  async *filter(wanted: BundleFilter, request: BundleRequest = {}): AsyncGenerator<string, void, undefined> {
    const { from, to, ...filter } = wanted
    if (!(Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 <= from && from <= to))
      throw new UsageError('`from` and `to` must each be a seq, and `from` must be at most `to`')
    if (Object.values(filter).every((one) => one === undefined))
      throw new UsageError(
        'a filter needs a type, an agent or a trace: for all entries, make a bundle of the range, which is provably complete',
      )
    const last = await this.#entries.proof(to, { size: request.size }, callOf(request))
    const { agents } = await this.#needsOf(from, to, request)
    const tree = await this.#readTree(last, agents, request)
    yield headLine(tree, { selection: { from, to, ...defined(filter) } }, 'selection', request)
    const foundation = [...tree.foundation]
    const gated = new Set<string>()
    const erasures = new Set<number>()
    let entries = 0
    const lines = async function* (bundles: Bundles) {
      for await (const line of bundles.#stream(from, to + 1, request)) {
        while (foundation.length > 0 && foundation[0]! < line.seq)
          yield { seq: foundation.shift()!, ids: null }
        const ids = selectedOf(line, filter, gated)
        const isErasure = erasures.delete(line.seq)
        const isFoundation = foundation[0] === line.seq
        if (isFoundation) foundation.shift()
        if (ids !== undefined) {
          for (const { subject, erasedBy } of line.documents)
            if (erasedBy !== null && (ids === null || ids.includes(subject))) erasures.add(erasedBy)
        }
        if (ids !== undefined || isErasure || isFoundation) yield { seq: line.seq, ids: ids ?? null }
      }
      for (const seq of sorted(new Set([...foundation, ...erasures]))) yield { seq, ids: null }
    }
    const ahead: Promise<Line>[] = []
    for await (const { seq, ids } of lines(this)) {
      entries++
      const line = this.#provedLine(seq, ids, tree, request)
      line.catch(() => {})
      ahead.push(line)
      if (ahead.length >= CONCURRENCY) yield textOf(await ahead.shift()!)
    }
    for (const line of ahead) yield textOf(await line)
    yield textOf({ entries })
  }

  /** Yields the bundle of the entries `from` to `to`, both inclusive. Throws UsageError for an invalid range. */
  async *range(
    from: number,
    to: number,
    request: BundleRequest = {},
  ): AsyncGenerator<string, void, undefined> {
    if (!(Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 <= from && from <= to))
      throw new UsageError('`from` and `to` must each be a seq, and `from` must be at most `to`')
    const last = await this.#entries.proof(to, { size: request.size }, callOf(request))
    const { agents, policies } = await this.#needsOf(from, to, request)
    const tree = await this.#readTree(
      last,
      agents,
      request,
      await this.#policiesBefore(from, policies, request),
    )
    const first = await this.#prove(from, tree, request)
    const proofHashes = (proof: EntryProof, isWanted: (range: { start: number; end: number }) => boolean) => {
      const ranges = inclusionRanges(proof.index, tree.size)
      return proof.path.filter((_, i) => isWanted(ranges[i]!))
    }
    const left = proofHashes(first, ({ end }) => end <= from).reverse()
    const right = proofHashes(last, ({ start }) => start > to)
    yield headLine(tree, { range: { from, to, left, right } }, 'complete', request)
    const isOutside = (seq: number) => seq < from || seq > to
    const before = tree.foundation.filter((seq) => seq < from)
    yield* this.#proved(before, new Map(), tree, request)
    const outside = new Set(tree.foundation.filter((seq) => seq > to))
    for await (const line of this.#stream(from, to + 1, request)) {
      const shown = shownLine(line, request)
      for (const { erasedBy } of shown.documents)
        if (erasedBy !== null && isOutside(erasedBy)) outside.add(erasedBy)
      yield textOf(shown)
    }
    yield* this.#proved(sorted(outside), new Map(), tree, request)
    yield textOf({ entries: before.length + (to - from + 1) + outside.size })
  }

  async #planRecord(record: api.LedgerRecord, plan: Plan, request: BundleRequest): Promise<void> {
    const { id, batch, gated, entry, erasure, actor } = record
    const { shown, agents } = plan
    if (erasure) shown.set(erasure.seq, null)
    if (gated === null) {
      shown.set(entry.seq, batch === null ? null : [...(shown.get(entry.seq) ?? []), id])
      if (entry.signedBy === 'agent') agents.add(actor)
      return
    }
    for await (const { seq, document, signedBy, envelope } of this.#records.entries(id, callOf(request))) {
      shown.set(seq, null)
      if (document?.erasedBy != null) shown.set(document.erasedBy, null)
      if (signedBy === 'agent') agents.add(predicateOf(envelope).actor)
    }
  }

  async *#selection(
    of: { record: string } | { run: string },
    home: string,
    plan: Plan,
    request: BundleRequest,
  ) {
    const { shown, agents } = plan
    const top = Math.max(...shown.keys())
    const tree = await this.#readTree(
      await this.#entries.proof(top, { size: request.size }, callOf(request)),
      agents,
      request,
    )
    if (home !== tree.ledger) throw new UsageError(`the record's home is ${home}: make its bundle there`)
    const seqs = sorted(new Set([...tree.foundation, ...shown.keys()]))
    yield headLine(tree, of, 'selection', request)
    yield* this.#proved(seqs, shown, tree, request)
    yield textOf({ entries: seqs.length })
  }

  /** Yields the lines of these entries, each with its Merkle path. Reads up to CONCURRENCY entries ahead. */
  async *#proved(seqs: readonly number[], shown: Plan['shown'], tree: Tree, request: BundleRequest) {
    const ahead: Promise<Line>[] = []
    for (let i = 0; i < seqs.length || ahead.length > 0; ) {
      for (; i < seqs.length && ahead.length < CONCURRENCY; i++) {
        const line = this.#provedLine(seqs[i]!, shown.get(seqs[i]!) ?? null, tree, request)
        // Prevents an unhandled rejection. The promise is awaited below, in order.
        line.catch(() => {})
        ahead.push(line)
      }
      yield textOf(await ahead.shift()!)
    }
  }

  async #provedLine(seq: number, ids: string[] | null, tree: Tree, request: BundleRequest): Promise<Line> {
    if (ids !== null) return this.#partOfBatch(ids, tree, request)
    const [{ path }, line] = await Promise.all([
      this.#prove(seq, tree, request),
      this.#readLine(seq, request),
    ])
    if (!line) throw wrongServer(`the server has no entry ${seq}`)
    return { ...shownLine(line, request), path, items: null }
  }

  async #partOfBatch(ids: readonly string[], tree: Tree, request: BundleRequest): Promise<Line> {
    const query = { size: tree.size }
    const proofs: EntryProof[] = []
    const documents: Document[] = []
    // The ids are sorted, because a batch contains its records in the order of their ids.
    for (const id of ids.toSorted()) {
      const [proof, record] = await Promise.all([
        this.#records.proof(id, query, callOf(request)),
        this.#records.get(id, callOf(request)),
      ])
      proofs.push(proof)
      documents.push(documentOf(record))
    }
    const { entry, path } = proofs[0]!
    const signer = tree.signers.get(toHex(openEnvelope(entry.envelope).kid))
    const line = shownLine({ ...entry, documents, items: null, ...(signer && { signer }) }, request)
    return { ...line, path, items: proofs.map(({ item }) => item) }
  }

  async #readLine(seq: number, request: BundleRequest): Promise<api.EntryLine | null> {
    for await (const line of this.#stream(seq, seq + 1, request)) return line
    return null
  }

  /**
   * Returns what the bundle needs from outside of the range:
   *
   * - `agents`: agents that signed entries of the range, and agents about whose keys the range has entries.
   * - `policies`: leaf hashes of the policies by which the statements of the range were registered.
   *
   * Throws UsageError if the range begins or ends between a statement and the entry that registers the statement.
   */
  async #needsOf(from: number, to: number, request: BundleRequest) {
    const agents = new Set<string>()
    const policies = new Set<string>()
    for await (const { seq, kind, signer, envelope } of this.#stream(from, to + 1, request)) {
      if (seq === from && kind === 'statement-registered')
        throw new UsageError(`entry ${from} registers the statement at ${from - 1}: start with ${from - 1}`)
      if (seq === to && kind === 'statement')
        throw new UsageError(
          `entry ${to} is a statement, which entry ${to + 1} registers: end with ${to + 1}`,
        )
      if (signer !== undefined) agents.add(predicateOf(envelope).actor)
      else if (ABOUT_KEYS.has(kind)) agents.add(predicateOf(envelope).agent)
      if (kind === 'statement-registered') policies.add(predicateOf(envelope).policy)
    }
    return { agents, policies }
  }

  /**
   * Returns a list with the seq of the current policy if statements of the range need this policy and it was set before
   * the range. Returns an empty list otherwise. Earlier policies are not searched for.
   */
  async #policiesBefore(
    from: number,
    leaves: ReadonlySet<string>,
    request: BundleRequest,
  ): Promise<number[]> {
    if (leaves.size === 0) return []
    const { leaf, seq } = await this.#statements.policy(callOf(request))
    return leaves.has(leaf) && seq < from ? [seq] : []
  }

  /**
   * Returns all keys of the agents, and the seqs of the entries that register or revoke these keys. Each key except an
   * agent's first one depends on earlier keys.
   */
  async #keysOf(agents: Iterable<string>, size: number, request: BundleRequest) {
    const seqs: number[] = []
    const signers = new Map<string, Signer>()
    for (const agent of agents)
      for await (const key of this.#agents.listSigningKeys(agent, {}, callOf(request))) {
        if (signers.size >= SIGNING_KEYS_MAX)
          throw wrongServer('the server answered with more keys of agents than possible')
        signers.set(key.kid, { alg: key.alg, spki: key.spki })
        for (const seq of [key.seq, key.revokedSeq]) if (seq !== null && seq < size) seqs.push(seq)
      }
    return { seqs, signers }
  }

  /** Streams the entries from `from` up to, but not including, `end`. */
  #stream(from: number, end: number, request: BundleRequest) {
    return this.#entries.stream({ ...callOf(request), after: from - 1, limit: end - from })
  }

  /**
   * Returns the seq of the first entry between `from` (inclusive) and `end` (exclusive) that the server signed. Returns
   * null if there is no such entry.
   */
  async #nextOfServer(from: number, end: number, request: BundleRequest): Promise<number | null> {
    for await (const line of this.#stream(from, end, request)) if (isOfServer(line)) return line.seq
    return null
  }

  /**
   * Returns the seq of the last entry before `end` that the server signed. Such an entry always exists, because the
   * server signs the first entry of each ledger.
   */
  async #lastOfServer(end: number, request: BundleRequest): Promise<number> {
    for (let span = 1; ; span *= 2) {
      const from = Math.max(0, end - span)
      let last: number | null = null
      for await (const line of this.#stream(from, end, request)) if (isOfServer(line)) last = line.seq
      if (last !== null) return last
      if (from === 0) throw wrongServer('the server answered that no entry is signed')
    }
  }

  #prove(seq: number, { size }: { size: number }, request: BundleRequest): Promise<EntryProof> {
    return this.#entries.proof(seq, { size }, callOf(request))
  }

  /**
   * Returns the tree of a proof with its foundation. The foundation contains the seqs of these entries: the ledger's
   * definition, the last entry under each replaced key, the entries about the agents' keys, and the further entries
   * `more`.
   */
  async #readTree(
    { treeSize, checkpoint }: EntryProof,
    agents: Iterable<string>,
    request: BundleRequest,
    more: readonly number[] = [],
  ): Promise<Tree> {
    const keys = new Map<string, EntryProof['keys'][number]>()
    let asked = 0
    const kidAt = async (seq: number): Promise<string> => {
      const {
        keys: [key],
      } = await this.#prove(seq, { size: treeSize }, request)
      if (!key) throw wrongServer('the server answered with a proof without a key')
      keys.set(key.kid, key)
      // The number of proofs is limited, because a wrong server could make the search endless. An honest server needs
      // at most two proofs for each step.
      if (keys.size > KEYS_MAX || ++asked > PROOFS_PER_KEY_MAX * keys.size)
        throw wrongServer('the server answered with keys in an impossible order')
      return key.kid
    }
    // Binary search. A replaced key never comes back. So if the keys at both ends are equal, there is no rotation
    // between them.
    const rotations = async (from: number, fromKid: string, to: number, toKid: string): Promise<number[]> => {
      if (fromKid === toKid) return []
      const middle = Math.ceil((from + to) / 2)
      // The server signs rotations itself, so a range without entries signed by the server contains no rotation.
      const next = await this.#nextOfServer(middle, to, request)
      if (next === null) return to - from === 1 ? [from] : rotations(from, fromKid, middle, toKid)
      const kid = await kidAt(next)
      return [...(await rotations(from, fromKid, middle, kid)), ...(await rotations(next, kid, to, toKid))]
    }
    const { ledger } = await this.#prove(0, { size: treeSize }, request)
    const last = await this.#lastOfServer(treeSize, request)
    const found = await rotations(0, await kidAt(0), last, await kidAt(last))
    const { seqs, signers } = await this.#keysOf(agents, treeSize, request)
    const foundation = sorted(new Set([0, ...found, ...seqs, ...more]))
    return { ledger: ledger.id, size: treeSize, checkpoint, keys: [...keys.values()], foundation, signers }
  }
}

function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/**
 * Returns whether the server signed the entry. The proof of such an entry shows which key the ledger had at the time of
 * the entry.
 */
function isOfServer({ kind, signer }: api.EntryLine): boolean {
  return signer === undefined && kind !== 'statement'
}

const ABOUT_KEYS: ReadonlySet<string> = new Set(['agent-key-registered', 'agent-key-revoked'])

function callOf({ size: _, documents: __, tool: ___, ...options }: BundleRequest): CallOptions {
  return options
}

function sorted(seqs: Iterable<number>): number[] {
  return [...seqs].sort((a, b) => a - b)
}
