import type { IdPrefix } from '../../ids.ts'
import type { JsonObject } from '../../json/json-value.ts'
import type { Fields } from '../check-schemas.ts'
import type { DocumentKind } from '../document-subjects.ts'
import type { KeyUseName } from '../key-uses.ts'

/*
 * A row of the table of kinds. It contains everything about one kind of entry, as plain data and three functions.
 * ../kinds.ts joins the rows.
 */

/**
 * Form of a subject's name. Only the last subject may be optional.
 *
 * - the prefix of an id: an id with this prefix
 * - `type`: a record type `name/version`
 * - `values`: the values that rules compared, `<cmp_…>/values`
 * - `reason?`: a reason in free text, `<rec_…>/reason`
 * - `erased`: any erased document
 * - `entry`: an entry of another ledger, `<led_…>/<seq>`
 */
export type SubjectRule =
  | Exclude<IdPrefix, 'whk' | 'evt'>
  | 'type'
  | 'values'
  | 'reason?'
  | 'erased'
  | 'entry'
  | 'cmp?'

/** A subject of a statement. `sha256` is in lower-case hex. */
export type Subject = { readonly name: string; readonly sha256: string }
export type Subjects = readonly [Subject, ...Subject[]]

/** A key in the predicate. `at`: path of the key, with dots between member names. */
export type GivenKey = { readonly use: KeyUseName; readonly at: string }

export type KindRule = {
  /** Rules of the subjects. The entry is about the first subject. */
  readonly subjects: readonly [SubjectRule, ...SubjectRule[]]
  readonly fields: Fields
  /** Scope that an API key needs to make the entry. null if agents cannot make the entry. */
  readonly scope: string | null
  /** True if the server may make the entry as `system`. */
  readonly system: boolean
  /**
   * Present if an agent may sign the entry with its own key. Entries that share a record must not be signed by agents,
   * because a peer knows only the keys of servers.
   */
  readonly agentSigns?: true
  /**
   * Present if another ledger's agent may offer the step. That agent is then the actor of the step. It has no API key
   * here, so its offer must allow the step.
   */
  readonly offered?: true
  /** Present if the database accepts the entry only from the worker's login. */
  readonly workerOnly?: true
  /** Effect of the entry on records. The predicate has `record` and `version` if the effect is `makes` or `moves`. */
  readonly records?: 'makes' | 'makes many' | 'moves'
  /** Party of a step (see STEP_PARTIES). */
  readonly party?: 'performer' | 'principal' | 'worker' | 'other than the performer'
  /**
   * Kinds of documents that the subjects digest. These documents are stored beside the chain and can be erased.
   * References are stored with the payload.
   */
  readonly documents?: readonly DocumentKind[]
  /**
   * Definition that the subject digests as H(JCS(…)). With `member`, the definition is that member of the predicate.
   * With `members`, it is an object of those members. `named`: name of one more member of this object, whose value is
   * the subject's name.
   */
  readonly defines?:
    | { readonly member: string }
    | { readonly named?: string; readonly members: readonly string[] }
  /**
   * Keys that the entry introduces and whose kids are thumbprints. KEY_USES defines which key endorses a new key.
   * `ends`: use of the key that the entry ends without a successor.
   */
  readonly gives?: readonly GivenKey[]
  readonly ends?: KeyUseName
  /**
   * Kind of the entry by which another ledger receives this entry. Absent if this entry is not sent. An offer that is
   * taken is received by the step that takes it. An offer that is refused is received by the refusal.
   */
  readonly receivedBy?: string
  /**
   * Reason for which a bundle includes the entry although the entry lies outside of the bundle's range.
   *
   * - `all`: every bundle includes the entry.
   * - `signer`: the entry is about a key that signed an entry of the bundle.
   * - `erased document`: the entry erased a document that is missing in the bundle.
   * - `statement`: a registered statement in the bundle needs the entry.
   * - `record`: the entry is about a record of the bundle.
   */
  readonly travelsWith?: 'all' | 'signer' | 'erased document' | 'statement' | 'record'
  /**
   * Events that are made from the entry, in this order. The cursor of an event contains the event's index in this list.
   */
  readonly events?: readonly string[]
  /** Throws if members of the statement contradict each other. Their formats were checked before. */
  readonly refuse?: (predicate: JsonObject, subjects: Subjects) => void
  /** Changes the state of a LedgerVerifier, or throws (ledger/verify-ledger.ts). */
  readonly follow?: Follow
  /**
   * Checks the party of a step. Changes the record, except its state, version and last leaf (ledger/gated-record.ts).
   */
  readonly step?: Step
}

