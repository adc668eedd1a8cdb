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
