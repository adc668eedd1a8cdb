import { ApiError } from '../errors.ts'
import { type IdPrefix, isId, parseId, type Uuid } from '../proof/ids.ts'

/** The id in a path. One that can't be of the ledger is answered like one that is not there. */
export function pathId(prefix: IdPrefix, text: string): Uuid {
  if (!isId(prefix, text)) throw new ApiError('not_found', `that is not such an id (${prefix}_…)`)
  return parseId(prefix, text)
}
