import { buildTestApp, expectStatus, genericBody, type Test, type TestApp } from './app.ts'
import { makePublish } from './checkpoints.ts'
import { type GatedApp, gateLedger } from './gated-app.ts'
import { addStatement } from './signed-statements.ts'

export type EventLedger = GatedApp & { readonly publish: () => Promise<void> }

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export type EventPageAnswer = { data: any[]; nextCursor: string; more: boolean }

/**
 * Makes a ledger that has every kind of event except those of peers, with checkpoints in between. Without `given`, the
 * ledger is in a new application.
 */
export async function buildEventLedger(t: Test, given?: TestApp): Promise<EventLedger> {
  const app = await gateLedger(t, given ?? (await buildTestApp(t)))
  const publish = await makePublish(t, app)
  await letEventsHappen(app, publish)
  return Object.assign(app, { publish })
}

/** Causes every kind of event of a ledger except those of peers. No other worker may process the ledger meanwhile. */
export async function letEventsHappen(app: GatedApp, publish: () => Promise<void>): Promise<void> {
  const { id } = await app.notarize(genericBody({ n: 1 }))
  const records = [genericBody({ n: 2 }), genericBody({ n: 3 })]
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  await publish()
  await app.reach('ACCEPTED')
  const rejected = await app.reach('REJECTED')
  await app.take(rejected.id, 'overturn')
  await publish()
  const discrepant = await app.reach('DISCREPANT')
  await app.take(discrepant.id, 'revision')
  await app.reach('CANCELLED')
  await app.reach('EXPIRED')
  await addStatement(app)
  const body = { code: 'gdpr_request' }
  expectStatus(202, await app.send('DELETE', `/v1/records/${id}/payload`, { body }))
  await publish()
  await app.notarize(genericBody({ last: true }))
}

export async function eventPage(
  app: Pick<GatedApp, 'send'>,
  query: Record<string, string | number> = {},
  key?: string,
): Promise<EventPageAnswer> {
  const parameters = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`]),
  )
  const url = `/v1/events?${parameters}`
  return expectStatus(200, await app.send('GET', url, key === undefined ? {} : { key })).json()
}

export async function allEvents(
  app: Pick<GatedApp, 'send'>,
  query: Record<string, string | number> = {},
  key?: string,
): Promise<EventPageAnswer['data']> {
  const events = []
  for (let page = await eventPage(app, query, key); ; ) {
    events.push(...page.data)
    if (!page.more) return events
    const { from: _, ...rest } = query
    page = await eventPage(app, { ...rest, cursor: page.nextCursor }, key)
  }
}