/** Columns of a kind whose entries only the server makes. */
export const SYSTEM = { scope: null, system: true } as const

/** Members of a verified entry that the functions of rows use. */
export type FollowedEntry = {
  readonly seq: number
  readonly leaf: Uint8Array
  readonly ledger: string
  readonly actor: string
  readonly key: string | null
  readonly atMs: number
}

export type FollowedStatement = {
  readonly kind: string
  readonly subjects: Subjects
  readonly predicate: JsonObject
  readonly actor: string
  readonly onBehalfOf: string | null
}

export type Follow = (ledger: LedgerState, statement: FollowedStatement, entry: FollowedEntry) => void

/** Part of LedgerVerifier's state (ledger/) that the functions of rows use. */
export type LedgerState = {
  readonly whole: {
    /** Throws if `found` is not the state of the ledger before the entry. */
    verifyRestored(found: { readonly size: number; readonly chain: string }): void
    onErasure(atMs: number, isStored: boolean): void
  }
  readonly keys: {
    readonly current: string | null
    rotate(kid: string, seq: number): void
    refuse(kid: string): void
  }
  readonly agentKeys: {
    register(entry: Pick<FollowedEntry, 'ledger' | 'seq'>, predicate: JsonObject): void
    revoke(predicate: JsonObject, seq: number): void
    refuse(kid: string): void
  }
  readonly actors: {
    registerAgent(agent: string, digest: string): void
    disableAgent(agent: string, digest: string, atMs: number): void
    verifyRegistered(agent: string, digest: string): void
    createKey(key: string, digest: string, made: JsonObject, by: FollowedEntry): void
    revokeKey(key: string, digest: string, atMs: number): void
  }
  readonly types: {
    register(type: string, digest: string, agentSigned: boolean): void
    verifyDigest(type: string, digest: string): void
    isAgentSigned(type: string): boolean
  }
  readonly records: {
    create(event: StepEvent & { readonly seq: number }, agentSigned: boolean): void
    addBatch(name: string, seq: number): void
    addStatement(name: string, seq: number): void
    addCompletion(completion: Subject, seq: number): void
    verifyShared(record: Subject, party: string): void
    verifyDigested(name: string, sha256: string, seq: number): void
  }
  readonly peers: {
    add(entry: FollowedEntry, statement: FollowedStatement, kid: string): void
    change(about: Subject, kind: string, seq: number): void
    share(seq: number, statement: FollowedStatement): void
    offer(entry: FollowedEntry, statement: FollowedStatement): void
  }
  readonly statements: {
    setPolicy(entry: FollowedEntry, statement: FollowedStatement): void
    register(entry: FollowedEntry, statement: FollowedStatement): void
  }
  readonly erasures: { explain(by: number, seq: number, name: string, sha256: string): boolean }
  readonly retention: {
    setRule(seq: number, predicate: JsonObject): void
    setHold(seq: number, predicate: JsonObject): void
    liftHold(predicate: JsonObject): void
    erase(by: number, actor: string, name: string, predicate: JsonObject): void
    verifyErased(predicate: JsonObject): void
  }
}

/**
 * State of a gated record, rebuilt from its statements (docs/formats/statements.md).
 *
 * A step names the entry that it follows (`previous`, `version`, `from`). So the record's own entries show whether a
 * step was left out, duplicated or exchanged. The agent that takes the step is checked too: an agent that can sign, but
 * is neither principal nor performer, must not be able to change a record.
 */
export type GatedRecord = {
  readonly payloadDigest: string
  readonly principal: string
  readonly gate: string
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  /** True if agents must sign their own steps. The caller sets the value, because only the caller knows the type. */
  agentSigned: boolean
  performer: string | null
  state: string
  version: number
  lastLeaf: string
  revisions: number
  completion: Subject | null
  outcome: string | null
  verdictLeaf: string | null
}

/** Members of a predicate. parseStatement has checked their formats. */
export type Members = Readonly<Record<string, unknown>>

/** Event of a gated record. `leaf` is in lower-case hex. */
export type StepEvent = {
  readonly leaf: string
  readonly atMs: number
  readonly statement: { readonly kind: string; readonly subjects: Subjects }
}

export type Step = (record: GatedRecord, event: StepEvent, fields: Members) => void
