import { ApiError } from '../../errors.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { DOCUMENT_BYTES_MAX } from '../../proof/request-limits.ts'
import type { Caller } from '../caller.ts'
import type { CompiledType } from './definition.ts'
import type { Judgement } from './rules/judge.ts'
import type { TypeRegistry } from './type-registry.ts'

type Preview = {
  readonly valid: boolean
  readonly errors: readonly { readonly path: string; readonly keyword: string; readonly message: string }[]
  /** Outcome of the rules. `outcome` and `rules` are null if a document is invalid or the type is not gated. */
  readonly outcome: Judgement['outcome'] | null
  readonly rules: Judgement['rules'] | null
}

type Documents = { readonly payload?: unknown; readonly evidence?: unknown }

const PARTS = ['payload', 'evidence'] as const

/**
 * Judges documents as if they belonged to a record. Returns the first fault of each document. If both documents are
 * valid, also returns the outcome of the rules. Writes nothing.
 */
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
      { value, canonical: canonicalDocument(part, value) },
      { path: `/${part}` },
    )
    if (found.outcome === 'invalid')
      errors.push({ path: `/${part}${found.path}`, keyword: found.keyword, message: found.message })
  }
  const valid = errors.length === 0
  const { payload, evidence } = documents as { payload?: JsonValue; evidence?: JsonValue }
  if (!valid || !type.gated || payload === undefined || evidence === undefined)
    return { valid, errors, outcome: null, rules: null }
  const { outcome, rules } = await types.judge(caller, type.rules, { payload, evidence })
  return { valid, errors, outcome, rules }
}

function canonicalDocument(part: string, value: JsonValue): string {
  const canonical = canonicalize(value)
  const bytes = Buffer.byteLength(canonical)
  if (bytes <= DOCUMENT_BYTES_MAX) return canonical
  const detail = `the ${part} has ${bytes} bytes in canonical form; at most ${DOCUMENT_BYTES_MAX} are allowed`
  throw new ApiError('document_too_large', detail)
}
