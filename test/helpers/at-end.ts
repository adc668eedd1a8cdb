import { after } from 'node:test'
import type { Test } from './app.ts'

/*
 * Hooks of a process run in the order in which they were registered, and the one of database.ts fails over connections that are
 * still open. This module is loaded before that one (by template-database.ts), so what all tests share is closed first.
 */

const cleanups: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** Owner of what ends with the last test of the process. */
export const ALL_TESTS: Test = { name: 'all tests', after: (cleanup) => void cleanups.push(cleanup) }
