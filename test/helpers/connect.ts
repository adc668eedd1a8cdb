import type { TestContext } from 'node:test'
import pg from 'pg'

/** A connection that is closed when the test is done. */
export async function connect(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {}) // a test that cuts it sees that in its query
  await client.connect()
  t.after(() => client.end())
  return client
}
