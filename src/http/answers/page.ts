import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../../errors.ts'
import type { Uuid } from '../../proof/ids.ts'
import { PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX } from '../../records/limits.ts'

export const pageQuery = {
  limit: z
    .string()
    .regex(/^[1-9][0-9]{0,2}$/)
    .describe(`most items in the answer: 1 to ${PAGE_ITEMS_MAX}; absent: ${PAGE_ITEMS_DEFAULT}`)
    .optional(),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,512}$/)
    .describe('`nextCursor` of the previous page; absent: start at the beginning')
    .optional(),
}

/** Schema of a page. `nextCursor` is null on the last page. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.strictObject({ data: z.array(item), nextCursor: z.string().nullable() })
}

export function pageLimit(query: { readonly limit?: string | undefined }): number {
  const limit = query.limit === undefined ? PAGE_ITEMS_DEFAULT : Number(query.limit)
  if (limit <= PAGE_ITEMS_MAX) return limit
  throw new ApiError('invalid_request', `a page has at most ${PAGE_ITEMS_MAX} items`, {
    members: { path: '/limit' },
  })
}

declare const LIST_TAG: unique symbol
/** A digest that identifies a list. A cursor contains the tag of its list. */
export type ListTag = string & { readonly [LIST_TAG]: true }

/**
 * Returns the tag of the list that a request pages through. The tag depends on ledger, route, parameters, filters, and
 * on whether the caller sees only its own agent's records. A cursor is only a position, so without the tag it would
 * silently skip items of another list.
 *
 * `values` replaces filters by the values that the server uses. So a request without a filter has the same list as a
 * request that sets the filter to its default.
 */
export function listTag(request: FastifyRequest, values: Readonly<Record<string, unknown>> = {}): ListTag {
  const { caller, ownRecordsOnly, routeOptions, params, query, body } = request
  const filters = Object.entries({ ...(query as object), ...(body as object | undefined), ...values })
    .filter(([name, value]) => name !== 'limit' && name !== 'cursor' && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return tagOf([
    caller?.ledgerId ?? null,
    routeOptions.url,
    params,
    filters,
    ownRecordsOnly ? (caller?.agentId ?? null) : null,
  ])
}

/**
 * Returns the tag for the events of a ledger. A cursor of events is a position in the chain, so it is valid with any
 * filter, and both for pages and for streams.
 */
export function eventsTag(ledgerId: Uuid): ListTag {
  return tagOf([ledgerId, 'events'])
}

function tagOf(bound: readonly unknown[]): ListTag {
  // 66 bits are enough to detect mistakes. The tag need not prevent forgery, because a forged cursor shows nothing that
  // the caller may not read in the list.
  return hash('sha256', JSON.stringify(bound), 'base64url').slice(0, 11) as ListTag
}

/**
 * Makes a page. The caller must have fetched up to `limit` + 1 rows. An extra row only shows that there is a next page.
 */
export function toPage<Row, Item>(
  list: ListTag,
  rows: readonly Row[],
  limit: number,
  render: (row: Row) => Item,
  positionOf: (last: Item) => readonly unknown[],
): { data: Item[]; nextCursor: string | null } {
  const data = rows.slice(0, limit).map(render)
  return { data, nextCursor: rows.length > limit ? formatCursor(list, positionOf(data.at(-1)!)) : null }
}

/**
 * Returns a cursor, which contains the tag of the list and the position of the page's last item. For clients the cursor
 * is only a text.
 */
export function formatCursor(list: ListTag, position: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([list, ...position])).toString('base64url')
}

/**
 * Returns the position in the request's cursor, or null if the request has no cursor. Throws `invalid_request` for a
 * malformed cursor and for a cursor of another list. `schema` MUST limit every part of the position.
 */
export function parseCursor<T>(
  list: ListTag,
  { cursor }: { readonly cursor?: string | undefined },
  schema: z.ZodType<T>,
): T | null {
  if (cursor === undefined) return null
  const [tag, ...position] = partsOf(cursor)
  if (tag !== list)
    throw refusedCursor(
      'the cursor belongs to another list; ledger, route, filters and order must be the same',
    )
  const parsed = schema.safeParse(position)
  if (!parsed.success) throw refusedCursor('the cursor is not a `nextCursor` of this list')
  return parsed.data
}

function partsOf(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

function refusedCursor(detail: string): ApiError {
  return new ApiError('invalid_request', `${detail}: start again without a cursor`, {
    members: { path: '/cursor' },
  })
}
