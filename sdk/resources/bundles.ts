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

/** Records of a run: each costs three requests. */
export const RUN_RECORDS_MAX = 10_000
/** Keys that a ledger can have: as many as a bundle takes. */
const KEYS_MAX = 1_024
/** Proofs that are asked for on the way to each of them: a search in 2^53 entries halves that 53 times. */
const PROOFS_PER_KEY_MAX = 128
/** Keys of the agents of one bundle, of which each has 256 at most. */
const SIGNING_KEYS_MAX = 65_536
/** Requests at a time. A server has four streams of entries open for a ledger, and refuses more for a second. */
const CONCURRENCY = 4

type Line = { readonly [member: string]: unknown }
/** Entries of a selection, by seq: null, or of a batch the records that are shown. */
type Plan = {
  readonly shown: Map<number, string[] | null>
  /** Agents that signed one of them themselves. */
  readonly agents: Set<string>
}

/**
 * Bundles (docs/formats/bundles.md): one file that shows entries, with their documents, to somebody who has nothing but a key of the ledger.
 * Each method gives the file's lines, with their newlines. They need a key with the scopes `audit:read` and, but for a range without documents,
 * `records:read`. Nothing is verified here: `verify.bundle` checks the file.
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

  /** A record, with all of its entries so far. */
  async *record(id: string, request: BundleRequest = {}): AsyncGenerator<string, void, undefined> {
    const plan: Plan = { shown: new Map(), agents: new Set() }
    const record = await this.#records.get(id, callOf(request))
    await this.#planRecord(record, plan, request)
    yield* this.#selection({ record: id }, record.ledger, plan, request)
  }

  /** A record and those below it by `parent`, so far. Throws TallystickError if they are more than RUN_RECORDS_MAX. */
  async *run(id: string, request: BundleRequest = {}): AsyncGenerator<string, void, undefined> {
    const plan: Plan = { shown: new Map(), agents: new Set() }
    const root = await this.#records.get(id, callOf(request))
    const records = [root]
    for (const record of records) {
      await this.#planRecord(record, plan, request)
      for await (const child of this.#records.list({ parent: record.id, order: 'asc' }, callOf(request)))
        if (records.push(child) > RUN_RECORDS_MAX)
          throw new TallystickError(
            `the run has more than ${RUN_RECORDS_MAX} records: take a range of entries`,
          )
    }
    yield* this.#selection({ run: id }, root.ledger, plan, request)
  }

  /**
   * The records that the entries `from` to `to` made and that match the filter, with their entries among these: a selection. It costs a request
   * for each entry, and two for each record of a batch.
   */
  async *filter(wanted: BundleFilter, request: BundleRequest = {}): AsyncGenerator<string, void, undefined> {
    const { from, to, ...filter } = wanted
    if (!(Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 <= from && from <= to))
      throw new UsageError('a range is from one seq to the same or a later one')
    if (Object.values(filter).every((one) => one === undefined))
      throw new UsageError(
        'a filter names a type, an agent or a trace; without one take the range, which is provably complete',
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

  /** The entries `from` to `to`, both inclusive. */
  async *range(
    from: number,
    to: number,
    request: BundleRequest = {},
  ): AsyncGenerator<string, void, undefined> {
    if (!(Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 <= from && from <= to))
      throw new UsageError('a range is from one seq to the same or a later one')
    const last = await this.#entries.proof(to, { size: request.size }, callOf(request))
    const { agents, policies } = await this.#needsOf(from, to, request)
    const tree = await this.#readTree(
      last,
      agents,
      request,
      await this.#policiesBefore(from, policies, request),
    )
    const first = await this.#prove(from, tree, request)
    const beside = (proof: EntryProof, isWanted: (range: { start: number; end: number }) => boolean) => {
      const ranges = inclusionRanges(proof.index, tree.size)
      return proof.path.filter((_, i) => isWanted(ranges[i]!))
    }
    const left = beside(first, ({ end }) => end <= from).reverse()
    const right = beside(last, ({ start }) => start > to)
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
    if (home !== tree.ledger)
      throw new UsageError(`the record's home is ${home}: a bundle of it is made there`)
    const seqs = sorted(new Set([...tree.foundation, ...shown.keys()]))
    yield headLine(tree, of, 'selection', request)
    yield* this.#proved(seqs, shown, tree, request)
    yield textOf({ entries: seqs.length })
  }

  /** Lines of these entries with their paths, so many at a time. */
  async *#proved(seqs: readonly number[], shown: Plan['shown'], tree: Tree, request: BundleRequest) {
    const ahead: Promise<Line>[] = []
    for (let i = 0; i < seqs.length || ahead.length > 0; ) {
      for (; i < seqs.length && ahead.length < CONCURRENCY; i++) {
        const line = this.#provedLine(seqs[i]!, shown.get(seqs[i]!) ?? null, tree, request)
        // Awaited in its turn.
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
    if (!line) throw wrongServer(`the entry ${seq} is not there`)
    return { ...shownLine(line, request), path, items: null }
  }

  async #partOfBatch(ids: readonly string[], tree: Tree, request: BundleRequest): Promise<Line> {
    const query = { size: tree.size }
    const proofs: EntryProof[] = []
    const documents: Document[] = []
    // Their order is that of their ids.
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
   * Agents whose keys a range needs: those that signed in it themselves, and those whose keys it is about; and leaves of the policies by
   * which it registers statements. Throws UsageError for a range that begins or ends between a statement and the entry that registers it.
   */
  async #needsOf(from: number, to: number, request: BundleRequest) {
    const agents = new Set<string>()
    const policies = new Set<string>()
    for await (const { seq, kind, signer, envelope } of this.#stream(from, to + 1, request)) {
      if (seq === from && kind === 'statement-registered')
        throw new UsageError(`entry ${from} registers the statement before it: begin with ${from - 1}`)
      if (seq === to && kind === 'statement')
        throw new UsageError(`entry ${to} is a statement, which the next one registers: end with ${to + 1}`)
      if (signer !== undefined) agents.add(predicateOf(envelope).actor)
      else if (ABOUT_KEYS.has(kind)) agents.add(predicateOf(envelope).agent)
      if (kind === 'statement-registered') policies.add(predicateOf(envelope).policy)
    }
    return { agents, policies }
  }

  /** Seq of the ledger's policy, if it stands before the range and statements of the range need it. Earlier policies are not looked for. */
  async #policiesBefore(
    from: number,
    leaves: ReadonlySet<string>,
    request: BundleRequest,
  ): Promise<number[]> {
    if (leaves.size === 0) return []
    const { leaf, seq } = await this.#statements.policy(callOf(request))
    return leaves.has(leaf) && seq < from ? [seq] : []
  }

  /** The agents' keys, and the entries that register and revoke them: all, because each key but the first rests on the ones before it. */
  async #keysOf(agents: Iterable<string>, size: number, request: BundleRequest) {
    const seqs: number[] = []
    const signers = new Map<string, Signer>()
    for (const agent of agents)
      for await (const key of this.#agents.listSigningKeys(agent, {}, callOf(request))) {
        if (signers.size >= SIGNING_KEYS_MAX) throw wrongServer('agents have more keys than there can be')
        signers.set(key.kid, { alg: key.alg, spki: key.spki })
        for (const seq of [key.seq, key.revokedSeq]) if (seq !== null && seq < size) seqs.push(seq)
      }
    return { seqs, signers }
  }

  /** The entries from `from` on and before `end`. */
  #stream(from: number, end: number, request: BundleRequest) {
    return this.#entries.stream({ ...callOf(request), after: from - 1, limit: end - from })
  }

  /** The first entry from `from` on and before `end` that the server signed; null: there is none. */
  async #nextOfServer(from: number, end: number, request: BundleRequest): Promise<number | null> {
    for await (const line of this.#stream(from, end, request)) if (isOfServer(line)) return line.seq
    return null
  }

  /** The last entry before `end` that the server signed. The first one of a ledger is. */
  async #lastOfServer(end: number, request: BundleRequest): Promise<number> {
    for (let span = 1; ; span *= 2) {
      const from = Math.max(0, end - span)
      let last: number | null = null
      for await (const line of this.#stream(from, end, request)) if (isOfServer(line)) last = line.seq
      if (last !== null) return last
      if (from === 0) throw wrongServer('the server signed no entry')
    }
  }

  #prove(seq: number, { size }: { size: number }, request: BundleRequest): Promise<EntryProof> {
    return this.#entries.proof(seq, { size }, callOf(request))
  }

  /**
   * The tree of a proof, with its ledger's definition, its rotations, each the last entry under its key, the entries about these agents' keys,
   * and `more`.
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
      if (!key) throw wrongServer('a proof has no key')
      keys.set(key.kid, key)
      // It takes two at each turn towards a rotation.
      if (keys.size > KEYS_MAX || ++asked > PROOFS_PER_KEY_MAX * keys.size)
        throw wrongServer('its keys come and go as no ledger’s do')
      return key.kid
    }
    // A key that was replaced does not come back, so where both ends have one key no other stands between.
    const rotations = async (from: number, fromKid: string, to: number, toKid: string): Promise<number[]> => {
      if (fromKid === toKid) return []
      const middle = Math.ceil((from + to) / 2)
      // The server signs rotations itself, so none stands where it signs nothing.
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

/** Proofs of others do not say which key the ledger had there. */
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
