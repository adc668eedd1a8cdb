import { after } from 'node:test'
import type { Test } from './app.ts'

/*
 * Runs cleanups at the end of a process, before the cleanups of database.ts, which fail on open connections. Hooks of a
 * process run in the order of registration, so template-database.ts loads this module before database.ts.
 */

const cleanups: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** A `Test` whose cleanups run after the last test of the process. */
export const ALL_TESTS: Test = { name: 'all tests', after: (cleanup) => void cleanups.push(cleanup) }
