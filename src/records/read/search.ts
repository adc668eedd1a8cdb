import type { RecordPosition, RecordSearch } from '../../db/records/search.ts'
import { searchRecords } from '../../db/records/search-records.ts'
import type { RecordFilters, TimeRange } from '../../db/records/search-streams.ts'
import type { Searches } from '../../db/records/searches.ts'
import { ApiError } from '../../errors.ts'
import { isId, parseId, type Uuid } from '../../proof/ids.ts'
import type { FilterName } from '../../proof/statement/record-filters.ts'
import { otherMembersOf, type SearchedName } from '../../proof/statement/record-members.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { parseTime } from '../documents.ts'
import { agentIdOf } from './agent-ids.ts'
import { type RenderDeps, renderRows } from './read.ts'

type RecordQuery = { readonly [Name in FilterName]?: string | undefined }

/** A page of a search. `records`: JSON texts. `next`: position at which the next page begins; null on the last page. */
type RecordListPage = { readonly records: readonly string[]; readonly next: RecordPosition | null }

export async function listRecords(
  deps: RenderDeps & { readonly searches: Searches },
  ledgerId: Uuid,
  search: RecordSearch,
): Promise<RecordListPage> {
  const { rows, next } = await searchRecords(deps.searches, ledgerId, search)
  await deps.searches.nextSlice(ledgerId)
  return { records: await renderRows(deps, ledgerId, rows), next }
}

/**
 * Parses the filters. Throws ApiError for invalid ids and for times that do not exist. `ownAgent`: the only agent whose
 * records the caller may see; null if the caller may see the records of all agents.
 */
export function parseFilters(query: RecordQuery, ownAgent: Uuid | null): RecordFilters {
  const { type, state, reference, traceId } = query
  const others = otherMembersOf(query) as { readonly [Name in SearchedName]?: string } | null
  const occurred = rangeOf(query, 'occurredAfter', 'occurredBefore')
  const recorded = rangeOf(query, 'recordedAfter', 'recordedBefore')
  const agents = {
    ...(query.onBehalfOf !== undefined && { onBehalfOf: uuidOf('agt', query.onBehalfOf, 'onBehalfOf') }),
    ...(query.actor !== undefined && { actor: uuidOf('agt', query.actor, 'actor') }),
    ...(query.performer !== undefined && { performer: performerUuid(query.performer) }),
  }
  return {
    ...(reference !== undefined && { reference }),
    ...(query.parent !== undefined && { parent: uuidOf('rec', query.parent, 'parent') }),
    ...others,
    ...(traceId !== undefined && { traceId }),
    ...agents,
    ...(query.principal !== undefined && { principal: uuidOf('agt', query.principal, 'principal') }),
    // If the query already names the caller's own agent, the caller may see all matches. The search then needs one
    // index walk instead of three, and does not have to check each match.
    ...(ownAgent && !Object.values(agents).includes(ownAgent) && { ownAgent }),
    ...(occurred && { occurred }),
    ...(recorded && { recorded }),
    ...(type !== undefined && { type }),
    ...(state !== undefined && { state }),
  }
}

function rangeOf(query: RecordQuery, after: keyof RecordQuery, before: keyof RecordQuery): TimeRange | null {
  const [from, end] = [query[after], query[before]]
  if (from === undefined && end === undefined) return null
  return {
    fromMs: from === undefined ? null : parseTime(from, `/${after}`),
    beforeMs: end === undefined ? null : parseTime(end, `/${before}`),
  }
}

function performerUuid(agent: string): Uuid {
  return parseRemoteAgent(agent) ? agentIdOf(agent) : uuidOf('agt', agent, 'performer')
}

function uuidOf(prefix: 'agt' | 'rec', id: string, name: string): Uuid {
  if (isId(prefix, id)) return parseId(prefix, id)
  throw new ApiError('invalid_request', `${name} is not an id (${prefix}_…)`, {
    members: { path: `/${name}` },
  })
}
