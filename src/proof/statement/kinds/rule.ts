import type { IdPrefix } from '../../ids.ts'
import type { JsonObject } from '../../json/json-value.ts'
import type { Fields } from '../check-schemas.ts'
import type { DocumentKind } from '../document-subjects.ts'
import type { KeyUseName } from '../key-uses.ts'

/*
 * A row of the table of kinds: all that is known about one kind of entry, as plain data and two functions. ../kinds.ts puts the rows together.
 */

/**
 * Name of a subject: an id; `type`, a record type `name/version`; a document beside the chain that has no id: the values that
 * rules compared, `<cmp_…>/values`, and a reason in free text, `<rec_…>/reason`; `erased`, any of them that was erased; or
 * `entry`, another ledger's, `<led_…>/<seq>`. Only the last subject may be optional.
 */
export type SubjectRule =
  | Exclude<IdPrefix, 'whk' | 'evt'>
  | 'type'
  | 'values'
  | 'reason?'
  | 'erased'
  | 'entry'
  | 'cmp?'

/** `sha256`: lower-case hex. */
export type Subject = { readonly name: string; readonly sha256: string }
export type Subjects = readonly [Subject, ...Subject[]]

/** Where in the predicate a key stands, with dots between names of members. */
export type GivenKey = { readonly use: KeyUseName; readonly at: string }

export type KindRule = {
  /** The first is what the entry is about. */
  readonly subjects: readonly [SubjectRule, ...SubjectRule[]]
  /** Members of the predicate. */
  readonly fields: Fields
  /** Scope of the API key by which an agent makes it; null: no agent does. */
  readonly scope: string | null
  /** Whether the server makes it, as `system`. */
  readonly system: boolean
  /** Whether an agent may sign it with a key of its own. Not entries that share a record: a peer knows the keys of servers alone. */
  readonly agentSigns?: true
  /** Whether another ledger's agent may offer it: that is the actor then, and the offer entitles it in place of an API key. */
  readonly offered?: true
  /** Whether the database takes it from the worker's login only. */
  readonly workerOnly?: true
  /** Effect on records: its predicate has `record` and `version`, unless it makes many. */
  readonly records?: 'makes' | 'makes many' | 'moves'
  /** Party of a step: see STEP_PARTIES. */
  readonly party?: 'performer' | 'principal' | 'worker' | 'other than the performer'
  /** Documents beside the chain that it digests by its subjects, which can be erased. References lie with the payload. */
  readonly documents?: readonly DocumentKind[]
  /** Definition that the subject digests, H(JCS(…)): a member of the predicate, or an object of members, `named` being the subject's name. */
  readonly defines?:
    | { readonly member: string }
    | { readonly named?: string; readonly members: readonly string[] }
  /**
   * Keys that it gives, if their kids are thumbprints, and the use of the key that it ends without giving another one. KEY_USES says
   * which key endorses them.
   */
  readonly gives?: readonly GivenKey[]
  readonly ends?: KeyUseName
  /**
   * Kind of entry by which another ledger receives it; absent: no other ledger is sent it. An offer is received by the step that takes
   * it or by its refusal.
   */
  readonly receivedBy?: string
  /**
   * Entries with which it travels in a bundle, besides being of its range: all of them, those signed with its key, that of a missing
   * document, a registered statement, or those of its record.
   */
  readonly travelsWith?: 'all' | 'signer' | 'erased document' | 'statement' | 'record'
  /** Events that others hear of, in this order; a cursor counts them. */
  readonly events?: readonly string[]
  /** Throws where members of the statement contradict each other; their formats were checked before. */
  readonly refuse?: (predicate: JsonObject, subjects: Subjects) => void
  /** Changes the state of a ledger's verifier, or throws (ledger/verify-ledger.ts). */
  readonly follow?: Follow
  /** A step's check of its party, and its change of the record besides the state (ledger/gated-record.ts). */
  readonly step?: Step
}

/** Row of a kind that the server alone makes. */
export const SYSTEM = { scope: null, system: true } as const

/** Verified entry, as far as rows look at it. */
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

/** State of a ledger that entries change: the parts of LedgerVerifier (ledger/), as far as rows need them. */
export type LedgerState = {
  readonly whole: {
    /** Throws unless the entry names the state before it. */
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
  readonly keeping: {
    setRule(seq: number, predicate: JsonObject): void
    setHold(seq: number, predicate: JsonObject): void
    liftHold(predicate: JsonObject): void
    erase(by: number, actor: string, name: string, predicate: JsonObject): void
    verifyErased(predicate: JsonObject): void
  }
}

/**
 * One gated record's life, as its statements tell it (docs/formats/statements.md).
 *
 * A step says itself which entry it follows (`previous`, `version`, `from`), so a step that was left out, doubled
 * or exchanged is found within the record alone. The step's agent is checked too: an agent that can sign, but is
 * neither principal nor performer, must not be able to move a record in a way that verifies.
 */
export type GatedRecord = {
  readonly payloadDigest: string
  readonly principal: string
  readonly gate: string
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  /** Set by who knows its type. */
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

/** A predicate's members, whose formats parseStatement has checked. */
export type Members = Readonly<Record<string, unknown>>

/** Event of a gated record. `leaf`: lower-case hex. */
export type StepEvent = {
  readonly leaf: string
  readonly atMs: number
  readonly statement: { readonly kind: string; readonly subjects: Subjects }
}

export type Step = (record: GatedRecord, event: StepEvent, fields: Members) => void
