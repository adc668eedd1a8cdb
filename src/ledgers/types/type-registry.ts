import type pg from 'pg'
import { findType } from '../../db/ledgers/types.ts'
import { ApiError } from '../../errors.ts'
import { orOverloaded } from '../../load/threads/or-overloaded.ts'
import type { ThreadPool } from '../../load/threads/pool.ts'
import { toHex, utf8Encode } from '../../proof/bytes.ts'
import type { Uuid } from '../../proof/ids.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { nativeProviders } from '../../signing/native.ts'
import { BUILT_IN_TYPES, type RecordType } from './built-in.ts'
import { type CompiledType, compileType, type TypeDefinition } from './definition.ts'
import { VALIDATION_THREAD_MS_MAX } from './limits.ts'
import { type Judgement, judge } from './rules/judge.ts'
import type { Rule } from './rules/rule.ts'
import { VALIDATION_LOOP_STEPS_MAX } from './schema/limits.ts'
import type { Schema, ValidationResult } from './schema/schema.ts'
import type { validateText } from './schema/validate-text.ts'
import { TypeCache } from './type-cache.ts'
import { WorkShares } from './work-shares.ts'

type Ledger = { readonly ledger: string; readonly ledgerId: Uuid }
type Document = { readonly value: JsonValue; readonly canonical: string }
type Members = Record<string, unknown>

type ValidationThreads = Pick<ThreadPool<{ validateText: typeof validateText }>, 'run'>

/**
 * Estimated memory of a compiled definition, in bytes for each byte of its text. It is for the keys, values and
 * messages of the definition's checks.
 */
const MEMORY_PER_DEFINITION_BYTE = 4
const HELD_PER_RULE_BYTES = 512

/**
 * The types of all ledgers, each compiled once per process. The time for compiling and validating counts towards the
 * share of the type's ledger.
 */
export class TypeRegistry {
  readonly #pool: pg.Pool
  readonly #cache = new TypeCache<RecordType>()
  readonly #threads: ValidationThreads
  readonly #shares: WorkShares

  constructor(
    deps: { readonly readPool: pg.Pool; readonly threads: ValidationThreads },
    shares = new WorkShares(),
  ) {
    this.#pool = deps.readPool
    this.#threads = deps.threads
    this.#shares = shares
  }

  get figures() {
    return { cache: this.#cache.figures, work: this.#shares.figures }
  }

  /** Finds a type by its name. Returns null if the ledger has no such type. */
  async find(ledger: Ledger, name: string): Promise<RecordType | null> {
    const load = () => this.#load(ledger, name)
    return BUILT_IN_TYPES.get(name) ?? (await this.#cache.get(ledger.ledger, name, load))
  }

  /** Returns a type. Throws `unknown_type` with `members` if the ledger has no such type. */
  async get(ledger: Ledger, name: string, members: Members = {}): Promise<RecordType> {
    const type = await this.find(ledger, name)
    if (type) return type
    throw new ApiError('unknown_type', `the ledger has no type ${name}`, {
      members: { ...members, recordType: name },
    })
  }

  async #load(ledger: Ledger, name: string): Promise<{ value: RecordType; bytes: number } | null> {
    const row = await findType(this.#pool, ledger.ledgerId, name)
    if (!row) return null
    const definition = parseJsonText(row.definition) as unknown as TypeDefinition
    const compiled = await this.compile(ledger, definition)
    const { payload, evidence, rules } = compiled
    const bytes =
      MEMORY_PER_DEFINITION_BYTE * row.definition.length +
      (payload?.bytes ?? 0) +
      (evidence?.bytes ?? 0) +
      HELD_PER_RULE_BYTES * rules.length
    // The digest is computed from the definition that was compiled, because the digest in the database may be wrong.
    const digest = toHex(nativeProviders.sha256(utf8Encode(row.definition)))
    return { value: { ...compiled, name, digest }, bytes }
  }

  /** Compiles a definition. Throws SchemaError. */
  compile(ledger: Ledger, definition: TypeDefinition): CompiledType | Promise<CompiledType> {
    return this.#shares.run(ledger.ledger, () => compileType(definition))
  }

  /** Validates a document. Throws `schema_too_costly` with `members`. Throws `overloaded` if a thread fails. */
  validate(
    ledger: Ledger,
    schema: Schema,
    document: Document,
    members: Members = {},
  ): Validity | Promise<Validity> {
    const found = this.#shares.run(ledger.ledger, () =>
      schema.validate(document.value, Buffer.byteLength(document.canonical), VALIDATION_LOOP_STEPS_MAX),
    )
    return found instanceof Promise
      ? found.then((late) => this.#finish(ledger, schema, document, late, members))
      : this.#finish(ledger, schema, document, found, members)
  }

  #finish(
    ledger: Ledger,
    schema: Schema,
    { canonical }: Document,
    found: ValidationResult,
    members: Members,
  ): Validity | Promise<Validity> {
    if (found.outcome !== 'unfinished') return requireKnown(found, members)
    return this.#inThread(ledger.ledger, schema, canonical).then((late) => requireKnown(late, members))
  }

  /**
   * Validates in a thread. The time counts towards the ledger's share too, because the thread takes CPU time from other
   * ledgers.
   */
  async #inThread(ledger: string, { source }: Schema, document: string): Promise<ValidationResult> {
    const work = this.#threads.run(
      'validateText',
      { source, document },
      { owner: ledger, bytes: source.text.length + document.length, msMax: VALIDATION_THREAD_MS_MAX },
    )
    const { found, ms } = await orOverloaded(work, 'the document was not validated')
    this.#shares.charge(ledger, ms)
    return found
  }

  judge(
    ledger: Ledger,
    rules: readonly Rule[],
    documents: { readonly payload: JsonValue; readonly evidence: JsonValue },
  ): Judgement | Promise<Judgement> {
    return this.#shares.run(ledger.ledger, () => judge(rules, { ...documents, tolerances: null }))
  }
}

export type Validity = Extract<ValidationResult, { outcome: 'valid' | 'invalid' }>

function requireKnown(found: ValidationResult, members: Members): Validity {
  if (found.outcome === 'valid' || found.outcome === 'invalid') return found
  throw new ApiError(
    'schema_too_costly',
    'the type’s schema needs more steps than a document of this size may take',
    { members },
  )
}
