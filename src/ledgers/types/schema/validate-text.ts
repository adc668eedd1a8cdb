import type { JsonValue } from './json.ts'
import { Schema, type SchemaSource, type ValidationResult } from './schema.ts'

type ValidationInput = { readonly source: SchemaSource; readonly document: string }

/**
 * The compiled schema of the previous call. It is cached, because the documents of a batch are validated one after
 * another.
 */
let compiled: { readonly text: string; readonly schema: Schema } | null = null

/**
 * Validates a document in a thread. `document`: the canonical text of the document. The result `ms` is the duration in
 * ms.
 */
export function validateText({ source, document }: ValidationInput): {
  readonly found: ValidationResult
  readonly ms: number
} {
  const begunAt = performance.now()
  if (compiled?.text !== source.text)
    compiled = { text: source.text, schema: new Schema(JSON.parse(source.text), source.base) }
  const value = JSON.parse(document) as JsonValue
  const found = compiled.schema.validate(value, Buffer.byteLength(document))
  return { found, ms: performance.now() - begunAt }
}
