import type { FastifyInstance } from 'fastify'
import { type AppOptions, type OpenApp, openApp, type TestApp } from './app.ts'
import { ALL_TESTS } from './at-end.ts'

/**
 * Returns a function that gives each test a new ledger of one shared application. Ledgers are isolated from each other.
 * The application starts with the first call and ends with the process.
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
 * The application that all tests of the process share. Two sorts of tests build another application, or share one with
 * similar tests: tests that change more than a ledger (the clock, limits, server keys, triggers of the database), and
 * tests that count things of the whole deployment.
 */
export const sharedApp = shareApp()

let listening: Promise<string> | null = null

/** Returns the address of the shared application. The first call makes the application listen. */
export function addressOf({ app }: TestApp): Promise<string> {
  listening ??= listen(app)
  return listening
}

async function listen(app: FastifyInstance): Promise<string> {
  // After an aborted request, fetch opens a spare connection and sends nothing on it. Node would wait a minute for
  // this connection to close.
  ALL_TESTS.after(async () => app.server.closeAllConnections())
  return app.listen({ port: 0, host: '127.0.0.1' })
}
