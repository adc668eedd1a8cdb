import { formatPointer } from './json-pointer.ts'

/**
 * Thrown for a schema or rules that cannot be registered. `path`: position of the fault. `detail`: reason of the fault.
 */
export class SchemaError extends Error {
  /** JSON Pointer into the definition. */
  readonly path: string
  readonly detail: string

  constructor(path: readonly string[], detail: string) {
    super(`${formatPointer(path)}: ${detail}`)
    this.name = 'SchemaError'
    this.path = formatPointer(path)
    this.detail = detail
  }
}
