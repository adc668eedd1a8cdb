import { formatPointer } from './json-pointer.ts'

/** A schema, or the rules, of a type that can't be registered: where, and why. */
export class SchemaError extends Error {
  /** A JSON Pointer into the definition. */
  readonly path: string
  readonly detail: string

  constructor(path: readonly string[], detail: string) {
    super(`${formatPointer(path)}: ${detail}`)
    this.name = 'SchemaError'
    this.path = formatPointer(path)
    this.detail = detail
  }
}
