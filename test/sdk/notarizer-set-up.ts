import type { NotarizerOptions } from '../../sdk/notarizer/options.ts'
import type { TestApp } from '../helpers/app.ts'
import { listStoredRecords } from '../helpers/batch-records.ts'

/** Options with quick retries, and with callbacks that write nothing to the console. */
export const QUICK: NotarizerOptions = {
  lingerMs: 1,
  delayMsMin: 1,
  delayMsMax: 8,
  blockedDelayMs: 5,
  timeoutMs: 2_000,
  onError: () => {},
}

export async function recordsOfGroup(app: Pick<TestApp, 'sql' | 'ledgerId'>, group: string) {
  return (await listStoredRecords(app)).filter(({ payload }) => payload.group === group)
}

/** Returns the member `i` of the group's payloads, in chain order. */
export async function recordedNumbers(
  app: Pick<TestApp, 'sql' | 'ledgerId'>,
  group: string,
): Promise<number[]> {
  return (await recordsOfGroup(app, group)).map(({ payload }) => payload.i)
}

export const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, i) => from + i)
