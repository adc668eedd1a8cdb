import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { TYPE_DEFINITION_BYTES_MAX } from './limits.ts'
import type { Rule } from './rules/rule.ts'
import { parseRules } from './rules/rules.ts'
import { Schema } from './schema/schema.ts'
import { SchemaError } from './schema/schema-error.ts'

/** Definition of a type. It never changes. A type with `evidenceSchema` is gated. */
export type TypeDefinition = {
  readonly name: string
  readonly version: number
  /**
   * A JSON Schema. `evidenceSchema` is one too. These two members and `rules` are JSON values that were not checked
   * yet.
   */
  readonly payloadSchema: unknown
  readonly evidenceSchema?: unknown
  readonly rules?: unknown
  /** True if agents must sign the records of this type themselves. */
  readonly agentSigned?: true | undefined
}

/**
 * A compiled definition, which can validate documents and judge completions. `payload`, `evidence`: null if any object
 * is accepted.
 */
export type CompiledType = {
  readonly gated: boolean
  readonly agentSigned: boolean
  readonly payload: Schema | null
  readonly evidence: Schema | null
  /** Rules of a gated type. Empty if the type is not gated. */
  readonly rules: readonly Rule[]
}

export function typeNameOf({ name, version }: TypeDefinition): string {
  return `${name}/${version}`
}

/**
 * Returns the definition as RFC 8785 text, with only the members that are present. This text is digested and stored.
 * Throws SchemaError if the text is too large.
 */
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

/**
 * Compiles a definition. Checks everything that the TypeScript type of the definition cannot guarantee. Throws
 * SchemaError.
 */
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
