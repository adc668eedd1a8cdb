import type { z } from 'zod'
import type { terms } from '../../src/http/schemas/gated.ts'
import type { batchBody, notarizeBody } from '../../src/http/schemas/records.ts'
import { RECORD_FILTERS } from '../../src/proof/statement/record-filters.ts'

/*
 * The only fixture with every member of a record. It does not compile if a member of the request's schema is missing.
 * Every test that needs all members uses it. `npm run docs` writes the fixture for Python:
 * test/vectors/every-member.json.
 */

type Item = z.input<typeof batchBody>['records'][number]
type Single = Omit<z.input<typeof notarizeBody>, 'envelope' | keyof typeof terms>
/** Two different values of each member, so that a test detects a change. */
type Samples = {
  readonly [Name in keyof (Item & Single)]-?: readonly [
    NonNullable<(Item & Single)[Name]>,
    NonNullable<(Item & Single)[Name]>,
  ]
}
/** Two existing agents and records that samples can reference. */
export type Known = {
  readonly agents: readonly [string, string]
  readonly records: readonly [string, string]
}

/** Returns sample values of each member of a batch item. They include all members of a single record. */
export function samplesOfItem({ agents, records }: Known): Samples {
  return {
    type: ['generic/1', 'order/1'],
    payload: [{ did: 'this' }, { did: 'that' }],
    metadata: [{ run: 1 }, { run: 2 }],
    occurredAt: ['2026-11-20T12:00:00Z', '2026-11-20T12:00:00.001Z'],
    onBehalfOf: agents,
    parent: records,
    references: [['order:1'], ['order:2']],
    salt: ['AAAAAAAAAAAAAAAAAAAAAA', 'AAAAAAAAAAAAAAAAAAAAAQ'],
    subject: ['alice', 'bob'],
    traceparent: [`00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, `00-${'ac'.repeat(16)}-${'cd'.repeat(8)}-01`],
  }
}

/** Returns an item with every member except the salt, which the server makes. */
export function fullItem(known: Known) {
  const { salt: _, ...members } = firstOf(samplesOfItem(known))
  return members
}

/** Returns a single record with every member. Its trace is in a header. */
export function fullRecord(known: Known): { body: Omit<Single, 'salt'>; headers: { traceparent: string } } {
  const { traceparent, ...body } = fullItem(known)
  return { body, headers: { traceparent } }
}

function firstOf<T extends { readonly [name: string]: readonly [unknown, unknown] }>(samples: T) {
  return Object.fromEntries(Object.entries(samples).map(([name, [first]]) => [name, first])) as {
    [Name in keyof T]: T[Name][0]
  }
}

/** Functions that return the search query for a member's value; null if no search uses the member. */
const SEARCHES: { readonly [Name in keyof Samples]: ((value: never) => Record<string, string>) | null } = {
  type: (type: string) => ({ type }),
  payload: null,
  metadata: null,
  occurredAt: (occurredAfter: string) => ({ occurredAfter }),
  onBehalfOf: (onBehalfOf: string) => ({ onBehalfOf }),
  parent: (parent: string) => ({ parent }),
  references: ([reference]: readonly string[]) => ({ reference: reference! }),
  salt: null,
  subject: null,
  traceparent: (traceparent: string) => ({ traceId: traceparent.slice(3, 35) }),
}

/**
 * Returns two queries for each searchable member. The first query finds the full record. The second query uses the
 * other sample and does not find the record.
 */
export function searchesOf(
  known: Known,
): { member: string; finds: Record<string, string>; misses: Record<string, string> }[] {
  const samples = samplesOfItem(known)
  return Object.entries(SEARCHES).flatMap(([member, search]) => {
    if (!search) return []
    const [finds, misses] = samples[member as keyof Samples].map((value) => search(value as never))
    return [{ member, finds: finds!, misses: misses! }]
  })
}

export function everyMemberFile(): string {
  const id = (prefix: string, end: string) => `${prefix}_01jegv5gyme05800000000000${end}`
  const samples = samplesOfItem({
    agents: [id('agt', 'a'), id('agt', 'b')],
    records: [id('rec', 'a'), id('rec', 'b')],
  })
  return `${JSON.stringify({ samples, filters: Object.keys(RECORD_FILTERS) }, null, 1)}\n`
}
