import { ApiError } from '../errors.ts'
import { DOCUMENT_BYTES_MAX } from '../limits.ts'
import { canonicalize } from '../proof/jcs.ts'
import type { JsonValue } from '../proof/json-text.ts'
import type { Caller } from '../tenancy/caller.ts'
import type { CompiledType } from './definition.ts'
import type { TypeRegistry } from './type-registry.ts'

type Preview = {
  readonly valid: boolean
  readonly errors: readonly { readonly path: string; readonly keyword: string; readonly message: string }[]
}

type Documents = { readonly payload?: unknown; readonly evidence?: unknown }

const PARTS = ['payload', 'evidence'] as const

/** What records of the type would be told of these documents: the first fault of each. Nothing is written. */
export async function previewType(
  types: TypeRegistry,
  caller: Caller,
  type: CompiledType,
  documents: Documents,
): Promise<Preview> {
  const errors: Preview['errors'][number][] = []
  for (const part of PARTS) {
    const value = documents[part] as JsonValue | undefined
    const schema = type[part]
    if (value === undefined || schema === null) continue
    const found = await types.validate(
      caller,
      schema,
      { value, bytes: documentBytes(part, value) },
      { path: `/${part}` },
    )
    if (found.outcome === 'invalid')
      errors.push({ path: `/${part}${found.path}`, keyword: found.keyword, message: found.message })
  }
  return { valid: errors.length === 0, errors }
}

function documentBytes(part: string, value: JsonValue): number {
  const bytes = Buffer.byteLength(canonicalize(value))
  if (bytes <= DOCUMENT_BYTES_MAX) return bytes
  const detail = `the ${part} has ${bytes} bytes in canonical form; at most ${DOCUMENT_BYTES_MAX} are taken`
  throw new ApiError('document_too_large', detail)
}
