import { type JsonSchema, schemaOfFields } from './check-schemas.ts'
import { ENTRY_KINDS, type EntryKind, predicateTypeOf } from './kinds.ts'

/** Returns the JSON Schema of a kind's predicate. Its `$id` is the predicate type in statements. */
export function predicateSchemaOf(kind: EntryKind): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: predicateTypeOf(kind),
    title: `Predicate of ${kind}`,
    ...schemaOfFields(ENTRY_KINDS[kind].fields),
  }
}
