import { wrongServer } from './answers.ts'

/** A page of a list. `nextCursor` is null on the last page. */
export type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null }

/**
 * A list that is fetched page by page while it is read.
 *
 *     for await (const record of tallystick.records.list({ type: 'order/1' })) …
 *     const newest = await tallystick.records.list({ limit: 10 }).page()
 */
export class Listing<T> implements AsyncIterable<T> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Page<T>>

  constructor(fetchPage: (cursor: string | undefined) => Promise<Page<T>>) {
    this.#fetchPage = fetchPage
  }

  /**
   * Returns the first page, or the page for a `nextCursor`. Throws errors of the call, and UnexpectedAnswerError if
   * the answer is not a page.
   */
  async page(cursor?: string): Promise<Page<T>> {
    const page = await this.#fetchPage(cursor)
    if (!Array.isArray(page.data)) throw wrongServer('the server answered without a list in `data`')
    return page
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor: string | undefined
    do {
      const page = await this.page(cursor)
      yield page
      // This answer would make the loop endless, so it is an error.
      if (cursor !== undefined && page.nextCursor === cursor)
        throw wrongServer('the server answered with the same `nextCursor` again, so the list would never end')
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }

  async toArray(max: number): Promise<T[]> {
    const items: T[] = []
    if (max <= 0) return items
    for await (const item of this) if (items.push(item) >= max) break
    return items
  }
}
