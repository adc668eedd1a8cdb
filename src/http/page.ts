import { z } from 'zod'
import { ApiError } from '../errors.ts'
import { PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX } from '../records/limits.ts'

/** The query parameters of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^[1-9][0-9]{0,2}$/)
    .describe(`how many to answer at most: 1 to ${PAGE_ITEMS_MAX}; absent: ${PAGE_ITEMS_DEFAULT}`)
    .optional(),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,512}$/)
    .describe('`nextCursor` of the page before; absent: from the beginning')
    .optional(),
}

/** A list's answer: one page, and where the next one begins; null on the last. */
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

/** Page of rows of which one beyond `limit` was asked for: the last one only says that there is a next page. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  render: (row: Row) => Item,
  placeOf: (last: Item) => readonly unknown[],
): { data: Item[]; nextCursor: string | null } {
  const data = rows.slice(0, limit).map(render)
  return { data, nextCursor: rows.length > limit ? formatCursor(placeOf(data.at(-1)!)) : null }
}

/** Opaque to clients: the place of a page's last item, and whatever the next page must agree with. */
export function formatCursor(place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** null without a cursor. A cursor that a client made up is refused: `schema` MUST bound every part. */
export function parseCursor<T>(
  query: { readonly cursor?: string | undefined },
  schema: z.ZodType<T>,
): T | null {
  if (query.cursor === undefined) return null
  try {
    return schema.parse(JSON.parse(Buffer.from(query.cursor, 'base64url').toString('utf8')))
  } catch {
    throw new ApiError('invalid_request', 'the cursor is not one that this list gave', {
      members: { path: '/cursor' },
    })
  }
}
