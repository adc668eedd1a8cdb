import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnexpectedAnswerError } from '../../sdk/errors.ts'
import { Listing, type Page } from '../../sdk/http/listing.ts'

function threePages() {
  const asked: (string | undefined)[] = []
  const pages: Record<string, Page<number>> = {
    first: { data: [1, 2], nextCursor: 'second' },
    second: { data: [], nextCursor: 'third' },
    third: { data: [3], nextCursor: null },
  }
  const listing = new Listing(async (cursor) => {
    asked.push(cursor)
    return pages[cursor ?? 'first']!
  })
  return { asked, listing, pages }
}

test('iteration reads all pages, also over an empty page', async () => {
  const { listing, asked } = threePages()
  const items: number[] = []
  for await (const item of listing) items.push(item)
  assert.deepEqual(items, [1, 2, 3])
  assert.deepEqual(asked, [undefined, 'second', 'third'])
})

test('iteration requests no page before it is needed', async () => {
  const { listing, asked } = threePages()
  for await (const item of listing) if (item === 2) break
  assert.deepEqual(await listing.toArray(2), [1, 2])
  assert.deepEqual(await listing.toArray(0), [])
  assert.deepEqual(asked, [undefined, undefined])
  assert.deepEqual(await listing.toArray(9), [1, 2, 3])
})

test('page() and pages() read page by page, also from a cursor', async () => {
  const { listing, pages } = threePages()
  assert.equal(await listing.page(), pages['first'])
  assert.equal(await listing.page('third'), pages['third'])
  const sizes: number[] = []
  for await (const { data } of listing.pages()) sizes.push(data.length)
  assert.deepEqual(sizes, [2, 0, 1])
})

test('a second iteration requests the pages again', async () => {
  const { listing, asked } = threePages()
  assert.deepEqual(await listing.toArray(9), await listing.toArray(9))
  assert.equal(asked.length, 6)
})

test('an answer that is not a list, or never ends, is an UnexpectedAnswerError', async () => {
  const endless = new Listing<number>(async () => ({ data: [1], nextCursor: 'again' }))
  await assert.rejects(endless.toArray(9), UnexpectedAnswerError)
  const none = new Listing<number>(async () => ({ nextCursor: null }) as unknown as Page<number>)
  await assert.rejects(none.page(), UnexpectedAnswerError)
})
