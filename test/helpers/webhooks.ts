import { expectStatus, type TestApp } from './app.ts'

export const URL = 'https://example.com/hooks'

/** Creates a webhook and returns it with its secret. Fails unless the status is 201. */
export async function makeWebhook(app: TestApp, body: object = {}, key = app.ledger.key.key) {
  const response = await app.send('POST', '/v1/webhooks', { key, body: { url: URL, events: ['*'], ...body } })
  return expectStatus(201, response).json()
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export async function listAll(app: TestApp, url: string): Promise<any[]> {
  const all = []
  let cursor = ''
  for (;;) {
    const page = expectStatus(200, await app.send('GET', `${url}${cursor}`)).json()
    all.push(...page.data)
    if (page.nextCursor === null) return all
    cursor = `${url.includes('?') ? '&' : '?'}cursor=${page.nextCursor}`
  }
}

export async function standing(app: TestApp, id: string) {
  return expectStatus(200, await app.send('GET', `/v1/webhooks/${id}`)).json().standing
}

/** Returns a fixed time: `minute` minutes after the beginning of 2026. */
export function timeOf(minute: number): string {
  return new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString()
}
