import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/operate/capacity.md'

/**
 * Maps each file that counts or queues without a mechanism of src/load to the reason, or to the page that explains it.
 * In these files, the keys of the counts or queues are not owners, or the file has its own rule for sharing.
 */
const OTHERS: Readonly<Record<string, string>> = {
  'src/ledgers/types/work-shares.ts': 'a share of time (docs/operate/capacity.md)',
  'src/ledgers/rate-limits.ts': 'a rate that a ledger sets (docs/operate/capacity.md)',
  'src/ledgers/known-keys.ts': 'a cache: the share decides who loses a place (docs/operate/capacity.md)',
  'src/ledgers/types/type-cache.ts': 'a cache, as above',
  'src/records/otlp/known-groups.ts': 'a cache, as above',
  'src/outside/federation/inbox.ts':
    'the order of the requests of one peer: each waits for the one before it',
  'src/outside/connector/idle-connections.ts': 'idle connections, by origin: nobody waits',
  'src/outside/webhooks/window.ts': 'the order of the deliveries of one record',
  'src/db/records/large-reads.ts': 'src/db may not use src/load; each ledger has one such read at a time',
  'src/followers/refused.ts': 'times by name',
  'src/followers/audit/urgent-ledgers.ts': 'times by ledger',
  'src/http/reads/reads.ts': 'sizes of ledgers that were seen',
  'src/records/otlp/items.ts': 'why spans of one request do not count',
}

const sources = ['src', 'worker']
  .flatMap((dir) => globSync(`${dir}/**/*.ts`, { cwd: ROOT }))
  .filter((file) => !file.startsWith('src/proof/'))
  .sort()
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')

/**
 * Matches a field that maps a text to a count or a queue. The values of such a map are numbers, or objects with members
 * such as count, size and waiting.
 */
const BY_OWNER =
  /^ {2}(?:readonly )?#\w+ = new Map<(?:string|Uuid),\s*(?:number>|[^\n]*\[\]>|\{[^\n]*\b(?:count|size|waiting|atWork)\b|LedgerGenerations>|Account>|LedgerCache<|Map<string, Bucket>)/m
const MECHANISM = /new (Shares|Counts|FairQueue|Slots|RequestSlots)\b/g

test('shares and queues by owner are built on src/load', (t) => {
  const mechanisms = sources.flatMap((file) => {
    const made = new Set([...textOf(file).matchAll(MECHANISM)].map(([, name]) => name!))
    return made.size === 0 ? [] : [`${file}: ${[...made].join(', ')}`]
  })
  t.diagnostic(`${mechanisms.length} files share by two rules:\n${mechanisms.join('\n')}`)
  assert.ok(mechanisms.length > 10)
  const own = sources.filter((file) => !file.startsWith('src/load/') && BY_OWNER.test(textOf(file)))
  assert.deepEqual(
    own.filter((file) => !(file in OTHERS)),
    [],
    'use Shares, Counts and FairQueue of src/load, or say in OTHERS why not',
  )
  assert.deepEqual(
    Object.keys(OTHERS).filter((file) => !own.includes(file)),
    [],
    'they count nothing any more',
  )
})

test('the page names the limits of each share, and only existing limits', () => {
  const [, page] = /^## How a server is shared$([\s\S]*?)^## /m.exec(textOf(PAGE))!
  const limits = new Set(
    globSync('src/**/limits.ts', { cwd: ROOT }).flatMap((file) =>
      [...textOf(file).matchAll(/^export const (\w+)/gm)].map(([, name]) => name!),
    ),
  )
  const named = [...page!.matchAll(/`([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)`/g)].map(([, name]) => name!)
  assert.deepEqual(
    named.filter((name) => !limits.has(name)),
    [],
  )
  const made = sources.flatMap((file) =>
    [...textOf(file).matchAll(/new (?:Shares|Slots)\(([^;]*?)\)\n/g)].flatMap(([, given]) =>
      [...given!.matchAll(/\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+\b/g)].map(([name]) => name),
    ),
  )
  assert.ok(made.length > 10)
  assert.deepEqual(
    made.filter((name) => name !== 'OF_REST' && !named.includes(name)),
    [],
    `${PAGE} lacks them`,
  )
})
