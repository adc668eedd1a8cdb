import { ApiError } from '../../errors.ts'
import type { Caller } from '../caller.ts'
import { type CompiledType, canonicalDefinition, type TypeDefinition } from './definition.ts'
import { FAULT_PATH_CHARS_MAX } from './schema/limits.ts'
import { SchemaError } from './schema/schema-error.ts'
import type { TypeRegistry } from './type-registry.ts'

/** Compiles a definition. Throws `invalid_schema`, which names the place and the reason of the fault. */
export async function compileOrRefuse(
  types: TypeRegistry,
  caller: Caller,
  definition: TypeDefinition,
): Promise<CompiledType> {
  try {
    return await types.compile(caller, definition)
  } catch (error) {
    throw translate(error)
  }
}

/** Returns the canonical definition. Throws `invalid_schema` if it is too large. */
export function canonicalOrRefuse(definition: TypeDefinition): string {
  try {
    return canonicalDefinition(definition)
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  if (!(error instanceof SchemaError)) return error
  // A long path is left out of the error. Names in a definition, and so the path, may be as long as the definition
  // itself.
  const path = error.path.length > FAULT_PATH_CHARS_MAX ? '' : error.path
  return new ApiError('invalid_schema', error.detail, { members: { path } })
}
