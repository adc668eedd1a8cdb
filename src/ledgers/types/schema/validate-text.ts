import type { JsonValue } from './json.ts'
import { Schema, type SchemaSource, type ValidationResult } from './schema.ts'

type Given = { readonly source: SchemaSource; readonly document: string }

/** The schema of the piece before: the documents of a batch come one after another. */
let compiled: { readonly text: string; readonly schema: Schema } | null = null

/** Validates a document, by its canonical text, in a thread; `ms`: how long that took. */
export function validateText({ source, document }: Given): {
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
