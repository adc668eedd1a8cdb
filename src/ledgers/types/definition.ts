import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { TYPE_DEFINITION_BYTES_MAX } from './limits.ts'
import type { Rule } from './rules/rule.ts'
import { parseRules } from './rules/rules.ts'
import { Schema } from './schema/schema.ts'
import { SchemaError } from './schema/schema-error.ts'

/** Definition of a type, for as long as the ledger lives. With an evidence schema the type is gated. */
export type TypeDefinition = {
  readonly name: string
  readonly version: number
  /** JSON, as are the next two. */
  readonly payloadSchema: unknown
  readonly evidenceSchema?: unknown
  readonly rules?: unknown
  /** Agents sign its records themselves. */
  readonly agentSigned?: true | undefined
}

/** A definition that can validate and judge. null: any object is taken. */
export type CompiledType = {
  readonly gated: boolean
  readonly agentSigned: boolean
  readonly payload: Schema | null
  readonly evidence: Schema | null
  /** None where it is not gated. */
  readonly rules: readonly Rule[]
}

export function typeNameOf({ name, version }: TypeDefinition): string {
  return `${name}/${version}`
}

/** RFC 8785 text of exactly the members that are there, which is digested and stored. Throws SchemaError. */
export function canonicalDefinition(definition: TypeDefinition): string {
  const canonical = canonicalize(definition as unknown as JsonObject)
  const bytes = Buffer.byteLength(canonical)
  if (bytes > TYPE_DEFINITION_BYTES_MAX) {
    throw new SchemaError(
      [],
      `the definition has ${bytes} bytes in canonical form; at most ${TYPE_DEFINITION_BYTES_MAX} are taken`,
    )
  }
  return canonical
}

/** Everything about a definition that its members' types do not say. Throws SchemaError. */
export function compileType(definition: TypeDefinition): CompiledType {
  const { payloadSchema, evidenceSchema, rules, agentSigned = false } = definition
  if (rules !== undefined && evidenceSchema === undefined)
    throw new SchemaError(['rules'], 'rules mean nothing without an evidenceSchema')
  return {
    gated: evidenceSchema !== undefined,
    agentSigned,
    rules: rules === undefined ? [] : parseRules(rules as JsonValue),
    payload: new Schema(payloadSchema as JsonValue, 'payloadSchema'),
    evidence: evidenceSchema === undefined ? null : new Schema(evidenceSchema as JsonValue, 'evidenceSchema'),
  }
}
