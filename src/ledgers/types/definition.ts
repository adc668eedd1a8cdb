import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { TYPE_DEFINITION_BYTES_MAX } from './limits.ts'
import type { Rule } from './rules/rule.ts'
import { parseRules } from './rules/rules.ts'
import { Schema } from './schema/schema.ts'
import { SchemaError } from './schema/schema-error.ts'

/** Definition of a type; it never changes. A type with an evidence schema is gated. */
export type TypeDefinition = {
  readonly name: string
  readonly version: number
  /** JSON, like the next two members. */
  readonly payloadSchema: unknown
  readonly evidenceSchema?: unknown
  readonly rules?: unknown
  /** True if agents must sign its records themselves. */
  readonly agentSigned?: true | undefined
}

/** A compiled definition, which can validate and judge. null: any object is accepted. */
export type CompiledType = {
  readonly gated: boolean
  readonly agentSigned: boolean
  readonly payload: Schema | null
  readonly evidence: Schema | null
  /** Empty if the type is not gated. */
  readonly rules: readonly Rule[]
}

export function typeNameOf({ name, version }: TypeDefinition): string {
  return `${name}/${version}`
}

/** Returns the RFC 8785 text of exactly the given members, which is digested and stored. Throws SchemaError. */
export function canonicalDefinition(definition: TypeDefinition): string {
  const canonical = canonicalize(definition as unknown as JsonObject)
  const bytes = Buffer.byteLength(canonical)
  if (bytes > TYPE_DEFINITION_BYTES_MAX) {
    throw new SchemaError(
      [],
      `the definition has ${bytes} bytes in canonical form; at most ${TYPE_DEFINITION_BYTES_MAX} are allowed`,
    )
  }
  return canonical
}

/** Compiles a definition, and checks everything that its TypeScript type does not. Throws SchemaError. */
export function compileType(definition: TypeDefinition): CompiledType {
  const { payloadSchema, evidenceSchema, rules, agentSigned = false } = definition
  if (rules !== undefined && evidenceSchema === undefined)
    throw new SchemaError(['rules'], 'rules need an evidenceSchema')
  return {
    gated: evidenceSchema !== undefined,
    agentSigned,
    rules: rules === undefined ? [] : parseRules(rules as JsonValue),
    payload: new Schema(payloadSchema as JsonValue, 'payloadSchema'),
    evidence: evidenceSchema === undefined ? null : new Schema(evidenceSchema as JsonValue, 'evidenceSchema'),
  }
}
