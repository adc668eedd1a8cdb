import { type OpenApp, openApp, type TestApp } from './app.ts'
import { ALL_TESTS } from './at-end.ts'

let opened: Promise<OpenApp> | null = null

/**
 * One application and database for all tests of the process, with a new ledger: ledgers know nothing of each other. A test that
 * changes more than a ledger (the clock, limits, server keys, defences of the database), or that counts in what is the
 * deployment's, builds an application of its own.
 */
export async function sharedApp(): Promise<TestApp> {
  opened ??= openApp(ALL_TESTS)
  const { makeLedger, of } = await opened
  return of(await makeLedger())
}
