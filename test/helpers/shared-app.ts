import type { FastifyInstance } from 'fastify'
import { type AppOptions, type OpenApp, openApp, type TestApp } from './app.ts'
import { ALL_TESTS } from './at-end.ts'

/**
 * An application that tests share, each with a new ledger: ledgers know nothing of each other. It begins with the first of them, and
 * ends with the process.
 */
export function shareApp(options: AppOptions = {}): () => Promise<TestApp> {
  let opened: Promise<OpenApp> | null = null
  return async () => {
    opened ??= openApp(ALL_TESTS, options)
    const { makeLedger, of } = await opened
    return of(await makeLedger())
  }
}

/**
 * The application of all tests of the process. A test that changes more than a ledger (the clock, limits, server keys, defences of
 * the database), or that counts in what is the deployment's, builds one of its own, or shares one with those that do the same.
 */
export const sharedApp = shareApp()

let listening: Promise<string> | null = null

/** Address of that application, which listens from the first such question on. */
export function addressOf({ app }: TestApp): Promise<string> {
  listening ??= listen(app)
  return listening
}

async function listen(app: FastifyInstance): Promise<string> {
  // Where a request was broken off, fetch opens a connection in advance, on which nothing is ever sent: Node waits a minute for it.
  ALL_TESTS.after(async () => app.server.closeAllConnections())
  return app.listen({ port: 0, host: '127.0.0.1' })
}
