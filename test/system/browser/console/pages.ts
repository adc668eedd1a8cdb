import type { Page } from 'playwright-core'
import type { Fleet } from './fleet.ts'

/** A page of the console: its address, and a selector that matches as soon as all data of the page is shown. */
export type ConsolePage = { readonly name: string; readonly hash: string; readonly ready: string }

export function pagesOf({ records, peer, trace }: Fleet): ConsolePage[] {
  const { signed, accepted, waiting, run } = records
  return [
    { name: 'overview', hash: '#/', ready: 'text=covers all' },
    { name: 'day', hash: '#/day', ready: 'text=Actions without an outcome: 1' },
    { name: 'search', hash: '#/search?type=approval%2F1', ready: 'text=within budget' },
    { name: 'record', hash: `#/record/${signed}`, ready: 'text=Verified in this browser' },
    { name: 'gated-record', hash: `#/record/${accepted}`, ready: 'text=Verified in this browser' },
    { name: 'verdict', hash: `#/record/${waiting}`, ready: 'text=Request a revision' },
    { name: 'run', hash: `#/run/${run}`, ready: 'text=1 action without an outcome' },
    { name: 'trace', hash: `#/run?trace=${trace}`, ready: 'text=1 action without an outcome' },
    { name: 'entry', hash: '#/entry/0', ready: 'text=Verified in this browser' },
    { name: 'agents', hash: '#/agents', ready: 'text=records:read:own' },
    { name: 'checkpoints', hash: '#/checkpoints', ready: 'text=witness, at' },
    { name: 'audits', hash: '#/audits', ready: 'text=no fault' },
    { name: 'peers', hash: '#/peers', ready: 'text=supplier' },
    { name: 'reconciliation', hash: `#/peers/${peer}`, ready: 'text=both have the same' },
    { name: 'work', hash: '#/work', ready: 'text=Needs a verdict: 1' },
    { name: 'retention', hash: '#/retention', ready: 'text=replaced by entry' },
    { name: 'case-file', hash: '#/case', ready: 'text=Make the file' },
    { name: 'verify', hash: '#/verify', ready: 'input[type=file]' },
  ]
}

export async function enter(page: Page, { served }: Fleet, key: string): Promise<void> {
  await page.goto(`${served.url}/console/#key=${key}`)
  await page.waitForSelector('h1:has-text("Overview")')
}

export async function show(page: Page, { hash, ready }: Pick<ConsolePage, 'hash' | 'ready'>): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.waitForSelector(ready)
}
