import { ApiError } from '../errors.ts'
import { type IdPrefix, isId, parseId, type Uuid } from '../proof/ids.ts'

/** Parses the id in a path. Throws `not_found` for a malformed id. An unknown id gets the same answer. */
export function pathId(prefix: IdPrefix, text: string): Uuid {
  if (!isId(prefix, text))
    throw new ApiError('not_found', `the address has no valid id of the form ${prefix}_…`)
  return parseId(prefix, text)
}
