import type pg from 'pg'
import { findType } from '../../db/ledgers/types.ts'
import { ApiError } from '../../errors.ts'
import { toHex, utf8Encode } from '../../proof/bytes.ts'
import type { Uuid } from '../../proof/ids.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { nativeProviders } from '../../signing/native.ts'
import { BUILT_IN_TYPES, type RecordType } from './built-in.ts'
import { type CompiledType, compileType, type TypeDefinition } from './definition.ts'
import { type Judgement, judge } from './rules/judge.ts'
import type { Rule } from './rules/rule.ts'
import type { Schema, ValidationResult } from './schema/schema.ts'
import { TypeCache } from './type-cache.ts'
import { WorkShares } from './work-shares.ts'

type Ledger = { readonly ledger: string; readonly ledgerId: Uuid }
type Members = Record<string, unknown>

/** Keys, values and messages of checks hold this many times the text of a definition. */
const HELD_PER_DEFINITION_BYTE = 4
const HELD_PER_RULE_BYTES = 512

/** The types of all ledgers, compiled once a process, and what may be done with them at whose expense. */
export class TypeRegistry {
  readonly #pool: pg.Pool
  readonly #cache = new TypeCache<RecordType>()
  readonly #shares: WorkShares

  constructor(deps: { readonly readPool: pg.Pool }, shares = new WorkShares()) {
    this.#pool = deps.readPool
    this.#shares = shares
  }

  get figures() {
    return { cache: this.#cache.figures, work: this.#shares.figures }
  }

  /** null where the ledger has no type of this name. */
  async find(ledger: Ledger, name: string): Promise<RecordType | null> {
    const load = () => this.#load(ledger, name)
    return BUILT_IN_TYPES.get(name) ?? (await this.#cache.get(ledger.ledger, name, load))
  }

  /** Throws `unknown_type`, with `members`. */
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
      HELD_PER_DEFINITION_BYTE * row.definition.length +
      (payload?.bytes ?? 0) +
      (evidence?.bytes ?? 0) +
      HELD_PER_RULE_BYTES * rules.length
    // Digest of what was compiled: the column beside it may say something else.
    const digest = toHex(nativeProviders.sha256(utf8Encode(row.definition)))
    return { value: { ...compiled, name, digest }, bytes }
  }

  /** Throws SchemaError. */
  compile(ledger: Ledger, definition: TypeDefinition): CompiledType | Promise<CompiledType> {
    return this.#shares.run(ledger.ledger, () => compileType(definition))
  }

  /** `bytes`: length of the document's canonical text. Throws `schema_too_costly`, with `members`. */
  validate(
    ledger: Ledger,
    schema: Schema,
    document: { readonly value: JsonValue; readonly bytes: number },
    members: Members = {},
  ): Validity | Promise<Validity> {
    return this.#shares.run(ledger.ledger, () => {
      const result = schema.validate(document.value, document.bytes)
      if (result.outcome !== 'too costly') return result
      throw new ApiError(
        'schema_too_costly',
        'the type’s schema takes more steps than a document of this size may cost',
        { members },
      )
    })
  }

  /** Judges two valid documents by the type's rules. */
  judge(
    ledger: Ledger,
    rules: readonly Rule[],
    documents: { readonly payload: JsonValue; readonly evidence: JsonValue },
  ): Judgement | Promise<Judgement> {
    return this.#shares.run(ledger.ledger, () => judge(rules, { ...documents, tolerances: null }))
  }
}

export type Validity = Exclude<ValidationResult, { outcome: 'too costly' }>
