import type pg from 'pg'
import type { IdempotencyRow } from '../../db/chain/append-entries.ts'
import { findType, type TypeRow } from '../../db/ledgers/types.ts'
import { ApiError } from '../../errors.ts'
import { type AdministerDeps, administer, digestOf } from '../administration.ts'
import type { Caller } from '../caller.ts'
import { RESERVED_NAMES } from './built-in.ts'
import { type TypeDefinition, typeNameOf } from './definition.ts'
import { canonicalOrRefuse, compileOrRefuse } from './refuse-definition.ts'
import type { TypeRegistry } from './type-registry.ts'

export type TypeDeps = AdministerDeps & { readonly readPool: pg.Pool; readonly types: TypeRegistry }

/**
 * How a type was registered. `existing`: the ledger already had the same type. `replayed`: an earlier request with the
 * same Idempotency-Key registered the type.
 */
type Registered = { readonly type: TypeRow; readonly outcome: 'registered' | 'existing' | 'replayed' }

/**
 * Registers a type. A registered type cannot be changed or removed. Throws `type_exists` if the name and version
 * already have another definition.
 */
export async function registerType(
  deps: TypeDeps,
  caller: Caller,
  definition: TypeDefinition,
  idempotency: IdempotencyRow | null,
): Promise<Registered> {
  const name = typeNameOf(definition)
  if (RESERVED_NAMES.has(definition.name))
    throw new ApiError('type_exists', `${definition.name} is the name of a built-in type`)
  const canonical = canonicalOrRefuse(definition)
  const known = await findSame(deps, caller, name, canonical)
  // A request with an Idempotency-Key skips this check, because an earlier attempt of the same request may have
  // registered the type. The database then finds the earlier attempt.
  if (known && idempotency === null) return { type: known, outcome: 'existing' }
  if (!known) await compileOrRefuse(deps.types, caller, definition)
  try {
    const { replayed } = await append(deps, caller, definition, canonical, idempotency)
    return {
      type: (await findType(deps.readPool, caller.ledgerId, name))!,
      outcome: replayed ? 'replayed' : 'registered',
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'type_exists')) throw error
    // Another request has registered the type, without an Idempotency-Key or with a different one.
    return { type: (await findSame(deps, caller, name, canonical))!, outcome: 'existing' }
  }
}

function append(
  deps: TypeDeps,
  caller: Caller,
  definition: TypeDefinition,
  canonical: string,
  idempotency: IdempotencyRow | null,
) {
  const name = typeNameOf(definition)
  return administer(deps, caller, {
    kind: 'type-registered',
    subject: { id: null, name, digest: digestOf(definition) },
    predicate: { ...(definition.agentSigned && { agentSigned: true }) },
    detail: { name, gated: definition.evidenceSchema !== undefined, definition: canonical },
    idempotency,
  })
}

/**
 * Returns the type with this name and the same definition. Returns null if there is no type with this name. Throws
 * `type_exists` if the type with this name has another definition.
 */
async function findSame(
  deps: TypeDeps,
  caller: Caller,
  name: string,
  canonical: string,
): Promise<TypeRow | null> {
  const type = await findType(deps.readPool, caller.ledgerId, name)
  if (type && type.definition !== canonical)
    throw new ApiError('type_exists', `${name} is registered with another definition, and types never change`)
  return type
}
